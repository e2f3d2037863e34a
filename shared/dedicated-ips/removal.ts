import { change } from "../changes/kind.ts";
import type { ChangePlan, Planned, SoleWrites, Writer } from "../changes/recorder.ts";
import { Problem, notFound } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import { type StoredDomain } from "../domains/domain.ts";
import { domainsByIds } from "../domains/find.ts";
import { planRecords } from "../domains/records/plan.ts";
import { domainChange } from "../domains/view.ts";
import type { Context, Expected } from "../http/route.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { pastIpWrite } from "../wallet/past-use.ts";
import { planWallet } from "../wallet/wallet.ts";
import { ipChange, retryOnConflict } from "./change.ts";
import { StoredIp, ipById, ipDomainKey, ipKey, ipKind, ipQueue, ipsOf, notReady } from "./dedicated-ip.ts";
import { planRelease, holderKey } from "./holder.ts";
import { moveWrites } from "./moves.ts";
import { operationKey, readOperation } from "./operation.ts";
import { resumeOperation } from "./settle.ts";
import { spfEdits } from "./spf.ts";
import { type ReleasedState, releaseWrites } from "./stock.ts";
import { ipViewFor, ipView } from "./view.ts";

/**
 * Plans to remove a dedicated IP. The writes fail if the dedicated IP has changed since it was read. The address of a
 * managed dedicated IP gets the state `state`. If a managed dedicated IP was ever ready, stores that today was the last
 * day on which the account had it.
 */
export async function planRemoval(table: Reader, ip: StoredIp, state: ReleasedState, now: Date): Promise<Write[]> {
  const { account_id, id, type, version, due_at, addresses, option_id = "" } = ip;
  // Every dedicated IP has an ordinal in its id. No row has the ordinal -1.
  const ordinal = ordinalOf(id) ?? -1;
  const ips = addresses.map((address) => address.ip);
  const [list, releases] = await Promise.all([
    readList(table, ipsOf(account_id), [ordinal]),
    type === "managed"
      ? ips.flatMap((address) => releaseWrites({ ip: address, option_id }, ip, state))
      : planRelease(table, ip, ips),
  ]);
  return [
    ...removeRows(list.state, [ordinal], { if: { id, version } }),
    ...releases,
    // On the plan `per_dedicated_ip`, mailboxes are free on a day with a managed IP. An IP that was never ready costs
    // nothing, so it must not make mailboxes free.
    ...(type === "managed" && ip.paid_until !== undefined ? [pastIpWrite(account_id, ip, now)] : []),
    ...(due_at === null ? [] : [{ delete: dueKey(ipQueue, [account_id, id], due_at) }]),
  ];
}

/**
 * Plans to remove a domain from its dedicated IP. If a running operation has not settled the domain yet, the dedicated
 * IP has no entry of the domain. Then the plan only checks that there is still no entry.
 */
export async function planUnassigned(
  table: Reader,
  { account_id, id, dedicated_ip_id }: StoredDomain,
  now: Date,
): Promise<Planned> {
  if (dedicated_ip_id === null) return { writes: [], changes: [] };
  const entry = ipDomainKey(account_id, dedicated_ip_id, id);
  const [[stored], ip] = await Promise.all([table.getMany([entry]), ipById(table, account_id, dedicated_ip_id)]);
  if (!stored || !ip) return { writes: [{ check: entry, if: "absent" }], changes: [] };
  const { version } = ip;
  const updated_at = now.toISOString();
  // The entry and the count are read at different times, so the count can be 0 here. The transaction then fails.
  // `Math.max` only keeps the view in this plan valid.
  const after = { ...ip, domain_count: Math.max(0, ip.domain_count - 1), updated_at };
  return {
    writes: [
      { delete: entry, if: "present" },
      {
        update: ipKey(account_id, ip.id),
        set: { updated_at },
        add: { domain_count: -1, version: 1 },
        if: { id: ip.id, version },
      },
    ],
    changes: [ipChange("domains_unassigned", ip, after)],
  };
}

/**
 * Plans that a domain leaves its dedicated IP, with the change to the domain's SPF record. `left` has the new value of
 * the domain's `dedicated_ip_id`. Plans nothing while an operation moves domains of the dedicated IP: the operation and
 * this transaction must not both move the domain.
 */
export async function planLeaving(
  table: Reader,
  domain: StoredDomain,
  now: Date,
): Promise<Planned & { left: Partial<Pick<StoredDomain, "dedicated_ip_id">>; sole?: SoleWrites }> {
  const { account_id, dedicated_ip_id } = domain;
  if (dedicated_ip_id === null || (await readOperation(table, account_id, dedicated_ip_id))) {
    return { left: {}, writes: [], changes: [] };
  }
  const left = { dedicated_ip_id: null };
  const [unassigned, edits] = await Promise.all([
    planUnassigned(table, domain, now),
    spfEdits(table, { ...domain, ...left }),
  ]);
  const records = await planRecords(table, account_id, edits, now);
  return {
    left,
    writes: [...unassigned.writes, { check: operationKey(account_id, dedicated_ip_id), if: "absent" }],
    sole: records.sole,
    changes: [...unassigned.changes, ...records.changes],
  };
}

const ipInUse = (ip: StoredIp, context: Context): Problem => {
  const { domain_count } = ipViewFor(ip, context);
  return new Problem(
    "ip_in_use",
    "Domains still send from this dedicated IP. Unassign them first.",
    domain_count === null ? {} : { domain_count },
  );
};

/**
 * Items that `deleteIp` reads. The addresses of a host are known only if this process has seen the host's row.
 * Without them, the holders of the addresses are left out.
 */
export function aheadOfIpDeletion(accountId: string, id: string, { seen }: Expected): Ahead {
  const key = ipKey(accountId, id);
  const { type, addresses = [] } = StoredIp.safeParse(seen.recall(key)).data ?? {};
  const holders = type === "byoh" ? addresses.map(({ ip }) => holderKey(ip)) : [];
  return aheadOfList(ipsOf(accountId), [ordinalOf(id) ?? 0], [key, key, operationKey(accountId, id), ...holders]);
}

/**
 * Deletes a dedicated IP. If a managed dedicated IP is `provisioning`, voids the hold on its price, and frees its
 * address. Any other managed dedicated IP is not refunded, and its address becomes `resting`. Throws:
 * - 404 if the dedicated IP was deleted meanwhile;
 * - 409 `ip_in_use` while domains send from the dedicated IP, or while an operation assigns or unassigns domains;
 * - 409 `ip_not_ready` for a suspended host, because otherwise the customer could delete the host, and add it again
 *   without the suspension.
 */
export function deleteIp({ account_id, id }: StoredIp, context: Context): Promise<void> {
  const { table, commit, now } = context;
  return commit(() =>
    retryOnConflict(async () => {
      const ip = await ipById(table, account_id, id);
      if (!ip) throw notFound();
      if (ip.domain_count > 0 || (await readOperation(table, account_id, id))) throw ipInUse(ip, context);
      if (ip.type === "byoh" && ip.status === "suspended")
        throw notReady(ip.status, `${ip.name} is suspended. A suspended host cannot be deleted.`);
      return planDeletion(table, ip, now(), () => ipInUse(ip, context));
    }),
  );
}

/**
 * Plans to delete a dedicated IP from which no domain sends. While an operation assigns or unassigns domains, the
 * writes fail with the error of `inUse`.
 */
async function planDeletion(table: Reader, ip: StoredIp, now: Date, inUse: () => Problem): Promise<ChangePlan<void>> {
  const { account_id, id } = ip;
  const isNew = ip.status === "provisioning";
  const voided = { kind: "void", id: ip.hold_id ?? "" } as const;
  const wallet = isNew ? await planWallet(table, account_id, [voided], now) : { writes: [], changes: [] };
  return {
    value: undefined,
    writes: [
      ...(await planRemoval(table, ip, isNew ? "free" : "resting", now)),
      { check: operationKey(account_id, id), if: "absent", orElse: inUse },
      ...wallet.writes,
    ],
    changes: [change(ipKind, "deleted", id, { before: ipView(ip) }), ...wallet.changes],
  };
}

/**
 * Deletes a managed dedicated IP of a closed account, as `deleteIp` does. First ends the operation that assigns or
 * unassigns domains, and unassigns all domains, one after the other. If the process dies, the next check of the
 * dedicated IP continues this work.
 */
export async function takeBackIp({ account_id, id }: StoredIp, context: Writer): Promise<void> {
  const { table, commit, now } = context;
  const operation = await readOperation(table, account_id, id);
  if (operation) await resumeOperation(operation, context);
  const { PK, SK } = ipDomainKey(account_id, id);
  for (const row of await table.between(PK, SK, `${SK}~`))
    await unassign(account_id, id, String(row["domain_id"]), context);
  await commit(() =>
    retryOnConflict(async () => {
      const ip = await ipById(table, account_id, id);
      const nothing = { value: undefined, writes: [], changes: [] };
      return ip && ip.domain_count === 0 ? planDeletion(table, ip, now(), () => beingMoved(ip)) : nothing;
    }),
  );
}

/** The 503 `busy` for a dedicated IP while an operation moves its domains. */
const beingMoved = ({ name }: StoredIp): Problem =>
  new Problem("busy", `Domains of ${name} are being moved.`, { retry_after: 1 });

/**
 * Unassigns a domain from a dedicated IP, if the domain is still assigned to this dedicated IP. Does nothing while an
 * operation moves domains of the dedicated IP.
 */
const unassign = (accountId: string, ipId: string, domainId: string, context: Writer): Promise<void> =>
  context.commit(async () => {
    const { table, now } = context;
    const nothing = { value: undefined, writes: [], changes: [] };
    const [domain] = await domainsByIds(table, accountId, [domainId]);
    if (domain?.dedicated_ip_id !== ipId) return nothing;
    const { left, sole, ...leaving } = await planLeaving(table, domain, now());
    if (left.dedicated_ip_id === undefined) return nothing;
    return {
      value: undefined,
      writes: [...moveWrites({ id: ipId, account_id: accountId }, "unassign", [domain], now()), ...leaving.writes],
      sole,
      changes: [await domainChange(table, "updated", domain, { ...domain, ...left }), ...leaving.changes],
    };
  });
