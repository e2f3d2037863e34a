import ipaddr from "ipaddr.js";

/**
 * The network that somebody is told apart by: an IPv4 address, or the /64 that one customer has of IPv6, whatever its
 * spelling. What is no address is of one network that is nobody's.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return "unknown";
  const address = ipaddr.process(ip);
  if (address.kind() === "ipv4") return address.toNormalizedString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
