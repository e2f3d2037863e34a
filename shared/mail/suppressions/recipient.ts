import { readName } from "../../domains/name.ts";

const mostLocal = 64;
const unquoted = String.raw`[^\p{C}\p{Z}"\\()<>[\]:;,@]+`;
const quoted = String.raw`"(?:[^\p{C}"\\]|\\[\x20-\x7e])+"`;
const addressForm = new RegExp(`^(${unquoted}|${quoted})@([^@]+)$`, "u");

/**
 * The address of a recipient, as SMTP gives it (RFC 5321 §4.1.2), in one spelling: in lower case, in NFC (RFC 6532
 * §3.1), without `<` and `>`, and with the domain in A-labels. A quoted local part becomes the text that it stands for.
 * So all spellings of an address give the same text. Undefined for a text that is no address, and for an address whose
 * domain is no name.
 */
export function readRecipient(given: string): string | undefined {
  const [, local = "", domain = ""] = addressForm.exec(given.trim().replace(/^<(.*)>$/, "$1")) ?? [];
  const read = readName(domain);
  const text = local.startsWith('"') ? local.slice(1, -1).replaceAll(/\\(.)/g, "$1") : local;
  return "fault" in read || text === "" || text.length > mostLocal
    ? undefined
    : `${text.normalize("NFC").toLowerCase()}@${read.name}`;
}
