import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import { covers } from "../auth/permissions.ts";
import { invalidAt, notFound, Problem } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import type { StoredDomain } from "../domains/domain.ts";
import { domainsByIds, scopesOfDomain } from "../domains/find.ts";
import { visibleDomains } from "../domains/list.ts";
import type { Context, ResourceLookup } from "../http/route.ts";
import type { Reader } from "../table/table.ts";
import { ipById, ipDomainKey, type StoredIp, ipKey } from "./dedicated-ip.ts";

export const IpParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  dedicated_ip_id: Id.meta({ description: "The dedicated IP's id." }),
});
type IpParams = z.output<typeof IpParams>;

/** Finds the dedicated IP in a request's path, for routes that need a capability on the whole account. */
export const ipInPath: ResourceLookup<{ params: IpParams }, StoredIp> = {
  at: "path",
  within: [],
  find: async ({ params: { account_id, dedicated_ip_id } }, table) => {
    const ip = await ipById(table, account_id, dedicated_ip_id);
    if (ip) table.seen?.note({ ...ipKey(account_id, ip.id), ...ip });
    return ip && { id: ip.id, scopes: [], thing: ip, label: ip.name };
  },
};

/**
 * How many domains are read at most for a principal who has grants on only some domains. One call reads all of these
 * domains.
 */
const domainLimit = 20_000;

type ReadContext = Pick<Context, "table" | "permissions">;

/** Reads the dedicated IP of a request's path. Throws 404 if there is none. Requires no permission. */
export async function ipNamed({ account_id, dedicated_ip_id }: IpParams, { table }: ReadContext): Promise<StoredIp> {
  const ip = await ipById(table, account_id, dedicated_ip_id);
  if (!ip) throw notFound();
  return ip;
}

/** The domains on which the principal holds a capability. Throws 422 for more than 20,000 domains. */
export async function domainsWithCapability(
  accountId: string,
  capability: Capability,
  context: ReadContext,
): Promise<StoredDomain[]> {
  const domains = await visibleDomains(accountId, { capability, limit: domainLimit }, context);
  if (domains) return domains;
  throw invalidAt(
    ["path", "account_id"],
    `You can see more than ${domainLimit.toLocaleString("en-US")} of the account's domains, but not all. This call needs the capability ${capability} on the account`,
    "too_broad",
  );
}

/**
 * Reads a dedicated IP. Undefined unless the principal holds one of `capabilities` on the account, or on a domain that
 * sends from the dedicated IP. Throws the 422 of `domainsWithCapability`.
 */
export async function findVisibleIp(
  { account_id, dedicated_ip_id }: IpParams,
  capabilities: readonly Capability[],
  context: ReadContext,
): Promise<StoredIp | undefined> {
  const ip = await ipById(context.table, account_id, dedicated_ip_id);
  if (!ip) return undefined;
  for (const capability of capabilities) {
    if (covers(context.permissions, capability, [])) return ip;
    const domains = await domainsWithCapability(account_id, capability, context);
    if (domains.some((domain) => domain.dedicated_ip_id === ip.id)) return ip;
  }
  return undefined;
}

/** Reads a dedicated IP as `findVisibleIp` does. Throws 404 if there is none, or if the principal may not see it. */
export async function visibleIp(...search: Parameters<typeof findVisibleIp>): Promise<StoredIp> {
  const ip = await findVisibleIp(...search);
  if (!ip) throw notFound();
  return ip;
}

/**
 * Reads a dedicated IP to which the principal may assign domains: the principal holds `ip.assign` on the account, or on
 * a domain that sends from the dedicated IP. Throws 404 if the principal may not see the dedicated IP. Throws 403
 * `forbidden` if the principal may see it, but may not assign domains to it. Throws the 422 of `domainsWithCapability`.
 */
export async function ipToMove(params: IpParams, context: ReadContext): Promise<StoredIp> {
  const ip = await findVisibleIp(params, ["ip.assign"], context);
  if (ip) return ip;
  await visibleIp(params, ["ip.view"], context);
  throw new Problem(
    "forbidden",
    "This call needs the capability ip.assign on the account, or on a domain that sends from the dedicated IP.",
    { required_capability: "ip.assign" },
  );
}

const DomainEntry = z.object({ domain_id: z.string() });

/** The ids of the first `limit` domains that send from a dedicated IP. */
export async function domainIdsOf(
  table: Reader,
  { account_id, id }: Pick<StoredIp, "account_id" | "id">,
  limit: number,
): Promise<string[]> {
  const { PK, SK } = ipDomainKey(account_id, id);
  const rows = await table.between(PK, SK, `${SK}~`, { limit });
  return rows.map((row) => DomainEntry.parse(row).domain_id);
}

/** The domains with these ids that the principal may see. */
export async function visibleDomainsByIds(
  accountId: string,
  ids: readonly string[],
  { table, permissions }: ReadContext,
): Promise<StoredDomain[]> {
  const domains = await domainsByIds(table, accountId, ids);
  return domains.filter((domain) => covers(permissions, "domain.view", scopesOfDomain(domain)));
}
