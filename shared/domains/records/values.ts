import { isIPv4, isIPv6 } from "node:net";

import { parseIpv6 } from "../../core/ip.ts";
import { type Reading, quoteCharacter, quoteText } from "../../core/text.ts";
import { characterStrings, escaped, unescaped } from "../../dns/character-string.ts";
import type { RecordType } from "../../dns/rrset.ts";
import { readSvcParams, svcParamsText } from "../../dns/svcb.ts";
import { dkimFault, dmarcFault } from "./mail-policies.ts";
import { absoluteName, readHostName } from "./names.ts";
import { spfFault } from "./spf.ts";

const ipv4Example = "Write four numbers from 0 to 255, such as 192.0.2.1";
const ipv6Example = "Write one such as 2001:db8::1";

/** Reads the address of an A record (RFC 1035 §3.4.1): a dotted quad of any network, also a private one. */
function readIpv4(value: string): Reading {
  const text = value.trim();
  if (isIPv4(text)) return { value: text };
  if (isIPv6(text)) return { fault: "This is an IPv6 address. Use an AAAA record" };
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(text) && /(?:^|\.)0\d/.test(text)) {
    return { fault: `${quoteText(text)} has a number with a leading zero. ${ipv4Example}` };
  }
  if (/^[^/\s]+\/\d+$/.test(text)) return { fault: `${quoteText(text)} is a network. Write one address` };
  if (/^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+\.?$/i.test(text)) {
    return { fault: `${quoteText(text)} is a name. Use a CNAME record, or write its address` };
  }
  return { fault: `${quoteText(text)} is not an IPv4 address. ${ipv4Example}` };
}

/** Reads the address of an AAAA record (RFC 3596), of any network, into the canonical form of RFC 5952. */
function readIpv6(value: string): Reading {
  const text = value.trim();
  if (isIPv4(text)) return { fault: "This is an IPv4 address. Use an A record" };
  if (text.includes("%"))
    return { fault: `${quoteText(text)} has a zone (after %), which has no meaning for other hosts` };
  if (/^[^/\s]+\/\d+$/.test(text)) return { fault: `${quoteText(text)} is a network. Write one address` };
  if (!isIPv6(text)) return { fault: `${quoteText(text)} is not an IPv6 address. ${ipv6Example}` };
  const address = parseIpv6(text);
  if (!address.isIPv4MappedAddress()) return { value: address.toRFC5952String() };
  return {
    fault: `${quoteText(text)} is an IPv4 address inside an IPv6 address. Use an A record with ${address.toIPv4Address().toString()}`,
  };
}

/** The pattern of one character-string in quotes. */
const quotedString = String.raw`"(?:[^"\\]|\\[^])*"`;
const onlyQuotedStrings = new RegExp(`^\\s*${quotedString}(?:\\s*${quotedString})*\\s*$`);

/** Whether a text consists only of character-strings in quotes, as zone files write them: `"v=spf1 " "-all"`. */
export const isQuoted = (text: string): boolean => onlyQuotedStrings.test(text);

/** The joined text of character-strings in quotes; undefined if it is not UTF-8 or has an escape past `\255`. */
export function unquoted(text: string): string | undefined {
  const strings = [...text.matchAll(new RegExp(quotedString, "g"))].map(([whole]) => whole.slice(1, -1));
  const bytes = unescaped(strings.join(""));
  if (!bytes) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The zone file form of a text (RFC 1035 §3.3.14, §5.1): ASCII strings in quotes, of at most 255 bytes each. */
export const quoted = (text: string): string =>
  characterStrings(text)
    .map((one) => `"${escaped(one)}"`)
    .join(" ");

/** The longest value of a CAA record, in bytes. */
const longestCaaValue = 255;
/**
 * The longest text that is read as a CAA value, in characters. A byte can be written as an escape of 4 characters. A
 * value is usually in one pair of quotes. The rest is for white space, and for the quotes of further strings.
 */
const longestQuotedCaa = 8 * longestCaaValue;

/** The CAA properties of https://www.iana.org/assignments/pkix-parameters, without the reserved properties. */
export const caaTags: readonly string[] = [
  "issue",
  "issuewild",
  "issuemail",
  "issuevmc",
  "iodef",
  "contactemail",
  "contactphone",
];

const issuer = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;
const parameter = /^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\s*=\s*([!-:<-~]*)$/i;
const mailbox = /^[^\s@<>()[\],;:"\\]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i;

/**
 * Reads the value of an issue property (RFC 8659 §4.2): an issuer with its parameters (`ca.example; account=1`), or `;`
 * for nobody.
 */
function readIssuer(text: string): Reading {
  const [first = "", ...others] = text.split(";").map((part) => part.trim());
  if (first !== "" && !issuer.test(first)) {
    const example = 'such as letsencrypt.org, or ";" for nobody';
    return { fault: `${quoteText(first)} is not the domain of a certification authority. Write one, ${example}` };
  }
  const parameters: string[] = [];
  // One semicolon at the end is allowed.
  for (const part of others.at(-1) === "" ? others.slice(0, -1) : others) {
    const [, tag, value] = parameter.exec(part) ?? [];
    if (tag === undefined || value === undefined) {
      return { fault: `${quoteText(part)} is not a parameter. Write name=value after the semicolon` };
    }
    parameters.push(`${tag}=${value}`);
  }
  const value = [first.toLowerCase(), ...parameters].join("; ");
  return { value: first === "" && parameters.length === 0 ? ";" : value };
}

/** Reads the value of `iodef` (RFC 8659 §4.4): the URL to which refused requests are reported. */
function readReport(text: string): Reading {
  if (mailbox.test(text)) return { fault: `Write mailto: before the address: mailto:${text}` };
  const isMail = /^mailto:/i.test(text) && mailbox.test(text.slice("mailto:".length));
  const isWeb = /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
  if (isMail || isWeb) return { value: text };
  return { fault: "The value of iodef must be a mailto:, https: or http: URL, such as mailto:security@example.com" };
}

/** Reads an email address, or a phone number as in RFC 3966 §5.1.4 (CA/Browser Forum Baseline Requirements, A.1). */
function readContact(tag: string, text: string): Reading {
  if (tag === "contactemail") {
    if (mailbox.test(text)) return { value: text };
    return { fault: "The value of contactemail must be one email address, such as security@example.com" };
  }
  if (/^\+[0-9().-]+$/.test(text) && /^\d{4,15}$/.test(text.replace(/\D/g, ""))) return { value: text };
  return { fault: "The value of contactphone must be one phone number with its country, such as +1-555-0100" };
}

/** Reads the value of a CAA property, without quotes around the value. */
function readProperty(tag: string, text: string): Reading {
  if (tag === "iodef") return readReport(text);
  return tag.startsWith("contact") ? readContact(tag, text) : readIssuer(text);
}

/** Reads the value of a CAA record (RFC 8659) for a known tag. Quotes around the value are removed. */
function readCaaValue(tag: string, given: string): Reading {
  if (given.length > longestQuotedCaa) return { fault: `The value is longer than ${longestCaaValue} bytes` };
  const text = (isQuoted(given) ? unquoted(given) : given)?.trim();
  if (text === undefined || !/^[ -~]*$/.test(text))
    return { fault: "The value of a CAA record must be ASCII, in one line" };
  // RFC 8659 §4.2: an empty value forbids all certification authorities, as `;` does.
  if (text === "" && isQuoted(given) && tag.startsWith("issue")) return { value: ";" };
  if (text === "") return { fault: "The value is empty" };
  if (/^\d+\s+[a-z]+\s/i.test(text)) {
    return { fault: "Write only the value here. flags and tag are separate members" };
  }
  if (text.includes('"')) return { fault: "The value has a quotation mark. Remove it" };
  const read = readProperty(tag, text);
  if ("fault" in read || read.value.length <= longestCaaValue) return read;
  return { fault: `The value is longer than ${longestCaaValue} bytes` };
}

/** The longest text of a TXT record, in bytes. */
const longestTextBytes = 2_048;
/**
 * The longest text in quotes, in characters. Even a text whose bytes are all escaped, each in a string of its own, is
 * shorter.
 */
const longestQuoted = 8 * longestTextBytes;

function lengthFault(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  return bytes > longestTextBytes ? `The text is ${bytes} bytes long. The maximum is ${longestTextBytes}` : undefined;
}

/**
 * Explains why a text is invalid as an SPF, DMARC or DKIM record; undefined if it is valid or is no such record. The
 * kind of record is recognised by the beginning of the text or by the record's name.
 */
function policyFault(text: string, name: string | undefined): string | undefined {
  const before = /^[^a-z0-9]+(?=v=(?:spf|dmarc|dkim)\d)/i.exec(text)?.[0];
  if (before !== undefined) return "Remove the characters before v=. Receivers do not find a record behind them";
  if (/^v=spf/i.test(text)) return spfFault(text);
  const labels = name?.split(".") ?? [];
  if (labels[0] === "_dmarc") return dmarcFault(text);
  return labels.indexOf("_domainkey") > 0 ? dkimFault(text) : undefined;
}

/** Reads the text of a TXT record. If the text is wholly in quotes, the quotes are removed. */
function readText(given: string): Reading {
  if (given.length > longestQuoted) return { fault: `The text is longer than ${longestTextBytes} bytes` };
  if (!isQuoted(given)) return { value: given };
  const value = unquoted(given);
  if (value === undefined) return { fault: "The text has escapes that are not UTF-8. Write the text without quotes" };
  return isQuoted(value) ? { fault: "The text is in quotes twice. Write it without quotes" } : { value };
}

/**
 * Reads the text of a TXT record: 1 to 2048 bytes of UTF-8 without control characters, kept unchanged.
 * - If the text is wholly in quotes, the quotes are removed. Zone files have such texts: `"v=spf1 " "-all"`, with the
 *   escapes of RFC 1035 §5.1.
 * - SPF records, DMARC records at `_dmarc` and DKIM keys under `_domainkey` must be valid.
 */
function readTextValue(given: string, name: string | undefined): Reading {
  const read = readText(given);
  if ("fault" in read) return read;
  const { value } = read;
  if (value.trim() === "") return { fault: "The text is empty" };
  if (!value.isWellFormed()) return { fault: "The text has half of a surrogate pair, which is not a character" };
  const control = /\p{Cc}/u.exec(value)?.[0];
  if (control !== undefined)
    return { fault: `The text has a control character, ${quoteCharacter(control)}. Remove it` };
  const fault = lengthFault(value) ?? policyFault(value, name);
  return fault === undefined ? { value } : { fault };
}

/**
 * The context of a value: the record's name if it could be read, the zone, and the members that the value depends on.
 */
type Around = { name: string | undefined; zone: string; tag: string | undefined; priority: number | undefined };

/** Reads the host of an MX or SRV record; `.` says that there is none (RFC 7505, RFC 2782). */
function readServer(type: "MX" | "SRV", value: string, zone: string): Reading {
  const text = value.trim();
  if (text === ".") return { value: "." };
  const numbers = type === "MX" ? "priority is a separate member" : "priority, weight and port are separate members";
  if (/^\d+\s/.test(text)) return { fault: `Write only the host here. ${numbers}` };
  return readHostName(text, { zone, underscores: false });
}

/** Reads the host of a CNAME or NS record, which must differ from the record's own name. */
function readAlias(type: "CNAME" | "NS", value: string, { name, zone }: Around): Reading {
  const read = readHostName(value, { zone, underscores: type === "CNAME" });
  if ("fault" in read || name === undefined || read.value !== absoluteName(name, zone)) return read;
  if (type === "CNAME") return { fault: `${read.value} would be an alias of itself. Write the name to which it leads` };
  return { fault: `${read.value} cannot be its own nameserver, because a name with NS records has no address` };
}

/** The longest value, in characters. Route 53 allows 4,000, including the priority and the final dot of a target. */
const longestData = 3_990;

const tooLongData = `The value is longer than ${longestData} characters`;

/** Reads the target and the parameters of an HTTPS or SVCB record (RFC 9460 §2.1); `.` is the record's own name. */
function readService(value: string, { name, zone, priority }: Around): Reading {
  const text = value.trim();
  if (/^\d+\s/.test(text)) {
    return { fault: "Write only the target and its parameters here. priority is a separate member" };
  }
  const [target = ""] = text.split(/\s/, 1);
  const host = target === "." ? { value: "." } : readHostName(target, { zone, underscores: true });
  if ("fault" in host) return host;
  const read = readSvcParams(text.slice(target.length));
  if ("fault" in read) return read;
  if (priority === 0 && read.params.length > 0) {
    return { fault: "A record with priority 0 is an alias and has no parameters. Remove them, or raise the priority" };
  }
  if (priority === 0 && name !== undefined && host.value === absoluteName(name, zone)) {
    return { fault: `${host.value} would be an alias of itself. Write the name to which it leads` };
  }
  const normal = [host.value, svcParamsText(read.params)].join(" ").trim();
  return normal.length > longestData ? { fault: tooLongData } : { value: normal };
}

/** The form of a value that consists of some numbers and a hexadecimal text. */
type HexForm = {
  /** The numbers in their order, with their allowed values. */
  numbers: readonly { name: string; allowed: readonly number[] }[];
  data: string;
  /** The length of the data in bytes, by the value of the last number. Without an entry any length is valid. */
  bytes: Partial<Record<number, number>>;
  example: string;
};

const hexForms: Record<"TLSA" | "SSHFP", HexForm> = {
  // RFC 6698 §2.1
  TLSA: {
    numbers: [
      { name: "usage", allowed: [0, 1, 2, 3] },
      { name: "selector", allowed: [0, 1] },
      { name: "matching type", allowed: [0, 1, 2] },
    ],
    data: "certificate data",
    bytes: { 1: 32, 2: 64 },
    example: "3 1 1 and 64 hexadecimal digits",
  },
  // RFC 4255 §3.1, RFC 6594, RFC 7479, RFC 8709
  SSHFP: {
    numbers: [
      { name: "algorithm", allowed: [1, 2, 3, 4, 6] },
      { name: "fingerprint type", allowed: [1, 2] },
    ],
    data: "fingerprint",
    bytes: { 1: 20, 2: 32 },
    example: "4 2 and 64 hexadecimal digits",
  },
};

/**
 * Reads the value of a TLSA or SSHFP record. The hexadecimal text may have spaces. The result has it without spaces, in
 * lower case.
 */
function readHexValue(type: "TLSA" | "SSHFP", value: string): Reading {
  const { numbers, data, bytes, example } = hexForms[type];
  const words = value.trim().split(/\s+/);
  if (words.length <= numbers.length) {
    const parts = [...numbers.map(({ name }) => name), data].join(", ");
    return { fault: `The value must be ${parts}, such as ${example}` };
  }
  for (const [index, { name, allowed }] of numbers.entries()) {
    const word = words[index] ?? "";
    if (!allowed.includes(/^\d$/.test(word) ? Number(word) : -1)) {
      return { fault: `The ${name} must be one of ${allowed.join(", ")}, not ${quoteText(word)}` };
    }
  }
  const head = words.slice(0, numbers.length);
  const hex = words.slice(numbers.length).join("").toLowerCase();
  if (!/^(?:[0-9a-f]{2})+$/.test(hex)) {
    return { fault: `The ${data} must be hexadecimal digits, two for each byte` };
  }
  const wanted = bytes[Number(head.at(-1))];
  if (wanted !== undefined && hex.length !== 2 * wanted) {
    const { name = "" } = numbers.at(-1) ?? {};
    return { fault: `With ${name} ${head.at(-1)}, the ${data} must have ${2 * wanted} digits, not ${hex.length}` };
  }
  const normal = [...head, hex].join(" ");
  return normal.length > longestData ? { fault: tooLongData } : { value: normal };
}

/** Reads a record's value into the normal form of its type. */
export function readValue({ type, value }: { type: RecordType; value: string }, around: Around): Reading {
  switch (type) {
    case "A":
      return readIpv4(value);
    case "AAAA":
      return readIpv6(value);
    case "CNAME":
    case "NS":
      return readAlias(type, value, around);
    case "MX":
    case "SRV":
      return readServer(type, value, around.zone);
    case "TXT":
      return readTextValue(value, around.name);
    case "HTTPS":
    case "SVCB":
      return readService(value, around);
    case "TLSA":
    case "SSHFP":
      return readHexValue(type, value);
    default:
      // A CAA value cannot be checked without its tag.
      return around.tag === undefined ? { value } : readCaaValue(around.tag, value);
  }
}
