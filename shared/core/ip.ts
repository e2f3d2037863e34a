import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

/** The only part of IPv6 that IANA has given out as global unicast (RFC 4291, section 2.4). */
const globalUnicast = "2000::/3";

/**
 * Whether a text is the IP address of a host on the public internet, in its usual spelling and without a zone.
 * - It must be unicast and in no block of IANA's special-purpose registries (RFC 6890), not even in a globally
 *   reachable one.
 * - IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) are never accepted.
 */
export function isPublicUnicast(ip: string): boolean {
  if (isIP(ip) === 4) return ipaddr.IPv4.parse(ip).range() === "unicast";
  if (isIP(ip) !== 6 || ip.includes("%")) return false;
  const address = ipaddr.IPv6.parse(ip);
  return address.match(ipaddr.IPv6.parseCIDR(globalUnicast)) && address.range() === "unicast";
}

const hexGroup = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);

/**
 * Parses an IPv6 address for which `isIPv6` holds and which has no zone. A dotted end is rewritten in hexadecimal,
 * because the parser takes `::1.2.3.4` for `::ffff:1.2.3.4`.
 */
export const parseIpv6 = (address: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse(
    address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
      [hexGroup(a, b), hexGroup(c, d)].join(":"),
    ),
  );

/**
 * The network that identifies a caller: an IPv4 address, or the /64 of an IPv6 address, because one customer has at
 * least a /64. All spellings of an address give the same network. A text that is no address gives `unknown`.
 */
export function clientNetwork(ip: string): string {
  if (!ipaddr.isValid(ip)) return "unknown";
  const address = ipaddr.process(ip);
  if (address.kind() === "ipv4") return address.toNormalizedString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
