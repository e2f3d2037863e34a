import { isPublicUnicast } from "../../core/ip.ts";
import { longestName, splitName } from "../../dns/labels.ts";
import { readName } from "../../domains/name.ts";

/**
 * The longest local part, in bytes of UTF-8. This is enough for mailing lists and bounce addresses, which use up to 250
 * bytes. The address is in the key of a row, and a key has 1,024 bytes at most.
 */
const mostLocal = 512;
const bare = String.raw`[^\p{C}\p{Z}"\\()<>[\]:;,@]+`;
const quoted = String.raw`"(?:[^\p{C}"\\]|\\[\x20-\x7e])+"`;
const addressForm = new RegExp(`^(${bare}|${quoted})@([^@]+)$`, "u");

/** A name with a mail server elsewhere. It can have labels that `readName` refuses, because other zones have them. */
const foreignName = /^(?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62}$/;

/** The domain of an address in one spelling. Undefined for a text that is no name and no public address. */
function readDomain(given: string): string | undefined {
  const read = readName(given);
  if ("name" in read) return read.name;
  const text = splitName(given).labels.join(".").toLowerCase();
  const literal = /^\[(?:ipv6:)?(.*)\]$/.exec(text)?.[1] ?? "";
  return isPublicUnicast(literal) || (foreignName.test(text) && text.length <= longestName) ? text : undefined;
}

/** The text that a local part stands for: without its quotes and backslashes, if it is in quotes (RFC 5321 §4.1.2). */
const unquoteLocal = (local: string): string =>
  /^".*"$/s.test(local) ? local.slice(1, -1).replaceAll(/\\(.)/gs, "$1") : local;

/** An address with the text that its local part stands for, in place of a local part in quotes. */
export const unquoteAddress = (address: string): string => address.replace(/^[^@]*(?=@)/, unquoteLocal);

/**
 * The address of a recipient, as SMTP gives it (RFC 5321 §4.1.2), in one spelling: in lower case, in NFC (RFC 6532
 * §3.1), without `<` and `>`, and with the domain in A-labels. A quoted local part becomes the text that it stands for.
 * So the usual spellings of an address give the same text. Undefined for a text that is no address, and for a local
 * part of more than 512 bytes. The limit of 64 (RFC 5321 §4.5.3.1.1) does not apply, because other servers allow more.
 */
export function readRecipient(given: string): string | undefined {
  const [, local = "", name = ""] = addressForm.exec(given.trim().replace(/^<(.*)>$/, "$1")) ?? [];
  const domain = readDomain(name);
  const text = unquoteLocal(local).normalize("NFC").toLowerCase();
  return domain === undefined || text === "" || Buffer.byteLength(text) > mostLocal ? undefined : `${text}@${domain}`;
}
