import { platform } from "../../core/platform.ts";
import type { StoredDomain } from "../domain.ts";
import { selector, type Dkim } from "./dkim-keys.ts";
import type { ParsedRecord } from "./record.ts";
import { isSpf } from "./spf.ts";

const ttl = 3_600;

type Settings = Pick<StoredDomain, "dmarc_policy" | "dmarc_report_email">;

/** The policy that a domain publishes for mail that is not from it (RFC 7489). */
export const dmarcRecord = ({ dmarc_policy, dmarc_report_email }: Settings): ParsedRecord => ({
  name: "_dmarc",
  type: "TXT",
  value: `v=DMARC1; p=${dmarc_policy}${dmarc_report_email === null ? "" : `; rua=mailto:${dmarc_report_email}`}`,
  ttl,
});

const dkimName = `${selector}._domainkey`;

const senderTerm = (ip: string): string => (ip.includes(":") ? `ip6:${ip}` : `ip4:${ip}`);

/** The record that says where a domain's mail may come from (RFC 7208): addresses of its own beside the shared ones. */
export const spfRecord = (senders: readonly string[]): ParsedRecord => ({
  name: "@",
  type: "TXT",
  value: ["v=spf1", ...senders.map(senderTerm), `include:${platform().spfInclude}`, "~all"].join(" "),
  ttl,
});

/** The records by which a domain's mail comes to us and goes out from us; `senders` are addresses of its own. */
export function systemRecords(
  settings: Settings,
  { public_key }: Pick<Dkim, "public_key">,
  senders: readonly string[] = [],
): ParsedRecord[] {
  const { mx, autoconfig, autodiscover } = platform();
  return [
    ...mx.map(({ priority, host }): ParsedRecord => ({ name: "@", type: "MX", value: host, ttl, priority })),
    spfRecord(senders),
    { name: dkimName, type: "TXT", value: `v=DKIM1; k=rsa; p=${public_key}`, ttl },
    dmarcRecord(settings),
    { name: "autoconfig", type: "CNAME", value: autoconfig, ttl },
    { name: "autodiscover", type: "CNAME", value: autodiscover, ttl },
  ];
}

const ownNames = new Set([dkimName, "_dmarc", "autoconfig", "autodiscover"]);

/**
 * Why a customer cannot have a record, because its place is for a system record, whether or not that is there yet;
 * undefined when they can.
 */
export function reservedFor({ name, type, value }: Pick<ParsedRecord, "name" | "type" | "value">): string | undefined {
  if (ownNames.has(name)) return `The name ${name} is for the records by which mail works here`;
  const hidden = type === "NS" ? [...ownNames].find((own) => own.endsWith(`.${name}`)) : undefined;
  if (hidden !== undefined)
    return `With ${name} delegated, the record at ${hidden} would be lost, by which mail works here`;
  if (name !== "@") return undefined;
  if (type === "MX") return "The domain's mail comes to us: its MX records follow from that";
  if (type === "TXT" && isSpf(value)) return "The domain has one SPF record, which follows from where it sends from";
  return undefined;
}
