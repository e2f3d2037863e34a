import { covers } from "../auth/permissions.ts";
import { mapConcurrently } from "../core/concurrency.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { type StoredDomain, domainKey, noSuchDomain, notReady as domainNotReady } from "../domains/domain.ts";
import { scopesOfDomain, domainByRef } from "../domains/find.ts";
import type { Context } from "../http/route.ts";
import type { Write } from "../table/writes.ts";
import { type StoredIp, isAssignable, notReady } from "./dedicated-ip.ts";
import type { StoredOperation } from "./operation.ts";

export type Kind = StoredOperation["kind"];

/** The ids of the domains that a request names, with the index of each in the request. */
export type Named = ReadonlyMap<string, number>;

const concurrency = 10;

const unknownDomains = (indexes: readonly number[]): InvalidInput =>
  new InvalidInput(indexes.map((index) => ({ loc: ["body", "domains", index], msg: noSuchDomain, type: "not_found" })));

/** The domains with these names or ids. Throws 422 for each that does not exist, or that the caller may not assign. */
export async function readNamed(
  accountId: string,
  refs: readonly string[],
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<Named> {
  const read = await mapConcurrently(refs, concurrency, (ref) => domainByRef(table, accountId, ref));
  const domains = read.map((result) => {
    if (result.status === "rejected") throw result.reason;
    const domain = result.value;
    return domain && covers(permissions, "ip.assign", scopesOfDomain(domain)) ? domain : undefined;
  });
  const unknown = domains.flatMap((domain, index) => (domain ? [] : [index]));
  if (unknown.length > 0) throw unknownDomains(unknown);
  return new Map(domains.flatMap((domain, index) => (domain ? [[domain.id, index] as const] : [])).toReversed());
}

/**
 * The named domains that have to move, in their current state. Throws 422 when one is gone, and 409 when one cannot be
 * moved.
 */
export function requireReassignable(
  ip: StoredIp,
  kind: Kind,
  named: Named,
  domains: readonly StoredDomain[],
): StoredDomain[] {
  const existing = new Set(domains.map(({ id }) => id));
  const gone = [...named].flatMap(([id, index]) => (existing.has(id) ? [] : [index]));
  if (gone.length > 0) throw unknownDomains(gone.toSorted((one, other) => one - other));
  if (kind === "unassign") return domains.filter(({ dedicated_ip_id }) => dedicated_ip_id === ip.id);
  if (!isAssignable(ip)) throw notReady(ip.status, `${ip.name} is ${ip.status}. Domains cannot send from it yet.`);
  const moving = domains.filter(({ dedicated_ip_id }) => dedicated_ip_id !== ip.id);
  for (const { name, status, is_open, dedicated_ip_id } of moving) {
    if (!is_open) throw domainNotReady(status, `${name} is ${status}. It cannot be assigned to a dedicated IP.`);
    if (dedicated_ip_id === null) continue;
    throw new Problem("domain_has_ip", `${name} sends from another dedicated IP. Unassign it there first.`, {
      domain: name,
      dedicated_ip_id,
    });
  }
  return moving;
}

/** The writes that move domains, provided they are unchanged. A hundred domains fill the transaction. */
export const moveWrites = (
  ip: Pick<StoredIp, "id" | "account_id">,
  kind: Kind,
  domains: readonly StoredDomain[],
  now: Date,
): Write[] =>
  domains.map(({ id, version, is_open }) => ({
    update: domainKey(ip.account_id, id),
    set: { dedicated_ip_id: kind === "assign" ? ip.id : null, updated_at: now.toISOString() },
    add: { version: 1 },
    if: { id, version, is_open },
  }));

/**
 * Whether the one transaction that moves the domains of an operation has happened. Any of the domains shows it, because
 * no other request assigns or unassigns domains of the dedicated IP while the operation runs.
 */
export const hasMoved = (
  { kind, dedicated_ip_id: own }: StoredOperation,
  domains: readonly Pick<StoredDomain, "dedicated_ip_id">[],
): boolean => domains.some(({ dedicated_ip_id }) => (dedicated_ip_id === own) === (kind === "assign"));
