import * as z from "zod";

import { accountKey } from "../accounts/account.ts";
import { change, defineKind } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import { clock } from "../core/time.ts";
import type { Table } from "../table/table.ts";
import type { Limit, LimitClass } from "./classes.ts";
import { OwnLimits, limitsKey } from "./limiter.ts";

export const limitsKind = defineKind({
  name: "account.limits",
  verbs: ["updated"],
  view: OwnLimits,
  seenWith: "account.view",
});

const StoredLimits = OwnLimits.extend({ version: z.int() });

/**
 * Sets an account's own limit for a class; undefined removes the own limit. Throws 404 if the account does not exist.
 * The limit applies to requests in the account. A change takes effect within a minute, because processes remember
 * limits for a minute.
 */
export async function setOwnLimit(
  table: Table,
  accountId: string,
  name: LimitClass,
  limit: Limit | undefined,
): Promise<z.output<typeof OwnLimits>> {
  return operatorCommit(
    table,
    accountId,
    "limits",
    clock(),
  )(async () => {
    const { classes = {}, version = 0 } = (await table.get(limitsKey(accountId), StoredLimits)) ?? {};
    const changed = { classes: { ...classes, [name]: limit } };
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
