import { isIPv4, isIPv6 } from "node:net";

import ipaddr from "ipaddr.js";

import { shown, type Reading } from "../../core/reading.ts";

const fourNumbers = "write four numbers from 0 to 255, such as 192.0.2.1";
const hexGroup = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);

/** The same address without dots; with them, the parser takes `::1.2.3.4` for `::ffff:1.2.3.4`. */
const withoutDots = (address: string): string =>
  address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [hexGroup(a, b), hexGroup(c, d)].join(":"),
  );

const eightGroups = "write it such as 2001:db8::1";

/** The address of an A record (RFC 1035 §3.4.1): a dotted quad, of any network, private ones too. */
export function readIpv4(value: string): Reading {
  const text = value.trim();
  if (isIPv4(text)) return { value: text };
  if (isIPv6(text)) return { fault: "This is an IPv6 address: use an AAAA record" };
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(text) && /(?:^|\.)0\d/.test(text)) {
    return { fault: `${shown(text)} has a number with a leading zero: ${fourNumbers}` };
  }
  if (/^[^/\s]+\/\d+$/.test(text)) return { fault: `${shown(text)} is a network: write one address` };
  if (/^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+\.?$/i.test(text)) {
    return { fault: `${shown(text)} is a name: use a CNAME record, or write its address` };
  }
  return { fault: `${shown(text)} is not an IPv4 address: ${fourNumbers}` };
}

/** The address of an AAAA record (RFC 3596), of any network, in the canonical form of RFC 5952. */
export function readIpv6(value: string): Reading {
  const text = value.trim();
  if (isIPv4(text)) return { fault: "This is an IPv4 address: use an A record" };
  if (text.includes("%")) return { fault: `${shown(text)} has a zone (after %), which means nothing to other hosts` };
  if (/^[^/\s]+\/\d+$/.test(text)) return { fault: `${shown(text)} is a network: write one address` };
  if (!isIPv6(text)) return { fault: `${shown(text)} is not an IPv6 address: ${eightGroups}` };
  const address = ipaddr.IPv6.parse(withoutDots(text));
  if (!address.isIPv4MappedAddress()) return { value: address.toRFC5952String() };
  return {
    fault: `${shown(text)} is an IPv4 address inside an IPv6 one: use an A record with ${address.toIPv4Address().toString()}`,
  };
}
