import PostalMime, { type Email } from "postal-mime";

import { readRecipient } from "../suppressions/recipient.ts";

/** The result of a mail to one recipient, from a report. */
export type ReportedFate = {
  type: "delivered" | "bounced" | "deferred" | "complained";
  /** The enhanced status code (RFC 3463), such as `5.1.1`. */
  status: string | undefined;
  diagnostic: string | undefined;
};

/**
 * Why a report has no effect. `other_recipient`: the report names recipients, and none of them is the given recipient.
 */
export type ReportFault =
  | "not_base64"
  | "too_large"
  | "not_a_report"
  | "no_recipient"
  | "other_recipient"
  | "not_a_complaint";

/** The most bytes of a report. Mail servers may cut off the rest of the returned mail. */
const longestReport = 512 * 1024;
/** The most characters of a report in base64, line ends included. */
const longestBase64 = 2 * longestReport;
/**
 * The most lines of a report that are read, because the parser takes time for each line. Usually only a report with a
 * long returned mail has more lines.
 */
const mostLines = 2_000;
const longestHeaders = 256 * 1024;

// The parts of a report are not nested deeply. The returned mail is not parsed, because nothing is read from it.
const parserLimits = { maxNestingDepth: 10, maxHeadersSize: longestHeaders, maxRfc822NestingDepth: 0 } as const;

/**
 * Reads the result of a mail to `recipient` from a delivery status notification (RFC 3464, RFC 6533) or a feedback
 * report (RFC 5965). The report is base64 of the whole mail. The report decides neither the sender nor the recipient of
 * the mail, because anybody can write a report. For any input, returns the result of the mail, or the reason why the
 * report has no effect.
 */
export async function readReport(base64: string, recipient: string): Promise<ReportedFate | ReportFault> {
  if (base64.length > longestBase64) return "too_large";
  const text = base64.replaceAll(/[\r\n]/g, "").trimEnd();
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return "not_base64";
  const raw = Buffer.from(text, "base64");
  if (raw.length > longestReport) return "too_large";
  const mail = await parsed(firstLines(raw));
  const kind =
    mail && /^multipart\/report\b.*\breport-type\s*=\s*"?([a-z-]+)/is.exec(headerOf(mail, "content-type"))?.[1];
  if (!kind) return "not_a_report";
  if (/^(?:global-)?delivery-status$/i.test(kind)) return deliveryStatus(mail, recipient);
  if (/^feedback-report$/i.test(kind)) return feedback(mail, recipient);
  return "not_a_report";
}

function firstLines(raw: Buffer): Buffer {
  let end = 0;
  for (let line = 0; line < mostLines; line++) {
    end = raw.indexOf(0x0a, end) + 1;
    if (end === 0) return raw;
  }
  return raw.subarray(0, end);
}

/** The parsed mail; undefined if the parser refuses it. */
async function parsed(raw: Uint8Array): Promise<Email | undefined> {
  try {
    return await PostalMime.parse(raw, parserLimits);
  } catch {
    return undefined;
  }
}

/** Fields by their names in lower case. A field may occur more than once. */
type Fields = ReadonlyMap<string, readonly string[]>;

const mostFields = 5_000;
const longestValue = 10_000;

/**
 * Reads groups of header fields with blank lines between them: the form of a delivery status (RFC 3464 §2.1) and of a
 * feedback report (RFC 5965 §3). A line that begins with white space continues the field before it (RFC 5322 §2.2.3).
 * Leaves out lines that are no fields, everything after 5,000 fields, and the continuation of a value of more than
 * 10,000 characters.
 */
export function readFieldGroups(text: string): Fields[] {
  const groups: Map<string, string[]>[] = [];
  let group: Map<string, string[]> | undefined;
  let values: string[] | undefined;
  let count = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const last = values?.at(-1);
    const [, name, value = ""] = /^([\x21-\x39\x3b-\x7e]+)[ \t]*:(.*)$/.exec(line) ?? [];
    if (line.trim() === "") {
      group = undefined;
      values = undefined;
    } else if (/^[ \t]/.test(line)) {
      if (values && last !== undefined && last.length <= longestValue)
        values[values.length - 1] = `${last} ${line.trim()}`.trim();
    } else if (name === undefined) {
      values = undefined;
    } else {
      if (++count > mostFields) return groups;
      if (!group) {
        group = new Map();
        groups.push(group);
      }
      values = group.get(name.toLowerCase()) ?? [];
      values.push(value.trim());
      group.set(name.toLowerCase(), values);
    }
  }
  return groups;
}

const headerOf = (mail: Email, name: string): string => mail.headers.find(({ key }) => key === name)?.value ?? "";

/** The bytes of the first part of one of these types; undefined without such a part. */
function partOf({ attachments }: Email, types: readonly string[]): Buffer | undefined {
  const content = attachments.find(({ mimeType }) => types.includes(mimeType))?.content;
  if (content === undefined) return undefined;
  return typeof content === "string" ? Buffer.from(content) : Buffer.from(content as Uint8Array);
}

/** The address in a field such as `rfc822; ada@example.com` (RFC 3464 §2.3.1). */
const typedAddress = (field: string | undefined): string | undefined => field?.replace(/^[^;]*;/, "");

const actions: Record<string, ReportedFate["type"]> = {
  failed: "bounced",
  delayed: "deferred",
  delivered: "delivered",
  relayed: "delivered",
  expanded: "delivered",
};

const first = (fields: Fields | undefined, name: string): string | undefined => fields?.get(name)?.[0];

/** The addresses in the fields with these names, each as `readRecipient` spells it. */
const addressesIn = (fields: Fields, ...names: string[]): string[] =>
  names.flatMap((name) => fields.get(name) ?? []).flatMap((field) => readRecipient(typedAddress(field) ?? "") ?? []);

function deliveryStatus(mail: Email, recipient: string): ReportedFate | ReportFault {
  const part = partOf(mail, ["message/delivery-status", "message/global-delivery-status"]);
  if (!part) return "not_a_report";
  // The first group is about the mail as a whole, and names no recipient. Each other group is about one recipient.
  const groups = readFieldGroups(part.toString("utf8")).flatMap((fields) => {
    const addresses = addressesIn(fields, "original-recipient", "final-recipient");
    const type = actions[(first(fields, "action") ?? "").toLowerCase().replace(/[^a-z].*$/s, "")];
    return addresses.length === 0 || type === undefined ? [] : [{ fields, addresses, type }];
  });
  if (groups.length === 0) return "no_recipient";
  const given = readRecipient(recipient) ?? "";
  const group = groups.find(({ addresses }) => addresses.includes(given));
  if (!group) return "other_recipient";
  const { fields, type } = group;
  const status = /^\s*([245]\.\d{1,3}\.\d{1,3})(?!\d)/.exec(first(fields, "status") ?? "")?.[1];
  return { type, status, diagnostic: typedAddress(first(fields, "diagnostic-code"))?.trim() };
}

/** The types of feedback by which a recipient says that the mail was unwanted (RFC 5965 §7.3, and older reports). */
const complaints = new Set(["abuse", "fraud", "virus", "opt-out", "opt-out-list"]);

function feedback(mail: Email, recipient: string): ReportedFate | ReportFault {
  const [fields] = readFieldGroups(partOf(mail, ["message/feedback-report"])?.toString("utf8") ?? "");
  if (!fields) return "not_a_report";
  if (!complaints.has((first(fields, "feedback-type") ?? "").toLowerCase())) return "not_a_complaint";
  // A report without a recipient counts too, because many providers hide the recipient who complained.
  const named = addressesIn(fields, "original-rcpt-to");
  if (named.length > 0 && !named.includes(readRecipient(recipient) ?? "")) return "other_recipient";
  return { type: "complained", status: undefined, diagnostic: undefined };
}
