import { readEndpoint, type Endpoint } from "../core/endpoint.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Secrets } from "../providers/secrets/secrets.ts";
import type { Reader } from "../table/table.ts";
import { ipById, ipKey, StoredIp } from "./dedicated-ip.ts";

/** The port at which a customer's own host takes the mail to send (RFC 6409). */
const submissionPort = 587;

/**
 * The way that a domain's mail leaves: from the shared addresses, from a managed dedicated IP, or from the customer's
 * own host. `relay` is the server that sends the mail from the dedicated IP or the host.
 */
type SendingRoute = { kind: "shared" } | { kind: "dedicated" | "own_host"; ip: StoredIp; relay: Endpoint };

/** The way that a domain's mail leaves. Only an active dedicated IP sends. */
export async function sendingRoute(
  table: Reader,
  { account_id, dedicated_ip_id }: Pick<StoredDomain, "account_id" | "dedicated_ip_id">,
): Promise<SendingRoute> {
  const ip = dedicated_ip_id === null ? undefined : await ipById(table, account_id, dedicated_ip_id);
  const relay = ip?.status === "active" ? relayIn(ip) : undefined;
  if (!ip || !relay) return { kind: "shared" };
  return { kind: ip.type === "managed" ? "dedicated" : "own_host", ip, relay };
}

function relayIn({ relay, addresses: [first] }: StoredIp): Endpoint | undefined {
  if (relay !== undefined) return readEndpoint(relay);
  return first && { address: first.ip, port: submissionPort };
}

/**
 * The server to which users of a domain connect to send mail: the relay of the domain's active managed dedicated IP.
 * Undefined for other domains, because their users connect to our own servers. If the domain sends from a customer's
 * own host, our servers sign the mail and pass it on to the host.
 */
export async function relayOf(
  table: Reader,
  domain: Pick<StoredDomain, "account_id" | "dedicated_ip_id">,
): Promise<Endpoint | undefined> {
  const route = await sendingRoute(table, domain);
  return route.kind === "dedicated" ? route.relay : undefined;
}

/** How our mail servers recognize a customer's own host, and how the host recognizes them. */
export type HostAccess = {
  /**
   * The name with which the host proved its first address. If no name is stored, the present reverse name of the
   * address. The certificate of the host must have this name.
   */
  relay_name?: string;
  /**
   * The login of our mail servers at the host. Undefined without `secrets`, and if an earlier version authorized the
   * host without a login.
   */
  relay_login?: { user: string; password: string };
};

/**
 * Seals the password with which our mail servers log in at a host, for storage with the host. Throws 503 if the secrets
 * service does not answer.
 */
export const sealRelayPassword = (
  { account_id, id }: Pick<StoredIp, "account_id" | "id">,
  password: string,
  secrets: Secrets,
): Promise<string> => secrets.seal(password, { account_id, relay_of: id });

/**
 * How to connect to a customer's own host. Without `secrets` the login is left out. Throws 503 if the secrets service
 * does not answer.
 */
export async function hostAccess(ip: StoredIp, secrets: Pick<Secrets, "open"> | undefined): Promise<HostAccess> {
  const { id: user, account_id, sealed_relay_password: sealed, addresses } = ip;
  const [first] = addresses;
  const name = first?.proved_name ?? first?.rdns;
  return {
    ...(name ? { relay_name: name } : {}),
    ...(sealed === undefined || !secrets
      ? {}
      : { relay_login: { user, password: await secrets.open(sealed, { account_id, relay_of: user }) } }),
  };
}

/** The active dedicated IPs from which domains send, by the ids of the domains. */
export async function sendingIpIds(table: Reader, domains: readonly StoredDomain[]): Promise<Map<string, string>> {
  const assigned = domains.flatMap(({ id, account_id, dedicated_ip_id }) =>
    dedicated_ip_id === null ? [] : [{ id, ipId: dedicated_ip_id, key: ipKey(account_id, dedicated_ip_id) }],
  );
  const rows = await table.getMany(assigned.map(({ key }) => key));
  return new Map(
    assigned.flatMap(({ id, ipId }, index) => {
      const ip = rows[index] ? StoredIp.parse(rows[index]) : undefined;
      return ip?.id === ipId && ip.status === "active" ? [[id, ipId] as const] : [];
    }),
  );
}
