import { shown, type Reading } from "../../core/reading.ts";
import { isQuoted, unquoted } from "./character-strings.ts";

const longestValue = 255;

/** https://www.iana.org/assignments/pkix-parameters (CAA properties), without those that are reserved. */
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

/** RFC 8659 §4.2: who may issue, or nobody, and what the issuer asks for: `ca.example; account=1`, `;`. */
function readIssuer(text: string): Reading {
  const [first = "", ...others] = text.split(";").map((part) => part.trim());
  if (first !== "" && !issuer.test(first)) {
    const example = 'such as letsencrypt.org, or ";" for nobody';
    return { fault: `${shown(first)} is not the domain of a certification authority: write one, ${example}` };
  }
  const parameters: string[] = [];
  // One semicolon at the end is allowed.
  for (const part of others.at(-1) === "" ? others.slice(0, -1) : others) {
    const [, tag, value] = parameter.exec(part) ?? [];
    if (tag === undefined || value === undefined) {
      return { fault: `${shown(part)} is not a parameter: write name=value after the semicolon` };
    }
    parameters.push(`${tag}=${value}`);
  }
  const value = [first.toLowerCase(), ...parameters].join("; ");
  return { value: first === "" && parameters.length === 0 ? ";" : value };
}

/** RFC 8659 §4.4: where a refused request is reported to. */
function readReport(text: string): Reading {
  if (mailbox.test(text)) return { fault: `Write mailto: before the address: mailto:${text}` };
  const isMail = /^mailto:/i.test(text) && mailbox.test(text.slice("mailto:".length));
  const isWeb = /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
  if (isMail || isWeb) return { value: text };
  return { fault: "The value of iodef is a mailto:, https: or http: URL, such as mailto:security@example.com" };
}

/** CA/Browser Forum Baseline Requirements, A.1: an address, or a phone number as in RFC 3966 §5.1.4. */
function readContact(tag: string, text: string): Reading {
  if (tag === "contactemail") {
    if (mailbox.test(text)) return { value: text };
    return { fault: "The value of contactemail is one email address, such as security@example.com" };
  }
  if (/^\+[0-9().-]+$/.test(text) && /^\d{4,15}$/.test(text.replace(/\D/g, ""))) return { value: text };
  return { fault: "The value of contactphone is one phone number with its country, such as +1-555-0100" };
}

/** Reads the value of a CAA record (RFC 8659) of a known tag; quotes around it are not part of it. */
export function readCaaValue(tag: string, given: string): Reading {
  if (given.length > longestValue * 4) return { fault: `The value is longer than ${longestValue} bytes` };
  const text = (isQuoted(given) ? unquoted(given) : given)?.trim();
  if (text === undefined || !/^[ -~]*$/.test(text)) return { fault: "The value of a CAA record is ASCII, in one line" };
  if (text === "") return { fault: "The value is empty" };
  if (/^\d+\s+[a-z]+\s/i.test(text)) {
    return { fault: "Write only the value here: flags and tag are members of their own" };
  }
  if (text.includes('"')) return { fault: "The value has a quotation mark in it" };
  const read =
    tag === "iodef" ? readReport(text) : tag.startsWith("contact") ? readContact(tag, text) : readIssuer(text);
  if ("fault" in read || read.value.length <= longestValue) return read;
  return { fault: `The value is longer than ${longestValue} bytes` };
}
