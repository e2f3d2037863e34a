import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";

import { isPublicUnicast } from "../core/ip.ts";

export type Address = { address: string; family: number };

/** All addresses of a name, as `dns.lookup` gives them. */
export type Lookup = (host: string) => Promise<Address[]>;

type Policy = {
  /** For development: also allows this machine's own addresses, and plain HTTP to them. */
  allowLoopback: boolean;
};

const longestUrl = 2_048;

const isLoopback = (ip: string): boolean => ip === "::1" || (isIP(ip) === 4 && ip.startsWith("127."));

const isAllowed = (ip: string, { allowLoopback }: Policy): boolean =>
  isPublicUnicast(ip) || (allowLoopback && isLoopback(ip));

/** The host of a parsed URL. An IPv6 address has no brackets. */
export const urlHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

function hostFault(host: string, policy: Policy): string | undefined {
  if (isIP(host)) return isAllowed(host, policy) ? undefined : "The address is not on the public internet";
  if (host.endsWith(".")) return "The host must not end with a dot";
  if (host.includes(".") || (policy.allowLoopback && host === "localhost")) return undefined;
  return "The host must be a full domain name or a public address";
}

/**
 * Explains why the URL of a webhook is not allowed, in one sentence without its period; undefined if the URL is
 * allowed.
 * - The URL has to be an absolute https URL of at most 2,048 characters, without credentials or a fragment.
 * - A host that is an address, in any spelling, has to be public.
 * - Any other host has to be a full domain name, and must not end with a dot. Its addresses are checked by
 *   `resolvePublic`.
 * - With `allowLoopback`, this machine is also allowed, and plain HTTP to this machine.
 */
export function urlFault(url: string, policy: Policy): string | undefined {
  if (url.length > longestUrl) return `The URL is longer than ${longestUrl} characters`;
  if (/[\s\p{Cc}]/u.test(url) || !URL.canParse(url)) return "This is not a URL";
  const parsed = new URL(url);
  const host = urlHost(parsed);
  const mayBePlain = policy.allowLoopback && (host === "localhost" || isLoopback(host));
  if (parsed.protocol !== "https:" && !(mayBePlain && parsed.protocol === "http:")) return "The URL must be https";
  if (parsed.username !== "" || parsed.password !== "") return "The URL must not have credentials";
  if (url.includes("#")) return "The URL must not have a fragment";
  return hostFault(host, policy);
}

/** Thrown for a host with an address that is not allowed (`blocked_address`), or without an address (`dns_failed`). */
export class AddressRefused extends Error {
  readonly reason: "blocked_address" | "dns_failed";

  constructor(reason: "blocked_address" | "dns_failed", cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

async function addressesOf(host: string, lookup: Lookup): Promise<Address[]> {
  const family = isIP(host);
  if (family) return [{ address: host, family }];
  try {
    return await lookup(host);
  } catch (error) {
    throw new AddressRefused("dns_failed", error);
  }
}

/**
 * Resolves a host (a name, or an address without brackets) to the address to connect to. Prefers IPv4. Resolves once
 * only, so that a second DNS answer cannot lead the connection elsewhere. Throws AddressRefused if one of the host's
 * addresses is not allowed, or if the host has no address.
 */
export async function resolvePublic(
  host: string,
  { lookup = (name) => lookupName(name, { all: true }), ...policy }: Policy & { lookup?: Lookup | undefined },
): Promise<Address> {
  const addresses = await addressesOf(host, lookup);
  if (!addresses.every(({ address }) => isAllowed(address, policy))) throw new AddressRefused("blocked_address");
  const chosen = addresses.find(({ family }) => family === 4) ?? addresses[0];
  if (!chosen) throw new AddressRefused("dns_failed");
  return chosen;
}
