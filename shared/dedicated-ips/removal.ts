import { change } from "../changes/kind.ts";
import type { Planned } from "../changes/recorder.ts";
import { Problem, notFound } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Context, Expected } from "../http/route.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { planWallet } from "../wallet/wallet.ts";
import { StoredIp, ipById, ipDomainKey, ipKey, ipKind, ipQueue, ipsOf, notReady } from "./dedicated-ip.ts";
import { planRelease, holderKey } from "./holder.ts";
import { operationKey, readOperation } from "./operation.ts";
import { type GivenUp, giveUpWrites } from "./stock.ts";
import { ipSeen, ipView } from "./view.ts";
import { ipChange, retryOnConflict } from "./work.ts";

/**
 * The writes that remove a dedicated IP, provided it is unchanged. The address of a managed one gets the state `state`.
 */
export async function planRemoval(table: Reader, ip: StoredIp, state: GivenUp): Promise<Write[]> {
  const { account_id, id, type, version, due_at, addresses, option_id = "" } = ip;
  const ordinal = ordinalOf(id) ?? -1;
  const ips = addresses.map((address) => address.ip);
  const [list, held] = await Promise.all([
    readList(table, ipsOf(account_id), [ordinal]),
    type === "managed"
      ? ips.flatMap((one) => giveUpWrites({ ip: one, option_id }, ip, state))
      : planRelease(table, ip, ips),
  ]);
  return [
    ...removeRows(list.state, [ordinal], { if: { id, version } }),
    ...held,
    ...(due_at === null ? [] : [{ delete: dueKey(ipQueue, [account_id, id], due_at) }]),
  ];
}

/** The changes when a domain leaves its dedicated IP. An assignment that is not finished will skip the domain. */
export async function planUnassigned(
  table: Reader,
  { account_id, id, dedicated_ip_id }: StoredDomain,
  now: Date,
): Promise<Planned> {
  if (dedicated_ip_id === null) return { writes: [], changes: [] };
  const entry = ipDomainKey(account_id, dedicated_ip_id, id);
  const [[found], ip] = await Promise.all([table.getMany([entry]), ipById(table, account_id, dedicated_ip_id)]);
  if (!found || !ip) return { writes: [{ check: entry, if: "absent" }], changes: [] };
  const { version } = ip;
  const updated_at = now.toISOString();
  // The reads are of different moments, so the count can be below zero here. Such a transaction fails.
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

const inUse = (ip: StoredIp, context: Context): Problem => {
  const { domain_count } = ipSeen(ip, context);
  return new Problem(
    "ip_in_use",
    "Domains still send from this dedicated IP. Unassign them first.",
    domain_count === null ? {} : { domain_count },
  );
};

/**
 * The items that `deleteIp` reads. They include the holders of a host's addresses only if this process has seen the
 * host.
 */
export function aheadOfIpDeletion(accountId: string, id: string, { seen }: Expected): Ahead {
  const key = ipKey(accountId, id);
  const { type, addresses = [] } = StoredIp.safeParse(seen.recall(key)).data ?? {};
  const held = type === "byoh" ? addresses.map(({ ip }) => holderKey(ip)) : [];
  return aheadOfList(ipsOf(accountId), [ordinalOf(id) ?? 0], [key, key, operationKey(accountId, id), ...held]);
}

/**
 * Deletes a dedicated IP.
 * - While it is `provisioning`, the hold on its price is voided and its address is free again.
 * - Later, nothing is refunded, and its address becomes `resting`.
 * - Throws 404.
 * - Throws 409 `ip_in_use` while domains send from it, or are being assigned to it or unassigned.
 * - Throws 409 `ip_not_ready` for a host that the operator suspended, because adding it again would lift the
 *   suspension.
 */
export function deleteIp({ account_id, id }: StoredIp, context: Context): Promise<void> {
  const { table, commit, now } = context;
  return commit(() =>
    retryOnConflict(async () => {
      const ip = await ipById(table, account_id, id);
      if (!ip) throw notFound();
      if (ip.domain_count > 0 || (await readOperation(table, account_id, id))) throw inUse(ip, context);
      if (ip.type === "byoh" && ip.status === "suspended")
        throw notReady(ip.status, `${ip.name} is suspended. A suspended host cannot be deleted.`);
      const isNew = ip.status === "provisioning";
      const voided = { kind: "void", id: ip.hold_id ?? "" } as const;
      const wallet = isNew ? await planWallet(table, account_id, [voided], now()) : { writes: [], changes: [] };
      return {
        value: undefined,
        writes: [
          ...(await planRemoval(table, ip, isNew ? "free" : "resting")),
          { check: operationKey(account_id, id), if: "absent", orElse: () => inUse(ip, context) },
          ...wallet.writes,
        ],
        changes: [change(ipKind, "deleted", id, { before: ipView(ip) }), ...wallet.changes],
      };
    }),
  );
}
