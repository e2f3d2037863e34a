import type * as z from "zod";

import { covers } from "../auth/permissions.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import type { Context } from "../http/route.ts";
import { readRows } from "../table/ranked-list.ts";
import { accountLimit, ipKey, ipsOf, IpStatus, IpType, StoredIp, type DedicatedIp } from "./dedicated-ip.ts";
import { domainsWithCapability } from "./find.ts";
import { ipViewFor } from "./view.ts";

/** The filters of a list of dedicated IPs. A dedicated IP has to match all filters that the query has. */
export const ipQuery = {
  type: IpType.optional().meta({ description: "Only dedicated IPs of this type." }),
  status: IpStatus.optional().meta({ description: "Only dedicated IPs with this status." }),
};
type IpQuery = PageQuery & z.output<z.ZodObject<typeof ipQuery>>;

/**
 * A page of the dedicated IPs that the principal may see, oldest first. A principal with permissions on only some
 * domains sees the dedicated IPs from which these domains send.
 */
export async function listIps(
  accountId: string,
  { type, status, ...page }: IpQuery,
  context: Context,
): Promise<{ items: DedicatedIp[]; total: number }> {
  const { skip, take } = spanOf(page);
  const all = covers(context.permissions, "ip.view", [])
    ? await allIps(accountId, context)
    : await ipsOfDomains(accountId, context);
  const matching = all.filter(
    (ip) => (type === undefined || ip.type === type) && (status === undefined || ip.status === status),
  );
  return { items: matching.slice(skip, skip + take).map((ip) => ipViewFor(ip, context)), total: matching.length };
}

/** All dedicated IPs of an account, at most 100. */
export async function allIps(accountId: string, { table }: Pick<Context, "table">): Promise<StoredIp[]> {
  const { rows } = await readRows(table, ipsOf(accountId), { skip: 0, take: accountLimit });
  return rows.map((row) => StoredIp.parse(row));
}

async function ipsOfDomains(accountId: string, context: Context): Promise<StoredIp[]> {
  const domains = await domainsWithCapability(accountId, "ip.view", context);
  const ids = [...new Set(domains.flatMap(({ dedicated_ip_id }) => dedicated_ip_id ?? []))].toSorted();
  const rows = await context.table.getMany(ids.map((id) => ipKey(accountId, id)));
  return rows.flatMap((row, index) => {
    const ip = row && StoredIp.parse(row);
    return ip && ip.id === ids[index] ? [ip] : [];
  });
}
