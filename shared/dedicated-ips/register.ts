import { isIP } from "node:net";

import * as z from "zod";

import { change } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { idWithOrdinal } from "../core/ids.ts";
import { isPublicUnicast } from "../core/ip.ts";
import { canonicalAddress } from "../dns/reverse.ts";
import type { Context } from "../http/route.ts";
import { appendRows, readList, aheadOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { ipLimitReached } from "./claim.ts";
import { accountLimit, ipKind, ipsOf, type DedicatedIp, type StoredIp } from "./dedicated-ip.ts";
import { addressTaken, isStock, readHolders, holderKey } from "./holder.ts";
import { allIps } from "./list.ts";
import { ipView } from "./view.ts";

/** How many addresses a host can have. The SPF record of each domain of the host lists all of these addresses. */
const addressLimit = 16;

/** An address of a host on the public internet, in its canonical spelling (RFC 5952 for IPv6). */
const PublicAddress = z
  .string()
  .trim()
  .max(60)
  .superRefine((text, context) => {
    const message = faultOf(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((text) => (isPublicUnicast(text) ? canonicalAddress(text) : text));

function faultOf(text: string): string | undefined {
  if (isPublicUnicast(text)) return undefined;
  if (isIP(text) === 0 || text.includes("%"))
    return "Write one IPv4 or IPv6 address, such as 8.8.8.8, without a zone, port or prefix length";
  return "This is not the address of a host on the public internet";
}

/** The schema of the addresses of a customer's own host. It refuses duplicates. */
export const HostAddresses = z
  .array(PublicAddress)
  .min(1)
  .max(addressLimit)
  .superRefine((ips, context) => {
    ips.forEach((ip, index) => {
      if (ips.indexOf(ip) < index) {
        context.addIssue({ code: "custom", path: [index], message: "This address is in the list twice" });
      }
    });
  })
  .meta({
    description: `The host's addresses, 1 to ${addressLimit}, IPv4 and IPv6, on the public internet. Our servers hand mail over to the host at port 587 of the first address.`,
    examples: [["8.8.8.8", "2606:4700::1111"]],
  });

type NewHost = { name: string; ips: readonly string[] };

/** The items that `addHost` reads. */
export function aheadOfHost(accountId: string, ips: readonly string[]): Ahead {
  const { keys = [], ...rows } = aheadOfRows(ipsOf(accountId), { skip: 0, take: accountLimit });
  return { ...rows, keys: [...keys, ...keys, ...ips.map(holderKey)] };
}

/**
 * Registers a customer's own host, which must then prove its addresses (`authorizeIp`). Throws:
 * - 409 `ip_taken` if one of the addresses is not free (`requireFree`);
 * - 409 `limit_reached` if the account has 100 dedicated IPs already.
 */
export function addHost(
  accountId: string,
  { name, ips }: NewHost,
  { table, commit, now }: Context,
): Promise<DedicatedIp> {
  return commit(async () => {
    // The head of the list is read before `requireFree`. If another dedicated IP is added meanwhile, the head changes,
    // and the transaction fails.
    const { state } = await readList(table, ipsOf(accountId));
    if (state.live >= accountLimit) throw ipLimitReached();
    await requireFree(table, accountId, ips);
    const at = now().toISOString();
    const ip: StoredIp = {
      id: idWithOrdinal(state.next),
      account_id: accountId,
      name,
      type: "byoh",
      status: "pending_authorization",
      status_reason: null,
      asn: null,
      country_code: null,
      addresses: ips.map((address) => ({
        ip: address,
        rdns: null,
        fcrdns_confirmed: false,
        healthy: false,
        message: "The address was not checked yet. Authorize the host.",
      })),
      domain_count: 0,
      created_at: at,
      updated_at: at,
      due_at: null,
      failures: 0,
      version: 1,
    };
    return {
      value: ipView(ip),
      writes: appendRows(state, [ip]),
      changes: [change(ipKind, "created", ip.id, { after: ipView(ip) })],
    };
  });
}

/**
 * Throws 409 `ip_taken` for an address that the account has already, or that is in the operator's stock. An address
 * that a host of another account has proved is allowed, because the address may have a new owner.
 */
async function requireFree(table: Reader, accountId: string, ips: readonly string[]): Promise<void> {
  for (const { id, name, addresses } of await allIps(accountId, { table })) {
    const duplicate = addresses.find(({ ip }) => ips.includes(ip));
    if (!duplicate) continue;
    throw new Problem("ip_taken", `${duplicate.ip} is already an address of ${name}.`, {
      ip: duplicate.ip,
      conflicts_with: id,
    });
  }
  const holders = await readHolders(table, ips);
  const taken = ips.find((_, index) => {
    const holder = holders[index];
    return holder !== undefined && isStock(holder);
  });
  if (taken !== undefined) throw addressTaken(taken);
}
