import { createPublicKey } from "node:crypto";

import { quoteText } from "../../core/text.ts";

/**
 * Reads a tag-list (RFC 6376 §3.2): pairs of `name=value`, separated by semicolons.
 * - A name may occur once only, and keeps its case.
 * - `first` is the name of the first pair.
 * - Spaces around names and values are removed.
 */
function readTagList(text: string): { first: string; tags: Map<string, string> } | { fault: string } {
  const parts = text.split(";").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  const tags = new Map<string, string>();
  let first = "";
  for (const part of parts) {
    const [, name, value] = /^([a-z][a-z0-9_]*)\s*=\s*(.*)$/i.exec(part) ?? [];
    if (part === "") return { fault: "There are two semicolons in a row" };
    if (name === undefined || value === undefined) {
      return { fault: `${quoteText(part)} is not name=value. Separate such pairs with semicolons` };
    }
    if (tags.has(name)) return { fault: `${name}= is written twice` };
    first ||= name;
    tags.set(name, value);
  }
  return { first, tags };
}

const shortestRsaBits = 1_024;
const ed25519Bytes = 32;
const example = 'such as "v=DKIM1; k=rsa; p=MIIB…"';

/**
 * The length in bits of an RSA key, in either form that signers publish: SubjectPublicKeyInfo, or RSAPublicKey as in
 * the text of RFC 6376. Undefined for any other key.
 */
function rsaBits(key: Buffer): number | undefined {
  for (const type of ["spki", "pkcs1"] as const) {
    try {
      const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key, format: "der", type });
      return asymmetricKeyType === "rsa" ? asymmetricKeyDetails?.modulusLength : undefined;
    } catch {
      // The key may be in the other form.
    }
  }
  return undefined;
}

function keyFault(kind: string, value: string): string | undefined {
  const base64 = value.replace(/\s/g, "");
  // An empty key is valid: it says that the key is revoked.
  if (base64 === "") return undefined;
  if (!/^[a-z0-9+/]+={0,2}$/i.test(base64)) return "p= is not base64. Copy the key again, without BEGIN and END lines";
  const key = Buffer.from(base64, "base64");
  if (kind === "ed25519") {
    return key.length === ed25519Bytes ? undefined : `p= must be the ${ed25519Bytes} bytes of an Ed25519 key in base64`;
  }
  const bits = rsaBits(key);
  if (bits === undefined) return "p= is not a whole RSA key. A part of the key is missing. Copy the key again";
  return bits < shortestRsaBits
    ? `The key has ${bits} bits. Verifiers require ${shortestRsaBits} at least (RFC 8301)`
    : undefined;
}

/**
 * Explains why a DKIM key record is invalid (RFC 6376 §3.6.1, RFC 8463); undefined if it is valid. Unknown tags are
 * ignored.
 */
export function dkimFault(text: string): string | undefined {
  const read = readTagList(text);
  if ("fault" in read) return `DKIM: ${read.fault}`;
  const { first, tags } = read;
  const version = tags.get("v");
  if (version !== undefined && (version !== "DKIM1" || first !== "v"))
    return `DKIM: the record must begin with "v=DKIM1;"`;
  const value = tags.get("p");
  if (value === undefined) return `DKIM: the key is missing. Write it as p=, ${example}`;
  const kind = tags.get("k") ?? "rsa";
  if (kind !== "rsa" && kind !== "ed25519") return "DKIM: k= must be rsa or ed25519";
  const fault = keyFault(kind, value);
  return fault === undefined ? undefined : `DKIM: ${fault}`;
}

/** The public key in a DKIM key record, without spaces; empty if there is none. */
export const publicKeyIn = (text: string): string => /p=([A-Za-z0-9+/=]*)/.exec(text.replaceAll(/\s/g, ""))?.[1] ?? "";

const policies = ["none", "quarantine", "reject"];
const alignments = ["r", "s"];

/** The tags with a fixed set of values (RFC 7489 §6.3, and `t`, `psd`, `np` of its successor). */
const choices = new Map<string, readonly string[]>([
  ["p", policies],
  ["sp", policies],
  ["np", policies],
  ["adkim", alignments],
  ["aspf", alignments],
  ["t", ["y", "n"]],
  ["psd", ["y", "n", "u"]],
]);

const uri = /^[a-z][a-z0-9+.-]*:[^\s,;!]+(?:!\d+[kmgt]?)?$/i;
const mailto = /^mailto:[^\s@]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:!\d+[kmgt]?)?$/i;

function reportFault(tag: string, value: string): string | undefined {
  for (const address of value.split(",").map((part) => part.trim())) {
    if (/^[^:]+@/.test(address)) return `${tag}= needs mailto: before ${quoteText(address)}`;
    const form = /^mailto:/i.test(address) ? mailto : uri;
    if (!form.test(address)) {
      return `${quoteText(address)} is not an address for reports. Write ${tag}=mailto:dmarc@example.com`;
    }
  }
  return undefined;
}

function tagFault(tag: string, value: string): string | undefined {
  const allowed = choices.get(tag);
  if (allowed !== undefined && !allowed.includes(value.toLowerCase())) {
    return `${tag}= must be one of ${allowed.join(", ")}, not ${quoteText(value)}`;
  }
  if (tag === "pct" && !(/^\d{1,3}$/.test(value) && Number(value) <= 100)) return "pct= must be a number from 0 to 100";
  if (tag === "ri" && !/^\d{1,10}$/.test(value)) return "ri= must be a number of seconds";
  if (tag === "fo" && !/^[01ds](?:\s*:\s*[01ds])*$/i.test(value)) {
    return "fo= must be 0, 1, d or s, or several of them with colons between";
  }
  return tag === "rua" || tag === "ruf" ? reportFault(tag, value) : undefined;
}

/**
 * Explains why a DMARC record is invalid (RFC 7489 §6.3); undefined if it is valid. Unknown tags are ignored, as
 * receivers do.
 */
export function dmarcFault(text: string): string | undefined {
  if (!/^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) {
    return 'A DMARC record must begin with "v=DMARC1;", such as "v=DMARC1; p=none"';
  }
  const read = readTagList(text);
  if ("fault" in read) return `DMARC: ${read.fault}`;
  if (!read.tags.has("p")) return `DMARC: p= is missing. Write p=none, p=quarantine or p=reject after "v=DMARC1;"`;
  for (const [tag, value] of read.tags) {
    const fault = tagFault(tag, value);
    if (fault !== undefined) return `DMARC: ${fault}`;
  }
  return undefined;
}
