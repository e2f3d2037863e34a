import { randomUUID } from "node:crypto";

import * as z from "zod";

import { accountKey, accountKind, StoredAccount } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { change } from "../../shared/changes/kind.ts";
import { operatorCommit } from "../../shared/changes/recorder.ts";
import { mapConcurrently, allFulfilled } from "../../shared/core/concurrency.ts";
import { clock } from "../../shared/core/time.ts";
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
import { planRestore, type RestorePlan, type Step } from "./account-plan.ts";
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
  /** The name of the table `past`. An interrupted restore can continue only with the same table. */
  pastName: string;
  accountId: string;
  dryRun: boolean;
  now: Date;
};

/**
 * The result of a restore or of a dry run: the numbers of added, changed and removed rows, and the conflicts as
 * sentences.
 */
export type RestoreResult = {
  add: number;
  change: number;
  remove: number;
  /** The numbers of rows by change and kind of row, such as `change LIST#mailboxes`. */
  rows: Record<string, number>;
  conflicts: string[];
  /**
   * The zones of domains that did not exist at the restored time. Delete these zones at the DNS provider. Empty in a
   * dry run.
   */
  zones_left: string[];
  /** The problems that the checks of the ledger and of the lists found, and failed migrations. Empty in a dry run. */
  problems: string[];
};

/**
 * The kind of a row: the beginning of its sort key, without ids. For a row outside the account, the beginning of its
 * partition key.
 */
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

/** Makes a change as one transaction. Throws if a row with a version has changed since the change was planned. */
const apply = (live: Table, { writes }: Step): Promise<void> =>
  live.commit(async () => ({ value: undefined, writes: await writes(live) }));

/**
 * Stores that a restore has begun, and records the restore in the audit log. If the command continues an interrupted
 * restore, does nothing, because both are stored already.
 */
async function begin({ live, accountId, pastName }: AccountRestore): Promise<void> {
  // The comparison of the tables may have taken minutes. The audit log needs its entries in the order of their times.
  // So the entry has the present time, and not the time at which the command began.
  const now = clock();
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
 * Puts the tasks of the restored resources into the queues again. A superfluous task does no harm, because its worker
 * checks the resource first.
 */
async function restoreTasks({ live, past, accountId }: AccountRestore): Promise<void> {
  for (const queue of [domainQueue, dkimQueue, mailboxQueue, grantQueue]) {
    for (const { at, subject } of await tasksOf(past, queue, accountId)) {
      await live.attempt(dueWrite(queue, [accountId, ...subject.slice(1)], at));
    }
  }
}

/**
 * Makes the worker of zones send all records of the domains to the nameservers again. The row of a zone describes the
 * present records of the nameservers, so this row is not restored. If a domain did not exist at the restored time, its
 * zone is marked as not `wanted`.
 */
async function restoreZones(
  { live, past, accountId, now }: AccountRestore,
  { domains, zones }: RestorePlan,
): Promise<void> {
  const at = now.toISOString();
  for (const id of new Set([...domains.past.keys(), ...zones])) {
    await live.commit(async () => {
      const key = zoneKey(accountId, id);
      const [before, present] = await Promise.all([past.get(key, StoredZone), live.get(key, StoredZone)]);
      const wanted = domains.past.has(id) && (before?.wanted ?? false);
      if (!before && !present) return { value: undefined, writes: [] };
      // A zone that was removed at the provider gets a new reference. With a new reference, the provider makes a new
      // zone.
      const { zone_id: _, change: __, ...former } = before ?? {};
      const zone = StoredZone.parse(present ?? { ...former, reference: randomUUID(), held: [] });
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
}

/** The zones of domains that did not exist at the restored time. */
async function zonesLeft({ live, accountId }: AccountRestore, { domains, zones }: RestorePlan): Promise<string[]> {
  const keys = [...zones].filter((id) => !domains.past.has(id)).map((id) => zoneKey(accountId, id));
  const left = (await live.getMany(keys)).flatMap((row) => (row ? [StoredZone.parse(row)] : []));
  return left.flatMap(({ name, zone_id: id }) => (id === undefined ? [] : [`${name} ${id}`]));
}

/** The problems that the checks of an account's ledger and lists find. */
async function problemsOf(table: Table, accountId: string): Promise<string[]> {
  const { problems, unsettled } = await checkLedger(table, walletOf(accountId), { entries: 1_000 });
  return [
    ...problems,
    ...(unsettled ? ["the ledger changed during the check"] : []),
    ...(await checkLists(table, accountId)),
  ];
}

/**
 * Restores the resources of one account from a table that was restored by point-in-time recovery. `account-rules.ts`
 * has the rule for each kind of row. Outside the account's partition, only the rows that point to the account change:
 * the holders of names, tokens, the lists of users' accounts, and the tasks in the queues.
 *
 * At the end, the migrations (`shared/migrations`) convert restored rows of an earlier version to their present form.
 *
 * If the process dies, the account is partly restored, and the next run continues. Changes nothing and throws if:
 * - the account does not exist, or is not in the table `past`,
 * - a restore from another table is not complete,
 * - the account is not suspended, unless this is a dry run,
 * - there are conflicts. A dry run returns the conflicts instead.
 */
export async function restoreAccount(restore: AccountRestore): Promise<RestoreResult> {
  const { live, past, pastName, accountId, dryRun } = restore;
  const account = await getAccount(live, accountId);
  if (!(await past.get(accountKey(accountId), StoredAccount))) {
    throw new Error(`The table ${pastName} does not have this account.`);
  }
  const running = await live.get(restoreKey(accountId), RunningRestore);
  if (running && running.from_table !== pastName) {
    throw new Error(
      `A restore from the table ${running.from_table} is not complete. Run that restore again before this one.`,
    );
  }
  const plan = await planRestore(restore);
  const { steps, conflicts } = plan;
  const counts = countsOf(steps);
  if (dryRun) return { ...counts, conflicts, zones_left: [], problems: [] };
  if (account.status !== "suspended") {
    throw new Error("Suspend the account first: npm run operator -- account suspend --account ID.");
  }
  if (conflicts.length > 0) throw new Error(`Nothing was changed.\n${conflicts.join("\n")}`);
  const problems: string[] = [];
  if (steps.length > 0 || running) {
    await begin(restore);
    await applyAll(live, steps);
    await restoreTasks(restore);
    await restoreZones(restore, plan);
    problems.push(...(await migrateAccount(accountId, { table: live, now: () => restore.now })));
    await live.attempt({ delete: restoreKey(accountId) });
  }
  return {
    ...counts,
    conflicts,
    zones_left: await zonesLeft(restore, plan),
    problems: [...problems, ...(await problemsOf(live, accountId))],
  };
}

const atOnce = 8;

const isOutside = ({ key }: Step): boolean => !key.PK.startsWith("ACCOUNT#");

/**
 * Makes the changes. First makes the changes outside the account's partition, one after the other. Then makes the other
 * changes, eight at a time.
 */
async function applyAll(live: Table, steps: readonly Step[]): Promise<void> {
  for (const step of steps.filter(isOutside)) await apply(live, step);
  const results = await mapConcurrently(
    steps.filter((step) => !isOutside(step)),
    atOnce,
    (step) => apply(live, step),
  );
  allFulfilled(results);
}
