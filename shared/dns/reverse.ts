import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import type { Answer, Resolver } from "./answer.ts";

/**
 * What an address is called by its PTR records, and whether one of those names leads back to it (FCrDNS, RFC 8601 §3).
 * `unknown`: it could not be found out, and nothing follows from it. `message` is a sentence for people that says what
 * to do.
 */
export type ReverseState =
  | { status: "confirmed"; rdns: string; message: string }
  | { status: "unconfirmed"; rdns: string | null; message: string }
  | { status: "unknown"; rdns: string | null; message: string };

/** Whoever has the address decides how many names it has, and whose; more are not looked at. */
const maxNames = 3;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function addressOf(ip: string): Address {
  if (isIP(ip) === 0 || ip.includes("%")) throw new Error("that is not an IP address");
  return ipaddr.process(ip);
}

const isSix = (address: Address): address is ipaddr.IPv6 => address.kind() === "ipv6";

const spelled = (address: Address): string => (isSix(address) ? address.toRFC5952String() : address.toString());

/**
 * An address in the one spelling that all of its spellings have in common: dotted decimals, or RFC 5952 for IPv6; a
 * mapped IPv4 address is that of IPv4. Throws for a text that is no address.
 */
export const canonicalAddress = (ip: string): string => spelled(addressOf(ip));

/**
 * The name at which an address has its PTR records: octets in `in-addr.arpa` (RFC 1035 §3.5), nibbles in `ip6.arpa`
 * (RFC 3596 §2.5). Throws for a text that is no address.
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

/** Letters, digits, hyphens, and underscores: whatever else a PTR record can hold is not shown to anybody. */
const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** The names of an address, alphabetically; the root is none. */
const namesIn = (answer: Answer): string[] =>
  answer.status === "found"
    ? [...new Set(answer.records.flatMap((one) => (one.type === "PTR" && one.host ? [one.host] : [])))].toSorted()
    : [];

const leadsTo = (answer: Answer, ip: string): boolean =>
  answer.status === "found" && answer.records.some((one) => "address" in one && canonicalAddress(one.address) === ip);

/** The address whose reverse name this is; undefined for any other name. */
export function addressAt(name: string): string | undefined {
  const four = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name)?.[1];
  const six = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1];
  const parts = (four ?? six ?? "").split(".").slice(0, -1).toReversed();
  const ip = four === undefined ? parts.join("").replaceAll(/.{4}(?=.)/g, "$&:") : parts.join(".");
  return isIP(ip) === 0 ? undefined : canonicalAddress(ip);
}

/**
 * Asks the DNS what an address is called and whether that name has an A or AAAA record of the address, addresses
 * compared by value. Of several names it is the alphabetically first that does. Asks one question, and then of each
 * name one at the same time. Throws for a text that is no address, and never for what others answer.
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
