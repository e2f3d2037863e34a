import { isIPv4, isIPv6 } from "node:net";

import { quoteText } from "../../core/text.ts";
import { domainSpecFault } from "./names.ts";

/**
 * The largest number of terms for which a receiver queries the DNS. The terms of a record and of all records that it
 * includes are counted together.
 */
export const mostLookups = 10;
const longestRecord = 1_024;

/** The names of the terms for which a receiver queries the DNS (RFC 7208 §4.6.4). */
const asking = new Set(["include", "a", "mx", "ptr", "exists", "redirect"]);
const mechanisms = new Set(["all", "include", "a", "mx", "ptr", "ip4", "ip6", "exists"]);
/** Common misspellings of mechanisms, with the right name. */
const meant = new Map([
  ["ip", "ip4"],
  ["ipv4", "ip4"],
  ["ipv6", "ip6"],
  ["includes", "include"],
  ["exist", "exists"],
]);

/** A term of an SPF record. The value of a mechanism begins with its colon or slash. */
export type Term = { text: string; name: string; isModifier: boolean; value: string };

const isLookup = ({ name }: Term): boolean => asking.has(name);

function readTerm(text: string): Term | undefined {
  const modifier = /^([a-z][a-z0-9_.-]*)=(.*)$/i.exec(text);
  if (modifier) return { text, name: (modifier[1] ?? "").toLowerCase(), isModifier: true, value: modifier[2] ?? "" };
  const mechanism = /^[+?~-]?([a-z][a-z0-9_.-]*)((?:[:/].*)?)$/i.exec(text);
  if (!mechanism) return undefined;
  return { text, name: (mechanism[1] ?? "").toLowerCase(), isModifier: false, value: mechanism[2] ?? "" };
}

function networkFault({ text, name, value }: Term): string | undefined {
  const [address = "", length, ...more] = value.slice(1).split("/");
  const isSix = name === "ip6";
  const example = isSix ? "ip6:2001:db8::/32" : "ip4:192.0.2.0/24";
  if (!isSix && isIPv6(address)) return `${quoteText(text)} is an IPv6 network. Write ip6:`;
  if (isSix && isIPv4(address)) return `${quoteText(text)} is an IPv4 network. Write ip4:`;
  const isAddress = isSix ? isIPv6(address) && !address.includes("%") : isIPv4(address);
  if (!value.startsWith(":") || !isAddress || more.length > 0) {
    return `${quoteText(text)} has no valid address. Write a term such as ${example}`;
  }
  return length === undefined || isPrefix(length, isSix ? 128 : 32)
    ? undefined
    : `${quoteText(text)} has no valid length after /`;
}

const isPrefix = (digits: string, most: number): boolean =>
  /^(?:0|[1-9]\d{0,2})$/.test(digits) && Number(digits) <= most;

/**
 * Explains why an `a` or `mx` mechanism is invalid; undefined if it is valid. The mechanism may have a domain and
 * prefix lengths for IPv4 and IPv6.
 */
function hostsFault({ text, value }: Term): string | undefined {
  const [, spec = "", four = "0", six = "0"] = /^(.*?)(?:\/(\d+))?(?:\/\/(\d+))?$/.exec(value) ?? [];
  if (spec.startsWith("/") || !isPrefix(four, 32) || !isPrefix(six, 128)) {
    return `${quoteText(text)} has no valid length after /`;
  }
  return spec === "" ? undefined : domainSpecFault(text, spec.slice(1));
}

function mechanismFault(term: Term): string | undefined {
  const { text, name, value } = term;
  if (!mechanisms.has(name)) {
    if (name === "redirect" || name === "exp") return `${quoteText(text)} must have an equals sign: ${name}=`;
    const hint = meant.get(name);
    return `${quoteText(text)} is not a mechanism of SPF${hint === undefined ? "" : `. Write ${hint}:`}`;
  }
  if (name === "all") return value === "" ? undefined : `${quoteText(text)} must be all, with nothing after it`;
  if (name === "ip4" || name === "ip6") return networkFault(term);
  if (name === "a" || name === "mx") return hostsFault(term);
  if (name === "ptr" && value === "") return undefined;
  return value.startsWith("/")
    ? `${quoteText(text)} cannot have a length after /`
    : domainSpecFault(text, value.slice(1));
}

function modifierFault({ text, name, value }: Term): string | undefined {
  if (mechanisms.has(name) || meant.has(name)) {
    return `${quoteText(text)} must have a colon: ${meant.get(name) ?? name}:`;
  }
  if (name === "v") return "v=spf1 is written twice. Make one record of the two";
  return name === "redirect" || name === "exp" ? domainSpecFault(text, value) : undefined;
}

function termFault(text: string): string | undefined {
  if (/[,;]$/.test(text)) {
    return `Separate the terms with spaces, without the ${quoteText(text.slice(-1))} in ${quoteText(text)}`;
  }
  const term = readTerm(text);
  const address = text.replace(/^[+?~-]|\/\d+$/g, "");
  if (isIPv4(address)) return `${quoteText(text)} needs ip4: before it`;
  if (isIPv6(address)) return `${quoteText(text)} needs ip6: before it`;
  if (!term) return `${quoteText(text)} is not a term of SPF, such as include:example.com or -all`;
  return term.isModifier ? modifierFault(term) : mechanismFault(term);
}

/** Explains why terms that are valid alone are invalid in this order or combination; undefined if they are valid. */
function orderFault(terms: readonly Term[]): string | undefined {
  const all = terms.findIndex(({ name, isModifier }) => name === "all" && !isModifier);
  const unreached = all < 0 ? undefined : terms.slice(all + 1).find(({ isModifier }) => !isModifier);
  if (unreached) {
    return `Receivers ignore everything after ${quoteText(terms[all]?.text ?? "")}. Put it at the end, after ${quoteText(unreached.text)}`;
  }
  const named = (name: string): number => terms.filter((term) => term.isModifier && term.name === name).length;
  if (named("redirect") > 1) return "redirect= can be written only once";
  if (named("exp") > 1) return "exp= can be written only once";
  if (all >= 0 && named("redirect") > 0) return "redirect= has no effect together with all. Remove one of them";
  const lookups = terms.filter(isLookup).length;
  if (lookups <= mostLookups) return undefined;
  return `${lookups} terms make receivers query the DNS, and receivers stop at ${mostLookups}. Remove some terms, or write addresses as ip4: and ip6:`;
}

/** Whether receivers read a text as an SPF record (RFC 7208 §4.5). */
export const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/**
 * Explains why an SPF record is invalid (RFC 7208); undefined if it is valid. Names in the record are not looked up.
 * Faults are:
 * - errors of grammar,
 * - terms that receivers never reach,
 * - more than 10 lookups among the record's own terms,
 * - more than 1024 bytes, which may not fit into a UDP answer together with other texts.
 */
export function spfFault(text: string): string | undefined {
  if (!isSpf(text)) return 'An SPF record must begin with "v=spf1" and a space';
  if (/[^ -~]/.test(text)) return "An SPF record must be ASCII. Write internationalised names as xn-- labels";
  if (text.length > longestRecord) {
    return `The SPF record is ${text.length} bytes long. A record of more than ${longestRecord} bytes does not reach all receivers. Move some terms behind an include:`;
  }
  const read = readTerms(text);
  const fault = "fault" in read ? read.fault : orderFault(read.terms);
  return fault === undefined ? undefined : `SPF: ${fault}`;
}

/** The terms of an SPF record without its version, or the fault of the first invalid term. */
function readTerms(text: string): { terms: Term[] } | { fault: string } {
  const texts = text
    .split(" ")
    .filter((term) => term !== "")
    .slice(1);
  const fault = texts.map(termFault).find((found) => found !== undefined);
  return fault === undefined ? { terms: texts.map(readTerm).filter((term) => term !== undefined) } : { fault };
}

/**
 * The terms of an SPF record for which a receiver queries the DNS, if no earlier term matches (RFC 7208 §4.6.4 and
 * §6.1). They are the terms before `all`. If there is no `all`, `redirect` is one of them.
 */
export function lookupTerms(text: string): { terms: Term[] } | { fault: string } {
  const read = readTerms(text);
  if ("fault" in read) return read;
  const all = read.terms.findIndex(({ name, isModifier }) => name === "all" && !isModifier);
  const reached = all < 0 ? read.terms : read.terms.slice(0, all).filter(({ isModifier }) => !isModifier);
  return { terms: reached.filter(isLookup) };
}

const isAll = (term: string): boolean => /^[+?~-]?all$/i.test(term);

const isModifierText = (term: string): boolean => /^[a-z][a-z0-9_.-]*=/i.test(term);

/** Whether receivers evaluate a term last: `all` and the modifiers. */
const isLast = (term: string): boolean => isAll(term) || isModifierText(term);

const withoutPlus = (term: string): string => term.toLowerCase().replace(/^\+/, "");

/** The version and the terms of an SPF record, without the mechanisms after `all`, which receivers never reach. */
function effectiveTerms(text: string): string[] {
  const terms = text.split(" ").filter((term) => term !== "");
  const all = terms.findIndex(isAll);
  return terms.filter((term, index) => all < 0 || index <= all || isModifierText(term));
}

/** The terms of `terms` that an SPF record lacks, or has only after `all`. */
export function lackingSpfTerms(text: string, terms: readonly string[]): string[] {
  const known = new Set(effectiveTerms(text).map(withoutPlus));
  return terms.filter((term) => !known.has(withoutPlus(term)));
}

/**
 * Makes one SPF record that has the mechanisms of all `records`, and all `terms`. Receivers reject a domain that has
 * several SPF records, so the first record gets the missing terms. The missing terms stand before `all` and before
 * modifiers, which receivers evaluate last (RFC 7208 §4.6.2). The result has the `all` and the modifiers of the first
 * record only. Mechanisms after `all` are left out, because receivers never reach them.
 */
export function withSpfTerms(records: readonly string[], terms: readonly string[]): string {
  const [first = [], ...others] = records.map(effectiveTerms);
  const coming = [...others.flatMap((other) => other.slice(1).filter((term) => !isLast(term))), ...terms];
  const lacking = lackingSpfTerms(first.join(" "), [...new Set(coming.map(withoutPlus))]);
  const end = first.findIndex((term, index) => index > 0 && isLast(term));
  return first.toSpliced(end < 0 ? first.length : end, 0, ...lacking).join(" ");
}
