import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import type { DnsAnswer, Resolver } from "./answer.ts";

/**
 * The name that the PTR records give an address, and whether this name leads back to the address (FCrDNS, RFC 8601 §3).
 * With `unknown`, the check could not be completed, so the address may or may not be confirmed. `message` explains the
 * result to the user. If the address is not confirmed, `message` also says what to do.
 */
export type ReverseState =
  | { status: "confirmed"; rdns: string; message: string }
  | { status: "unconfirmed"; rdns: string | null; message: string }
  | { status: "unknown"; rdns: string | null; message: string };

/** How many names of an address are checked at most. The owner of an address can publish any number of names. */
const maxNames = 3;

type ParsedIp = ipaddr.IPv4 | ipaddr.IPv6;

function parseIp(ip: string): ParsedIp {
  if (isIP(ip) === 0 || ip.includes("%")) throw new Error("This is not an IP address.");
  return ipaddr.process(ip);
}

const isIpv6 = (address: ParsedIp): address is ipaddr.IPv6 => address.kind() === "ipv6";

const canonicalIp = (address: ParsedIp): string => (isIpv6(address) ? address.toRFC5952String() : address.toString());

/**
 * The canonical spelling of an address: dotted decimals for IPv4, RFC 5952 for IPv6. A mapped IPv4 address becomes an
 * IPv4 address. Throws for a text that is no address.
 */
export const canonicalAddress = (ip: string): string => canonicalIp(parseIp(ip));

/**
 * The name for the PTR records of an address: octets in `in-addr.arpa` (RFC 1035 §3.5), nibbles in `ip6.arpa` (RFC 3596
 * §2.5). Throws for a text that is no address.
 */
export function reverseName(ip: string): string {
  const address = parseIp(ip);
  const bytes = address.toByteArray();
  if (!isIpv6(address)) return `${bytes.toReversed().join(".")}.in-addr.arpa`;
  const nibbles = bytes.flatMap((byte) => [byte >> 4, byte & 0xf]);
  const digits = nibbles.map((nibble) => nibble.toString(16));
  return `${digits.toReversed().join(".")}.ip6.arpa`;
}

const unknownBecause = (reason: string): string => `The check could not be completed: ${reason}. Try again later.`;

const joinNames = (names: readonly string[]): string =>
  new Intl.ListFormat("en", { type: "conjunction" }).format(names);

/** Names of letters, digits, hyphens and underscores. Other contents of a PTR record are never shown. */
const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** The names in a PTR answer, in alphabetical order, without the root. */
const namesIn = (answer: DnsAnswer): string[] =>
  answer.status === "found"
    ? [...new Set(answer.records.flatMap((one) => (one.type === "PTR" && one.host ? [one.host] : [])))].toSorted()
    : [];

const leadsTo = (answer: DnsAnswer, ip: string): boolean =>
  answer.status === "found" && answer.records.some((one) => "address" in one && canonicalAddress(one.address) === ip);

/** The address with this reverse name; undefined for any other name. */
export function addressAt(name: string): string | undefined {
  const octets = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name)?.[1];
  const nibbles = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1];
  const parts = (octets ?? nibbles ?? "").split(".").slice(0, -1).toReversed();
  const ip = octets === undefined ? parts.join("").replaceAll(/.{4}(?=.)/g, "$&:") : parts.join(".");
  return isIP(ip) === 0 ? undefined : canonicalAddress(ip);
}

/**
 * Finds the name of an address and checks whether the name has an A or AAAA record with the address, compared by value.
 * - If the address has more than three names, only the alphabetically first three are checked.
 * - Of several confirmed names, the alphabetically first is used.
 * - The names are looked up first, and then the addresses of all checked names at the same time.
 * - Throws if the text is not an address, but never because of a DNS answer.
 */
export async function forwardConfirmed(resolver: Pick<Resolver, "resolve">, ip: string): Promise<ReverseState> {
  const address = parseIp(ip);
  const [spelling, type] = [canonicalIp(address), isIpv6(address) ? ("AAAA" as const) : ("A" as const)];
  const pointers = await resolver.resolve(reverseName(ip), "PTR");
  if (pointers.status === "unknown") {
    return { status: "unknown", rdns: null, message: unknownBecause(pointers.reason) };
  }
  const found = namesIn(pointers);
  const all = found.filter((name) => hostName.test(name));
  const [first] = all;
  if (first === undefined) {
    const lack = found.length > 0 ? "has a name that is not a host name" : "has no name";
    const message = `${spelling} ${lack}. Ask its provider to set its PTR record to the host's name.`;
    return { status: "unconfirmed", rdns: null, message };
  }
  const names = all.slice(0, maxNames);
  const answers = await Promise.all(names.map((name) => resolver.resolve(name, type)));
  const confirmed = names.find((_, index) => answers[index] && leadsTo(answers[index], spelling));
  if (confirmed !== undefined) {
    return {
      status: "confirmed",
      rdns: confirmed,
      message: `The reverse DNS of ${spelling} is ${confirmed}, which leads back to it.`,
    };
  }
  const unanswered = answers.find((answer) => answer.status === "unknown");
  if (unanswered) return { status: "unknown", rdns: first, message: unknownBecause(unanswered.reason) };
  return { status: "unconfirmed", rdns: first, message: unconfirmedMessage({ spelling, type, all, names }) };
}

type Unconfirmed = { spelling: string; type: "A" | "AAAA"; all: readonly string[]; names: readonly string[] };

function unconfirmedMessage({ spelling, type, all, names }: Unconfirmed): string {
  if (all.length > names.length) {
    return `${spelling} has ${all.length} names. ${names.length} of them were checked, and none leads back to it. Keep one PTR record.`;
  }
  const record = `${type} record with ${spelling}`;
  const named = joinNames(names);
  if (names.length === 1) return `The PTR record names ${named}, but this name has no ${record}. Add this record.`;
  return `The PTR records name ${named}, but these names have no ${record}. Add this record to one of them.`;
}
