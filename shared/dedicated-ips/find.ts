import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import { covers } from "../auth/permissions.ts";
import { InvalidInput, notFound } from "../core/errors.ts";
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

/** The dedicated IP in a request's path, for routes that need a capability on the whole account. */
export const ipInPath: ResourceLookup<{ params: IpParams }, StoredIp> = {
  at: "path",
  within: [],
  find: async ({ params: { account_id, dedicated_ip_id } }, table) => {
    const ip = await ipById(table, account_id, dedicated_ip_id);
    if (ip) table.seen?.note({ ...ipKey(account_id, ip.id), ...ip });
    return ip && { id: ip.id, scopes: [], thing: ip, label: ip.name };
  },
};

/** The most domains that a search reads. The limit is for principals who see some domains only. */
const domainLimit = 20_000;

type Reading = Pick<Context, "table" | "permissions">;

/** The domains on which the principal holds a capability. Throws 422 when there are too many to search. */
export async function domainsSeen(
  accountId: string,
  capability: Capability,
  context: Reading,
): Promise<StoredDomain[]> {
  const domains = await visibleDomains(accountId, { capability, limit: domainLimit }, context);
  if (domains) return domains;
  throw new InvalidInput([
    {
      loc: ["path", "account_id"],
      msg: `You can see more than ${domainLimit.toLocaleString("en-US")} of the account's domains, but not all. This needs the capability ${capability} on the account`,
      type: "too_broad",
    },
  ]);
}

/**
 * A dedicated IP that the principal may see, by one of these capabilities on the account or on a domain that sends from
 * it. Throws 404.
 */
export async function seenIp(
  { account_id, dedicated_ip_id }: IpParams,
  capabilities: readonly Capability[],
  context: Reading,
): Promise<StoredIp> {
  const ip = await ipById(context.table, account_id, dedicated_ip_id);
  if (!ip) throw notFound();
  for (const capability of capabilities) {
    if (covers(context.permissions, capability, [])) return ip;
    const domains = await domainsSeen(account_id, capability, context);
    if (domains.some((domain) => domain.dedicated_ip_id === ip.id)) return ip;
  }
  throw notFound();
}

const Reference = z.object({ domain_id: z.string() });

/** The ids of the first few domains that send from a dedicated IP. */
export async function domainIdsOf(
  table: Reader,
  { account_id, id }: Pick<StoredIp, "account_id" | "id">,
  limit: number,
): Promise<string[]> {
  const { PK, SK } = ipDomainKey(account_id, id);
  const rows = await table.between(PK, SK, `${SK}~`, { limit });
  return rows.map((row) => Reference.parse(row).domain_id);
}

/** The domains with these ids that the principal may see. */
export async function domainsShown(
  accountId: string,
  ids: readonly string[],
  { table, permissions }: Reading,
): Promise<StoredDomain[]> {
  const domains = await domainsByIds(table, accountId, ids);
  return domains.filter((domain) => covers(permissions, "domain.view", scopesOfDomain(domain)));
}
