import { readEndpoint, type Endpoint } from "../core/endpoint.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Reader } from "../table/table.ts";
import { ipById } from "./dedicated-ip.ts";

/** The port at which a customer's own host takes the mail to send (RFC 6409). */
const submissionPort = 587;

/** The server that sends a domain's mail from its dedicated IP; undefined if it has no active dedicated IP. */
export async function relayOf(
  table: Reader,
  { account_id, dedicated_ip_id }: Pick<StoredDomain, "account_id" | "dedicated_ip_id">,
): Promise<Endpoint | undefined> {
  if (dedicated_ip_id === null) return undefined;
  const ip = await ipById(table, account_id, dedicated_ip_id);
  if (ip?.status !== "active") return undefined;
  if (ip.relay !== undefined) return readEndpoint(ip.relay);
  const [first] = ip.addresses;
  return first && { address: first.ip, port: submissionPort };
}
