import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

/** The only block of IPv6 from which IANA assigns global unicast addresses (RFC 4291, section 2.4). */
const globalUnicast = "2000::/3";

/**
 * Whether a text is the IP address of a host on the public internet. The address must be valid for `isIP` of Node, and
 * must not have a zone.
 * - The address must be unicast. It must not be in a block of IANA's special-purpose registries (RFC 6890), even if the
 *   block is globally reachable.
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
 * Parses an IPv6 address without a zone. The address must be valid (`isIPv6`). A dotted end is first written in
 * hexadecimal, because the parser reads `::1.2.3.4` as `::ffff:1.2.3.4`.
 */
export const parseIpv6 = (address: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse(
    address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
      [hexGroup(a, b), hexGroup(c, d)].join(":"),
    ),
  );

/**
 * The network of a caller: an IPv4 address, or the /64 of an IPv6 address, because one customer has at least a /64. All
 * spellings of an address give the same network. Any other text gives `unknown`.
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
