import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { StoredInvitation, tokenKey as invitationTokenKey } from "../../shared/access/invitations/invitation.ts";
import { AccessRecord } from "../../shared/accounts/standing.ts";
import { tokenKey as serviceTokenKey } from "../../shared/auth/service-token.ts";
import { holderKey, StoredDomain } from "../../shared/domains/domain.ts";
import { StoredHolder } from "../../shared/domains/holder.ts";
import { planFormerAccess } from "../../shared/grants/holders.ts";
import { StoredProof, tokenKey as proofTokenKey } from "../../shared/mail/forwarding/proof.ts";
import { rowsInPartition } from "../../shared/table/reads.ts";
import type { Reader } from "../../shared/table/table.ts";
import { anyItem, type Item, type Key, type Write } from "../../shared/table/writes.ts";
import { ruleOf } from "./account-rules.ts";

/**
 * The restore of an account. `past` is a table that was restored by point-in-time recovery. `live` is the live table.
 */
export type Restore = { past: Reader; live: Reader; accountId: string; now: Date };

/** One change of the live table. `writes` plans the writes of the change, again for each try. */
export type Step = { what: "add" | "change" | "remove"; key: Key; writes: (table: Reader) => Promise<Write[]> };

/**
 * The changes of a restore, in order. `conflicts` has a sentence for each conflict that forbids the restore. `zones`
 * has the ids of the domains with a zone in `live`. Some of these ids may not be in `domains`, because an
 * interrupted restore can have removed a domain without its zone.
 */
export type RestorePlan = { steps: Step[]; conflicts: string[]; domains: Domains; zones: Set<string> };

/** The domains of the account by id: in `past` at the restored time, and in `live` now. */
type Domains = { past: Map<string, StoredDomain>; live: Map<string, StoredDomain> };

/** DynamoDB orders sort keys by their bytes in UTF-8. */
const compareKeys = (a: Item, b: Item): number => Buffer.compare(Buffer.from(a.SK), Buffer.from(b.SK));

type Pair = { past: Item | undefined; live: Item | undefined };

/** Yields the rows of the account's partition in both tables. Rows with the same key are a pair. */
async function* pairsOf({ past, live, accountId }: Restore): AsyncGenerator<Pair> {
  const partition = `ACCOUNT#${accountId}`;
  const [pasts, lives] = [rowsInPartition(past, partition), rowsInPartition(live, partition)];
  let [nextPast, nextLive] = [await pasts.next(), await lives.next()];
  while (!nextPast.done || !nextLive.done) {
    const order = compareNext(nextPast, nextLive);
    yield { past: order <= 0 ? nextPast.value : undefined, live: order >= 0 ? nextLive.value : undefined };
    if (order <= 0) nextPast = await pasts.next();
    if (order >= 0) nextLive = await lives.next();
  }
}

/** Compares the next rows of two tables. A table without a next row comes last. */
function compareNext(a: IteratorResult<Item, unknown>, b: IteratorResult<Item, unknown>): number {
  if (a.done) return 1;
  if (b.done) return -1;
  return compareKeys(a.value, b.value);
}

const Versioned = z.object({ version: z.int() });
const versionOf = (row: Item | undefined): number | undefined => Versioned.safeParse(row).data?.version;

/**
 * The content of a row that a restore compares. The content does not include the version, nor the member `listed_at` of
 * a user's access, because a restore never sets these two back.
 */
function contentOf({ version: _, ...row }: Item): Record<string, unknown> {
  if (!row.SK.startsWith("ACCESS#user#")) return row;
  const { listed_at: __, ...rest } = row as Record<string, unknown>;
  return rest;
}

/**
 * Whether a row has a time `ttl`, in seconds since 1970, and this time has passed. The `ttl` of a DNS record is not a
 * time, but a small number of seconds.
 */
const isExpired = ({ ttl }: Item, now: Date): boolean =>
  typeof ttl === "number" && ttl > 1e9 && ttl * 1_000 <= now.getTime();

/** The condition that a row is still as it was read. If the row has no version, the row must only exist. */
const unchanged = (row: Item | undefined): NonNullable<Write["if"]> => {
  if (row === undefined) return "absent";
  const version = versionOf(row);
  return version === undefined ? "present" : { version };
};

/** The error for a row that somebody else has changed since the restore was planned. */
const disturbed = (): Error =>
  new Error(
    "The account changed while it was restored. Stop the workers (docs/operations.md), and run the command again.",
  );

/**
 * Writes a past row to the live table. The version still rises. So a request that has read an earlier state cannot
 * overwrite the restored row.
 */
function putBack(past: Item, live: Item | undefined): Write {
  const version = versionOf(live);
  const put = version === undefined ? past : { ...past, version: version + 1 };
  return { put, if: unchanged(live), orElse: disturbed };
}

/**
 * Whether a row is a grant of super admin, revoked or not. A restore does not add, change or remove this row, because
 * the right itself is stored with the user, and is about all accounts. If the restore added the row, the account could
 * list a user who is no super admin any more. If the restore removed the row, the list could lack a super admin.
 */
const isOfSuperAdmin = ({ SK, ...row }: Item): boolean =>
  /^(?:ASSIGNMENT|REVOKED)#/.test(SK) && "kind" in row && row.kind === "super_admin";

/** The change that one row of the partition needs. Undefined if the row needs no change. */
function stepOf({ past, live }: Pair, { accountId, now }: Restore): Step | undefined {
  const row = past ?? live;
  if (!row || isOfSuperAdmin(row)) return undefined;
  const { PK, SK } = row;
  const rule = ruleOf(SK);
  const isWanted = past !== undefined && !isExpired(past, now);
  if (rule === "left" || (rule === "kept" && (live !== undefined || !isWanted))) return undefined;
  if (isWanted && live && isDeepStrictEqual(contentOf(past), contentOf(live))) return undefined;
  if (!isWanted && !live) return undefined;
  const addOrChange = live ? "change" : "add";
  const what = isWanted ? addOrChange : "remove";
  const [, userId] = /^ACCESS#user#(.+)$/.exec(SK) ?? [];
  if (userId !== undefined) {
    const former = isWanted ? AccessRecord.parse(past) : undefined;
    return { what, key: { PK, SK }, writes: (table) => planFormerAccess(table, accountId, userId, former) };
  }
  const write = isWanted ? putBack(past, live) : { delete: { PK, SK }, if: unchanged(live), orElse: disturbed };
  return { what, key: { PK, SK }, writes: async () => [write] };
}

/** Items outside the account's partition that point to the account. The rows of the partition name these items. */
type Pointers = { names: Set<string>; tokens: Map<string, Key> };

function notePointers(pointers: Pointers, row: Item | undefined): void {
  if (!row) return;
  const note = (key: Key): void => void pointers.tokens.set(key.PK, key);
  if (row.SK.startsWith("LIST#domains#ROW#")) pointers.names.add(StoredDomain.parse(row).name);
  if (row.SK.startsWith("SERVICE_ACCOUNT#")) {
    const { public_ids = [] } = z.object({ public_ids: z.array(z.string()).optional() }).parse(row);
    for (const id of public_ids) note(serviceTokenKey(id));
  }
  if (row.SK.startsWith("LIST#invitations#ROW#")) {
    const { token_hash: hash } = StoredInvitation.parse(row);
    if (hash !== undefined) note(invitationTokenKey(hash));
  }
  if (row.SK.startsWith("FORWARD_PROOF#")) {
    const { token_hash: hash } = StoredProof.parse(row);
    if (hash !== undefined) note(proofTokenKey(hash));
  }
}

/**
 * Plans the changes of tokens. After these changes, the same tokens are valid for the same resources as at the restored
 * time. The time of a token's last use does not change.
 */
async function planTokens({ past, live, now }: Restore, { tokens }: Pointers): Promise<Step[]> {
  const keys = [...tokens.values()];
  const [pasts, lives] = [await past.getMany(keys), await live.getMany(keys)];
  return keys.flatMap((key, index): Step[] => {
    const [before, present] = [pasts[index], lives[index]];
    const wanted =
      before && !isExpired(before, now) ? { ...before, last_used_at: present?.["last_used_at"] } : undefined;
    if (isDeepStrictEqual({ ...wanted, last_used_at: 0 }, { ...present, last_used_at: 0 })) return [];
    if (wanted) return [{ what: present ? "change" : "add", key, writes: async () => [{ put: wanted }] }];
    return [{ what: "remove", key, writes: async () => [{ delete: key }] }];
  });
}

/**
 * Plans the changes of the rows that name the holder of a domain name. A name that another account holds now is a
 * conflict.
 */
async function planNames({ past, live, accountId }: Restore, { names }: Pointers) {
  const steps: Step[] = [];
  const conflicts: string[] = [];
  for (const name of names) {
    const key = holderKey(name);
    const [before, present] = await Promise.all([past.get(key, anyItem), live.get(key, anyItem)]);
    const holder = present && StoredHolder.parse(present);
    const wanted = before && StoredHolder.parse(before).account_id === accountId ? before : undefined;
    if (wanted && holder && holder.account_id !== accountId) {
      conflicts.push(`Another account now holds the name ${name}: ${holder.account_id}.`);
    } else if (wanted && !isDeepStrictEqual(wanted, present)) {
      const condition = holder ? { account_id: accountId } : ("absent" as const);
      const write: Write = { put: wanted, if: condition, orElse: disturbed };
      steps.push({ what: holder ? "change" : "add", key, writes: async () => [write] });
    } else if (!wanted && holder?.account_id === accountId) {
      const write: Write = { delete: key, if: { account_id: accountId }, orElse: disturbed };
      steps.push({ what: "remove", key, writes: async () => [write] });
    }
  }
  return { steps, conflicts };
}

/** The state of a domain at the registrar, and the state of its payments. */
const atRegistrar = ({ registration, purchase, renewal, transfer }: StoredDomain) => ({
  status: registration?.status ?? null,
  expires_at: registration?.expires_at ?? null,
  purchase,
  renewal,
  transfer,
});

/** Whether a domain has a registration or a transfer at the registrar. */
const isRegistered = ({ registration, transfer }: StoredDomain): boolean =>
  transfer !== undefined || (registration !== null && !["failed", "expired"].includes(registration.status));

/**
 * The conflicts with changes that were made outside the table since the restored time: changes at the registrar, and
 * changes of dedicated IPs.
 */
function conflictsOf({ past, live }: Domains, ips: ReadonlySet<string>): string[] {
  const conflicts: string[] = [];
  for (const [id, before] of past) {
    const present = live.get(id);
    const hasChanged = present ? !isDeepStrictEqual(atRegistrar(before), atRegistrar(present)) : isRegistered(before);
    if (hasChanged) {
      const what = present ? "changed at the registrar" : "and its registration were deleted";
      conflicts.push(`The domain ${before.name} ${what} after the restored time. Restore to a later time.`);
    }
    const [pastIp, liveIp] = [before.dedicated_ip_id, present?.dedicated_ip_id ?? null];
    if (pastIp !== null && (pastIp !== liveIp || !ips.has(pastIp))) {
      conflicts.push(
        `The domain ${before.name} sent from the dedicated IP ${pastIp} at the restored time, but not now. Assign the domain to this IP before the restore.`,
      );
    }
    if (pastIp === null && liveIp !== null) {
      conflicts.push(
        `The domain ${before.name} now sends from the dedicated IP ${liveIp}. Unassign the domain before the restore.`,
      );
    }
  }
  for (const [id, present] of live) {
    if (past.has(id)) continue;
    if (isRegistered(present))
      conflicts.push(
        `The domain ${present.name} was registered after the restored time. The restore would lose this registration.`,
      );
    if (present.dedicated_ip_id !== null) {
      conflicts.push(
        `The domain ${present.name} now sends from a dedicated IP. Unassign the domain before the restore.`,
      );
    }
  }
  return conflicts;
}

/**
 * Compares an account in two tables, and plans the changes that restore its resources in the live table. Only reads.
 * Reads the rows of the account one page after another, and keeps the changes in memory.
 */
export async function planRestore(restore: Restore): Promise<RestorePlan> {
  const domains: Domains = { past: new Map(), live: new Map() };
  const pointers: Pointers = { names: new Set(), tokens: new Map() };
  const [ips, zones] = [new Set<string>(), new Set<string>()];
  const rows: Step[] = [];
  for await (const pair of pairsOf(restore)) {
    const step = stepOf(pair, restore);
    if (step) rows.push(step);
    for (const side of ["past", "live"] as const) {
      const row = pair[side];
      notePointers(pointers, row);
      if (row?.SK.startsWith("LIST#domains#ROW#")) domains[side].set(String(row["id"]), StoredDomain.parse(row));
    }
    if (pair.live?.SK.startsWith("LIST#dedicated_ips#ROW#")) ips.add(String(pair.live["id"]));
    if (pair.live?.SK.startsWith("ZONE#")) zones.add(String(pair.live["domain_id"]));
  }
  const names = await planNames(restore, pointers);
  const tokens = await planTokens(restore, pointers);
  const removals = rows.filter(({ what }) => what === "remove");
  const others = rows.filter(({ what }) => what !== "remove");
  return {
    // Names come first. If another account takes a name in the meantime, the restore stops before it changes tokens and
    // resources.
    steps: [...names.steps, ...tokens, ...others, ...removals],
    conflicts: [...names.conflicts, ...conflictsOf(domains, ips)],
    domains,
    zones,
  };
}
