import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import type { Answer, Resolver } from "./answer.ts";

/**
 * The name of an address by its PTR records, and whether one of these names leads back to the address (FCrDNS, RFC 8601
 * §3). `unknown`: it could not be found out, and nothing follows from that. `message` is a sentence for people with
 * advice.
 */
export type ReverseState =
  | { status: "confirmed"; rdns: string; message: string }
  | { status: "unconfirmed"; rdns: string | null; message: string }
  | { status: "unknown"; rdns: string | null; message: string };

/** The most names of an address that are checked. Its owner can publish any number of names, of any domain. */
const maxNames = 3;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function addressOf(ip: string): Address {
  if (isIP(ip) === 0 || ip.includes("%")) throw new Error("that is not an IP address");
  return ipaddr.process(ip);
}

const isSix = (address: Address): address is ipaddr.IPv6 => address.kind() === "ipv6";

const spelled = (address: Address): string => (isSix(address) ? address.toRFC5952String() : address.toString());

/**
 * The one spelling of an address: dotted decimals for IPv4, RFC 5952 for IPv6. A mapped IPv4 address becomes an IPv4
 * address. Throws for a text that is no address.
 */
export const canonicalAddress = (ip: string): string => spelled(addressOf(ip));

/**
 * The name for the PTR records of an address: octets in `in-addr.arpa` (RFC 1035 §3.5), nibbles in `ip6.arpa` (RFC 3596
 * §2.5). Throws for a text that is no address.
 */
export function reverseName(ip: string): string {
  const address = addressOf(ip);
  const bytes = address.toByteArray();
  if (!isSix(address)) return `${bytes.toReversed().join(".")}.in-addr.arpa`;
  const nibbles = bytes.flatMap((byte) => [byte >> 4, byte & 0xf]);
  return `${nibbles
    .map((nibble) => nibble.toString(16))
    .toReversed()
    .join(".")}.ip6.arpa`;
}

const unknownBecause = (reason: string): string => `It could not be found out now: ${reason}. Try again later.`;

const joined = (names: readonly string[]): string => new Intl.ListFormat("en", { type: "disjunction" }).format(names);

/** Names of letters, digits, hyphens and underscores. Other contents of a PTR record are never shown. */
const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** The names in a PTR answer, in alphabetical order, without the root. */
const namesIn = (answer: Answer): string[] =>
  answer.status === "found"
    ? [...new Set(answer.records.flatMap((one) => (one.type === "PTR" && one.host ? [one.host] : [])))].toSorted()
    : [];

const leadsTo = (answer: Answer, ip: string): boolean =>
  answer.status === "found" && answer.records.some((one) => "address" in one && canonicalAddress(one.address) === ip);

/** The address with this reverse name; undefined for any other name. */
export function addressAt(name: string): string | undefined {
  const four = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name)?.[1];
  const six = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1];
  const parts = (four ?? six ?? "").split(".").slice(0, -1).toReversed();
  const ip = four === undefined ? parts.join("").replaceAll(/.{4}(?=.)/g, "$&:") : parts.join(".");
  return isIP(ip) === 0 ? undefined : canonicalAddress(ip);
}

/**
 * Finds the name of an address and checks whether the name has an A or AAAA record with the address, compared by value.
 * - Of several confirmed names, the alphabetically first is used.
 * - It asks one question, then one for each name at the same time.
 * - It throws for a text that is no address, but never because of an answer.
 */
export async function forwardConfirmed(resolver: Pick<Resolver, "resolve">, ip: string): Promise<ReverseState> {
  const address = addressOf(ip);
  const [spelling, type] = [spelled(address), isSix(address) ? ("AAAA" as const) : ("A" as const)];
  const pointers = await resolver.resolve(reverseName(ip), "PTR");
  if (pointers.status === "unknown") {
    return { status: "unknown", rdns: null, message: unknownBecause(pointers.reason) };
  }
  const called = namesIn(pointers);
  const all = called.filter((name) => hostName.test(name));
  const [first] = all;
  if (first === undefined) {
    const lack = called.length > 0 ? "has a name that is no host name" : "has no name";
    const message = `${spelling} ${lack}: have its provider set its PTR record to the host's name.`;
    return { status: "unconfirmed", rdns: null, message };
  }
  const names = all.slice(0, maxNames);
  const answers = await Promise.all(names.map((name) => resolver.resolve(name, type)));
  const confirmed = names.find((_, index) => answers[index] && leadsTo(answers[index], spelling));
  if (confirmed !== undefined) {
    return { status: "confirmed", rdns: confirmed, message: `${spelling} is ${confirmed}, in both directions.` };
  }
  const silent = answers.find((answer) => answer.status === "unknown");
  if (silent) return { status: "unknown", rdns: first, message: unknownBecause(silent.reason) };
  return { status: "unconfirmed", rdns: first, message: lacking({ spelling, type, all, names }) };
}

type Lack = { spelling: string; type: "A" | "AAAA"; all: readonly string[]; names: readonly string[] };

function lacking({ spelling, type, all, names }: Lack): string {
  if (all.length > names.length) {
    return `${spelling} has ${all.length} names, of which ${names.length} were looked at and none leads back: keep one PTR record.`;
  }
  return `The PTR record says ${joined(names)}, which does not lead to ${spelling}: add the ${type} record ${spelling} there.`;
}
