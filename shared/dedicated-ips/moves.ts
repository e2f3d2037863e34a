import { covers } from "../auth/permissions.ts";
import { mapConcurrently, allFulfilled } from "../core/concurrency.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { type StoredDomain, domainKey, noSuchDomain, notReady as domainNotReady } from "../domains/domain.ts";
import { scopesOfDomain, domainByRef, domainsByIds } from "../domains/find.ts";
import type { Context } from "../http/route.ts";
import type { Write } from "../table/writes.ts";
import { type DedicatedIpWithDomains, type StoredIp, isAssignable, notReady } from "./dedicated-ip.ts";
import type { StoredOperation } from "./operation.ts";

export type Kind = StoredOperation["kind"];

/** The domains that a request names: the index of each domain in the request, by the id of the domain. */
export type DomainIndexes = ReadonlyMap<string, number>;

const concurrency = 10;

const unknownDomains = (indexes: readonly number[]): InvalidInput =>
  new InvalidInput(indexes.map((index) => ({ loc: ["body", "domains", index], msg: noSuchDomain, type: "not_found" })));

type Viewer = Pick<Context, "table" | "permissions">;

/** The domains with these names or ids, in this order. Undefined for a domain that does not exist. */
async function domainsNamed(accountId: string, refs: readonly string[], { table }: Viewer) {
  const results = await mapConcurrently(refs, concurrency, (ref) => domainByRef(table, accountId, ref));
  return allFulfilled(results);
}

const mayAssign = ({ permissions }: Viewer, domain: StoredDomain): boolean =>
  covers(permissions, "ip.assign", scopesOfDomain(domain));

/**
 * Finds the domains with these names or ids. Throws 422, with an error for each domain that does not exist or that the
 * caller may not assign.
 */
export async function readDomainIndexes(
  accountId: string,
  refs: readonly string[],
  viewer: Viewer,
): Promise<DomainIndexes> {
  const domains = (await domainsNamed(accountId, refs, viewer)).map((domain) =>
    domain && mayAssign(viewer, domain) ? domain : undefined,
  );
  const unknown = domains.flatMap((domain, index) => (domain ? [] : [index]));
  if (unknown.length > 0) throw unknownDomains(unknown);
  const indexes = new Map<string, number>();
  for (const [index, domain] of domains.entries()) {
    if (domain && !indexes.has(domain.id)) indexes.set(domain.id, index);
  }
  return indexes;
}

/**
 * Requires that the caller may get the stored answer to an earlier request, which named the domains `refs`. Throws the
 * 422 of `readDomainIndexes`, but not for a domain that does not exist. Throws 403 `forbidden` if the caller may not
 * see a domain of the answer.
 */
export async function requireRepeatable(
  accountId: string,
  refs: readonly string[],
  answer: Pick<DedicatedIpWithDomains, "domains">,
  viewer: Viewer,
): Promise<void> {
  await requireAssignable(accountId, refs, viewer);
  const shown = await domainsByIds(
    viewer.table,
    accountId,
    answer.domains.map(({ id }) => id),
  );
  if (shown.every((domain) => covers(viewer.permissions, "domain.view", scopesOfDomain(domain)))) return;
  throw new Problem("forbidden", "This call needs the capability domain.view on all domains of the stored answer.", {
    required_capability: "domain.view",
  });
}

async function requireAssignable(accountId: string, refs: readonly string[], viewer: Viewer): Promise<void> {
  if (covers(viewer.permissions, "ip.assign", [])) return;
  const domains = await domainsNamed(accountId, refs, viewer);
  const lost = domains.flatMap((domain, index) => (domain && !mayAssign(viewer, domain) ? [index] : []));
  if (lost.length > 0) throw unknownDomains(lost);
}

/**
 * Returns the domains that have to move. When domains are assigned, these are the domains that do not send from the
 * dedicated IP yet. When domains are unassigned, these are the domains that send from the dedicated IP. Throws:
 * - 422 if a domain of `indexes` does not exist any more.
 *
 * When domains are assigned, also throws:
 * - 409 `ip_not_ready` if the status of the dedicated IP allows no domains;
 * - 409 `domain_not_ready` if a domain that has to move is `releasing`, such as a deleted domain, or if its
 *   registration or transfer failed;
 * - 409 `domain_has_ip` if a domain sends from another dedicated IP.
 */
export function requireReassignable(
  ip: StoredIp,
  kind: Kind,
  indexes: DomainIndexes,
  domains: readonly StoredDomain[],
): StoredDomain[] {
  const existing = new Set(domains.map(({ id }) => id));
  const missing = [...indexes].flatMap(([id, index]) => (existing.has(id) ? [] : [index]));
  if (missing.length > 0) throw unknownDomains(missing.toSorted((a, b) => a - b));
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

/**
 * The writes that move domains. They fail if a domain has changed since it was read. A transaction has room for 100
 * domains.
 */
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
 * Whether the domains of an operation have moved. One transaction moves all of them, and no other request moves domains
 * of the dedicated IP while the operation runs. So one moved domain shows that the transaction was committed.
 */
export const hasMoved = (
  { kind, dedicated_ip_id: ipId }: StoredOperation,
  domains: readonly Pick<StoredDomain, "dedicated_ip_id">[],
): boolean => domains.some(({ dedicated_ip_id }) => (dedicated_ip_id === ipId) === (kind === "assign"));
