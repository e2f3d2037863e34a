import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler as checkLedgers } from "../../../functions/workers/check-ledgers.ts";
import { handler as indexJournals } from "../../../functions/workers/index-journals.ts";
import { handler as makeMailboxExport } from "../../../functions/workers/make-mailbox-export.ts";
import { handler as sendVerification } from "../../../functions/workers/send-verification.ts";
import { workers } from "../../../infra/entry-points.ts";
import { exportKey } from "../../../shared/mail/mailboxes/export.ts";
import { noteEntries } from "../../../shared/webhooks/index-journals.ts";
import { fund } from "../../support/billing.ts";
import { ruleTo, stranger } from "../../support/forwarding.ts";
import { queuedExport } from "../../support/mailbox-examples.ts";
import { home, stocked } from "../../support/mailboxes.ts";
import { hookCalls } from "../../support/table-calls.ts";
import { eventIn } from "../../support/webhooks.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const touched = new AsyncLocalStorage<Set<string>>();

/** Every partition key in the input of a command, whatever the command. */
function partitionsIn(value: unknown, into: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, one] of Object.entries(value)) {
    if ((name === "PK" || name === ":partition") && typeof one === "string") into.add(one);
    else partitionsIn(one, into);
  }
}

hookCalls(({ input }, next) => {
  const into = touched.getStore();
  if (into) partitionsIn(input, into);
  return next();
});

const detailOf = ({ id: account_id }: Account, id: string) => ({ detail: { account_id, resource: { id } } });

/** What wakes each of the workers that are bound, in an account where there is something for it to do. */
const runs: Record<string, (account: Account) => Promise<() => Promise<unknown>>> = {
  "workers.check_ledgers": async () => checkLedgers,
  "workers.index_journals": async ({ id }) => {
    const [table, now] = [testTable(), () => new Date(Date.now() - 3_600_000)];
    await noteEntries({ ...eventIn(id, "workspace.created", now()), id: randomUUID().replace(/..$/, "00") }, [], {
      table,
      now,
    });
    return indexJournals;
  },
  "workers.make_mailbox_export": async (account) => {
    const { id: domainId, name, workspace_id } = await home(account);
    await stocked(account, name, ["ada", "bob"]);
    const filters = [{}, { domain: name }, { workspace_id }, { search: "bob" }];
    const ids = await Promise.all(filters.map((filter) => queuedExport(account, filter)));
    const scopes = [
      { type: "domain", id: domainId },
      { type: "workspace", id: workspace_id },
    ];
    for (const scope of scopes) {
      const id = await queuedExport(account);
      const grants = [{ id, capability: "mailbox.export", scope }];
      await testTable().attempt({
        update: exportKey(account.id, id),
        set: { permissions: { everything: false, grants } },
      });
      ids.push(id);
    }
    return async () => {
      for (const id of ids) await makeMailboxExport(detailOf(account, id));
    };
  },
  "workers.send_verification": async (account) => {
    const { name } = await home(account);
    const targets = [stranger(), stranger("refused-ada")];
    const scope = { domain: name };
    const ruled = [await ruleTo(account, targets[0] ?? ""), await ruleTo(account, targets[1] ?? "")];
    ruled.push(await ruleTo(account, stranger(), scope));
    return async () => {
      for (const { id } of ruled) await sendVerification(detailOf(account, id));
    };
  },
};

const bound = workers.flatMap(({ name, keys }) => (keys ? [{ name, keys }] : []));

test("every worker whose role is bound to partitions is tried here", () => {
  expect(Object.keys(runs).toSorted()).toEqual(bound.map(({ name }) => name).toSorted());
});

test.each(bound)("$name reaches no other partitions than its role allows: $keys", async ({ name, keys }) => {
  const account = await newAccount();
  await fund(account, 10_000);
  const run = await runs[name]?.(account);
  const partitions = new Set<string>();
  await touched.run(partitions, async () => run?.());
  // Mail that goes out by SES does not go through the table; the outbox of tests does.
  const reached = [...partitions].filter((partition) => !partition.startsWith("OUTBOX"));
  const allowed = keys.map((key) => new RegExp(`^${key.replace("*", ".*")}$`));
  expect(reached).not.toEqual([]);
  expect(reached.filter((partition) => !allowed.some((pattern) => pattern.test(partition)))).toEqual([]);
});
