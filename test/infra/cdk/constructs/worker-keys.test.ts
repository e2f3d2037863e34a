import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler as checkLedgers } from "../../../../functions/workers/check-ledgers.ts";
import { handler as endGrants } from "../../../../functions/workers/end-grants.ts";
import { handler as indexJournals } from "../../../../functions/workers/index-journals.ts";
import { handler as makeMailboxExport } from "../../../../functions/workers/make-mailbox-export.ts";
import { handler as migrateRows } from "../../../../functions/workers/migrate-rows.ts";
import { handler as noteRevocations } from "../../../../functions/workers/note-revocations.ts";
import { handler as purgeMailboxes } from "../../../../functions/workers/purge-mailboxes.ts";
import { handler as sendInvitation } from "../../../../functions/workers/send-invitation.ts";
import { handler as sendNotices } from "../../../../functions/workers/send-notices.ts";
import { handler as sendVerification } from "../../../../functions/workers/send-verification.ts";
import { handler as watchWallets } from "../../../../functions/workers/watch-wallets.ts";
import { workers } from "../../../../infra/entry-points.ts";
import { serviceAccountKey } from "../../../../shared/access/service-account.ts";
import { getAccount } from "../../../../shared/accounts/visible.ts";
import { dayMs, hourMs, setClockAhead } from "../../../../shared/core/time.ts";
import { feedbackMatching } from "../../../../shared/feedback/feedback.ts";
import { newestUnlisted } from "../../../../shared/feedback/own.ts";
import { grantQueue } from "../../../../shared/grants/assignments.ts";
import { rules } from "../../../../shared/mail/forwarding/rule.ts";
import { exportKey } from "../../../../shared/mail/mailboxes/export.ts";
import { scopedKey } from "../../../../shared/mail/scoped/family.ts";
import { migrations } from "../../../../shared/migrations/migration.ts";
import { forgetProgress, noteSeen, saveProgress } from "../../../../shared/migrations/progress.ts";
import { tasksOf } from "../../../../shared/table/due.ts";
import { rowKey } from "../../../../shared/table/ranked-list.ts";
import { scheduleIndexing } from "../../../../shared/webhooks/index-journals.ts";
import { fund } from "../../../support/billing.ts";
import { ruleTo, stranger } from "../../../support/forwarding.ts";
import { queuedExport } from "../../../support/mailbox-examples.ts";
import { home, send, stocked } from "../../../support/mailboxes.ts";
import { knowEmail, pastDue } from "../../../support/notices.ts";
import { hookCalls } from "../../../support/table-calls.ts";
import { eventIn } from "../../../support/webhooks.ts";
import { newAccount, newMember, newServiceAccount, testTable, type Account } from "../../../support/world.ts";

type Touched = { read: Set<string>; written: Set<string> };

const touched = new AsyncLocalStorage<Touched>();

/** Adds every partition key in the input of a command to `into`. */
function partitionsIn(value: unknown, into: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, one] of Object.entries(value)) {
    if ((name === "PK" || name === ":partition") && typeof one === "string") into.add(one);
    else partitionsIn(one, into);
  }
}

hookCalls(({ operation, input }, next) => {
  const into = touched.getStore();
  if (into) partitionsIn(input, /^(?:Get|BatchGet|Query)/.test(operation) ? into.read : into.written);
  return next();
});

const detailOf = ({ id: account_id }: Account, id: string) => ({ detail: { account_id, resource: { id } } });

/**
 * For each worker whose role is bound to partitions, a function that gives the worker something to do in an account. It
 * returns the call of the worker.
 */
const runs: Record<string, (account: Account) => Promise<() => Promise<unknown>>> = {
  "workers.check_ledgers": async () => checkLedgers,
  "workers.index_journals": async ({ id }) => {
    const [table, now] = [testTable(), () => new Date(Date.now() - 3_600_000)];
    // Only some events schedule the indexing. An event whose id ends in `00` does.
    await scheduleIndexing({ ...eventIn(id, "workspace.created", now()), id: randomUUID().replace(/..$/, "00") }, [], {
      table,
      now,
    });
    return indexJournals;
  },
  "workers.note_revocations": async ({ id }) => {
    // Before a mailbox is purged, the worker looks whether the mailbox exists.
    const resource = { type: "mailbox", id: randomUUID() };
    const detail = { ...eventIn(id, "mailbox.purged", new Date()), resource };
    return () => noteRevocations({ detail });
  },
  "workers.migrate_rows": async (account) => {
    const table = testTable();
    const { id } = account;
    await send(account, "POST", "feedback", { category: "other", title: "Old", description: "It works." });
    const { name } = await home(account);
    const { id: ruleId } = await ruleTo(account, stranger(), { domain: name });
    await table.attempt({ update: rowKey(feedbackMatching({ account: id }), 0), remove: ["place_of_submitter"] });
    await table.attempt({ update: scopedKey(rules, id, ruleId), remove: ["others"] });
    const { id: program } = await newServiceAccount(account);
    const end = new Date(Date.now() + 30 * dayMs).toISOString();
    await table.attempt({ update: serviceAccountKey(id, program), set: { expires_at: end } });
    // The migrations skip the accounts of other tests, which are before this account in the list of accounts.
    const { ordinals } = await getAccount(table, id);
    const seen_at = new Date(Date.now() - hourMs).toISOString();
    for (const { name: migration } of migrations) {
      await forgetProgress(table, migration);
      await noteSeen(table, migration, new Date());
      await saveProgress(table, migration, { seen_at, accounts: ordinals["all"] ?? 0, rows: 0, version: 1 });
    }
    return async () => {
      await migrateRows();
      expect(await newestUnlisted(table, id)).toBeUndefined();
      expect(await tasksOf(table, grantQueue, id)).toHaveLength(3);
    };
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
  "workers.end_grants": async (account) => {
    const expires_at = new Date(Date.now() + dayMs).toISOString();
    const body = { role_key: "viewer", subject_id: randomUUID(), subject_type: "user", expires_at };
    await send(account, "POST", "auth/role-assignments", body);
    return async () => {
      setClockAhead(2 * dayMs);
      await endGrants().finally(() => setClockAhead(0));
    };
  },
  "workers.purge_mailboxes": async (account) => {
    const { name } = await home(account);
    const [id = ""] = await stocked(account, name, ["ada"]);
    await newMember(account, { role: "viewer", scope: { type: "mailbox", id } });
    await send(account, "DELETE", `mailboxes/${id}`);
    return async () => {
      setClockAhead(8 * dayMs);
      await purgeMailboxes().finally(() => setClockAhead(0));
    };
  },
  "workers.send_invitation": async (account) => {
    const body = { email: stranger("invited"), roles: [{ role_key: "viewer" }] };
    const { id } = (await send(account, "POST", "auth/invitations", body)).body;
    return () => sendInvitation(detailOf(account, id));
  },
  "workers.watch_wallets": async (account) => () => watchWallets({ detail: { account_id: account.id } }),
  "workers.send_notices": async (account) => {
    await knowEmail(account, account.owner, stranger());
    return () => sendNotices({ detail: pastDue(account) });
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

const bound = workers.flatMap(({ name, access, keys, readKeys = [] }) =>
  keys ? [{ name, access, keys, readKeys }] : [],
);

test("every worker whose role is bound to partitions is tried here", () => {
  expect(Object.keys(runs).toSorted()).toEqual(bound.map(({ name }) => name).toSorted());
});

/** Whether a pattern of partition keys, with `*` for any characters, has the key. */
const covers = (pattern: string, key: string): boolean => new RegExp(`^${pattern.replace("*", ".*")}$`).test(key);

test.each(bound)(
  "$name reaches and writes no other partitions than its role allows: $keys, and to read $readKeys",
  async ({ name, access, keys, readKeys }) => {
    const account = await newAccount();
    await fund(account, 10_000);
    const run = await runs[name]?.(account);
    const { read, written } = { read: new Set<string>(), written: new Set<string>() };
    await touched.run({ read, written }, async () => run?.());
    // In tests, the outbox for mail is in the table. In production, mail goes out by SES.
    const outside = (partitions: Set<string>, allowed: readonly string[]): string[] =>
      [...partitions].filter((one) => !one.startsWith("OUTBOX") && !allowed.some((pattern) => covers(pattern, one)));
    expect(read.size + written.size).toBeGreaterThan(0);
    expect(outside(read, [...keys, ...readKeys])).toEqual([]);
    expect(outside(written, access === "write" ? keys : [])).toEqual([]);
  },
);
