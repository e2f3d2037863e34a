import { randomUUID } from "node:crypto";

import * as z from "zod";

import { accountKey, accountKind, StoredAccount } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { change } from "../../shared/changes/kind.ts";
import { operatorCommit } from "../../shared/changes/recorder.ts";
import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { dkimQueue, domainQueue } from "../../shared/domains/domain.ts";
import { allRrsets, StoredZone, zoneDueKey, zoneKey, zoneQueue } from "../../shared/domains/zone.ts";
import { grantQueue } from "../../shared/grants/assignments.ts";
import { checkLedger } from "../../shared/ledger/check.ts";
import { mailboxQueue } from "../../shared/mail/mailboxes/deleted.ts";
import { migrateAccount } from "../../shared/migrations/migration.ts";
import { dueWrite, tasksOf } from "../../shared/table/due.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Key, Write } from "../../shared/table/writes.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { type Domains, planRestore, type Step } from "./account-plan.ts";
import { checkLists } from "./compare.ts";

/*
 * Access patterns
 *   a restore that is not over yet   ACCOUNT#<id> / RESTORE
 */
const restoreKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "RESTORE" });
const RunningRestore = z.object({ from_table: z.string() });

export type AccountRestore = {
  live: Table;
  past: Table;
  /** The name of the table `past`: a restore that was interrupted goes on with the same table only. */
  pastName: string;
  accountId: string;
  dryRun: boolean;
  now: Date;
};

/** The result of a restore or of a dry run: the number of rows of each kind, and the conflicts as sentences. */
export type RestoreResult = {
  add: number;
  change: number;
  remove: number;
  /** The numbers by the kind of row, such as `change LIST#mailboxes`. */
  rows: Record<string, number>;
  conflicts: string[];
  /** The zones of domains that did not exist at the restored time. Delete them at the DNS provider. */
  zones_left: string[];
  /** The problems that the checks of the ledger and of the lists found, and failed migrations; none in a dry run. */
  problems: string[];
};

/** The kind of a row: the beginning of its sort key without ids, or of its partition if it is outside the account. */
function kindOf({ PK, SK }: Key): string {
  if (!PK.startsWith("ACCOUNT#")) return PK.slice(0, PK.indexOf("#"));
  const [first = "", second = ""] = SK.split("#");
  return ["LIST", "LEDGER", "JOURNAL", "ACCESS"].includes(first) ? `${first}#${second.replace(/\/.*/, "/…")}` : first;
}

function countsOf(steps: readonly Step[]): Pick<RestoreResult, "add" | "change" | "remove" | "rows"> {
  const rows: Record<string, number> = {};
  const totals = { add: 0, change: 0, remove: 0 };
  for (const { what, key } of steps) {
    totals[what] += 1;
    const name = `${what} ${kindOf(key)}`;
    rows[name] = (rows[name] ?? 0) + 1;
  }
  return { ...totals, rows };
}

/** Makes a change as one transaction. Throws if the row is not as it was when the change was planned. */
const apply = (live: Table, { writes }: Step): Promise<void> =>
  live.commit(async () => ({ value: undefined, writes: await writes(live) }));

/** Notes that a restore begins, and records it in the audit log. An interrupted restore is noted already. */
async function begin({ live, accountId, pastName, now }: AccountRestore): Promise<void> {
  await operatorCommit(
    live,
    accountId,
    "restore account",
    now,
  )(async () => {
    if (await live.get(restoreKey(accountId), RunningRestore)) return { value: undefined, writes: [], changes: [] };
    const before = await getAccount(live, accountId);
    const after = { ...before, updated_at: now.toISOString(), version: before.version + 1 };
    return {
      value: undefined,
      writes: [
        { put: { ...restoreKey(accountId), from_table: pastName, started_at: now.toISOString() }, if: "absent" },
        { put: { ...accountKey(accountId), ...after }, if: { version: before.version } },
      ],
      changes: [change(accountKind, "updated", accountId, { before, after })],
    };
  });
}

/**
 * Puts the tasks of the restored resources into the queues again. A task too many does no harm: its worker looks at the
 * resource first.
 */
async function restoreTasks({ live, past, accountId }: AccountRestore): Promise<void> {
  for (const queue of [domainQueue, dkimQueue, mailboxQueue, grantQueue]) {
    for (const { at, subject } of await tasksOf(past, queue, accountId)) {
      await live.attempt(dueWrite(queue, [accountId, ...subject.slice(1)], at));
    }
  }
}

/**
 * Schedules all records of the domains to be sent to the nameservers again. The row of a zone says which records the
 * nameservers have now, so this row is not restored. Returns the zones of domains that do not exist any more.
 */
async function restoreZones({ live, past, accountId, now }: AccountRestore, domains: Domains): Promise<string[]> {
  const at = now.toISOString();
  const left: string[] = [];
  for (const id of new Set([...domains.past.keys(), ...domains.live.keys()])) {
    await live.commit(async () => {
      const key = zoneKey(accountId, id);
      const [before, present] = await Promise.all([past.get(key, StoredZone), live.get(key, StoredZone)]);
      const wanted = domains.past.has(id) && (before?.wanted ?? false);
      if (!before && !present) return { value: undefined, writes: [] };
      // A zone that was removed at the provider gets another reference, so that the provider makes a new one.
      const { zone_id: _, change: __, ...former } = before ?? {};
      const zone = StoredZone.parse(present ?? { ...former, reference: randomUUID(), held: [] });
      if (!domains.past.has(id) && zone.zone_id !== undefined) left.push(`${zone.name} ${zone.zone_id}`);
      if (!wanted && !zone.wanted && present) return { value: undefined, writes: [] };
      const next = { ...zone, wanted, dirty: [allRrsets], revision: zone.revision + 1, due_at: wanted ? at : null };
      const isMoved = zone.due_at !== null && zone.due_at !== next.due_at;
      const writes: Write[] = [
        { put: { ...key, ...next }, if: present ? { revision: present.revision } : "absent" },
        ...(isMoved ? [{ delete: zoneDueKey(zone, zone.due_at ?? at) }] : []),
        ...(wanted ? [dueWrite(zoneQueue, [accountId, id], at)] : []),
      ];
      return { value: undefined, writes };
    });
  }
  return left;
}

/** The problems that the checks of the account's ledger and lists find. */
async function problemsOf(table: Table, accountId: string): Promise<string[]> {
  const { problems, unsettled } = await checkLedger(table, walletOf(accountId), { entries: 1_000 });
  return [
    ...problems,
    ...(unsettled ? ["the ledger changes while it is checked"] : []),
    ...(await checkLists(table, accountId)),
  ];
}

/**
 * Restores the resources of one account from a table that was restored by point-in-time recovery. `account-rules.ts`
 * says how each kind of row is treated. Outside the account, only the pointers to it change: of names, of tokens, and
 * in the lists of users' accounts.
 *
 * Restored rows of an earlier version then get their present form, as other rows did (`shared/migrations`).
 *
 * The account must be suspended. A process that dies leaves the account in between; the next run goes on. Throws
 * without a change if the account is not suspended, if another restore of it is not over, or on conflicts.
 */
export async function restoreAccount(restore: AccountRestore): Promise<RestoreResult> {
  const { live, past, pastName, accountId, dryRun } = restore;
  const account = await getAccount(live, accountId);
  if (!(await past.get(accountKey(accountId), StoredAccount))) {
    throw new Error(`The table ${pastName} does not have this account.`);
  }
  const running = await live.get(restoreKey(accountId), RunningRestore);
  if (running && running.from_table !== pastName) {
    throw new Error(`A restore from the table ${running.from_table} is not over. Run it again first.`);
  }
  const { steps, conflicts, domains } = await planRestore(restore);
  const counts = countsOf(steps);
  if (dryRun) return { ...counts, conflicts, zones_left: [], problems: [] };
  if (account.status !== "suspended") {
    throw new Error("Suspend the account first: npm run operator -- account suspend --account ID.");
  }
  if (conflicts.length > 0) throw new Error(`Nothing was changed.\n${conflicts.join("\n")}`);
  let zonesLeft: string[] = [];
  const problems: string[] = [];
  if (steps.length > 0 || running) {
    await begin(restore);
    await applyAll(live, steps);
    await restoreTasks(restore);
    zonesLeft = await restoreZones(restore, domains);
    problems.push(...(await migrateAccount(accountId, { table: live, now: () => restore.now })));
    await live.attempt({ delete: restoreKey(accountId) });
  }
  return {
    ...counts,
    conflicts,
    zones_left: zonesLeft,
    problems: [...problems, ...(await problemsOf(live, accountId))],
  };
}

const atOnce = 8;

const isOutside = ({ key }: Step): boolean => !key.PK.startsWith("ACCOUNT#");

/** Makes the changes: those outside the account's partition one after another and first, the others eight at a time. */
async function applyAll(live: Table, steps: readonly Step[]): Promise<void> {
  for (const step of steps.filter(isOutside)) await apply(live, step);
  const results = await mapConcurrently(
    steps.filter((step) => !isOutside(step)),
    atOnce,
    (step) => apply(live, step),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
