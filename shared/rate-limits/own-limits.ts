import * as z from "zod";

import { accountKey } from "../accounts/account.ts";
import { change, defineKind } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import type { Table } from "../table/table.ts";
import type { Limit, LimitClass } from "./classes.ts";
import { AccountLimits, limitsKey } from "./limiter.ts";

export const limitsKind = defineKind({
  name: "account.limits",
  verbs: ["updated"],
  view: AccountLimits,
  seenWith: "account.view",
});

const StoredLimits = AccountLimits.extend({ version: z.int() });

/**
 * Gives an account a limit of its own for a class, or none any more; 404. It counts for requests in that account, and
 * holds within a minute, as processes remember the limits that long.
 */
export async function setOwnLimit(
  table: Table,
  accountId: string,
  name: LimitClass,
  limit: Limit | undefined,
): Promise<z.output<typeof AccountLimits>> {
  return operatorCommit(
    table,
    accountId,
    "limits",
    new Date(),
  )(async () => {
    const { classes = {}, version = 0 } = (await table.get(limitsKey(accountId), StoredLimits)) ?? {};
    const { [name]: _, ...others } = classes;
    const changed = { classes: limit ? { ...others, [name]: limit } : others };
    return {
      value: changed,
      changes: [change(limitsKind, "updated", accountId, { before: { classes }, after: changed })],
      writes: [
        { check: accountKey(accountId), if: "present", orElse: notFound },
        {
          put: { ...limitsKey(accountId), ...changed, version: version + 1 },
          if: version === 0 ? "absent" : { version },
        },
      ],
    };
  });
}
