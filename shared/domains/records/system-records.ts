import { platform } from "../../core/platform.ts";
import type { StoredDomain } from "../domain.ts";
import { selector, type Dkim } from "./dkim-keys.ts";
import type { ParsedRecord } from "./record.ts";
import { isSpf } from "./spf.ts";

const ttl = 3_600;

type Settings = Pick<StoredDomain, "dmarc_policy" | "dmarc_report_email">;

/** The DMARC record of a domain: the policy for mail that claims falsely to be from it (RFC 7489). */
export const dmarcRecord = ({ dmarc_policy, dmarc_report_email }: Settings): ParsedRecord => ({
  name: "_dmarc",
  type: "TXT",
  value: `v=DMARC1; p=${dmarc_policy}${dmarc_report_email === null ? "" : `; rua=mailto:${dmarc_report_email}`}`,
  ttl,
});

const dkimName = `${selector}._domainkey`;

const senderTerm = (ip: string): string => (ip.includes(":") ? `ip6:${ip}` : `ip4:${ip}`);

/** The SPF record of a domain (RFC 7208): `senders` are the domain's own addresses, in addition to the shared ones. */
export const spfRecord = (senders: readonly string[]): ParsedRecord => ({
  name: "@",
  type: "TXT",
  value: ["v=spf1", ...senders.map(senderTerm), `include:${platform().spfInclude}`, "~all"].join(" "),
  ttl,
});

/** The records that a domain needs to receive and send mail here. `senders` are the domain's own sending addresses. */
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
 * The reason why a customer cannot have a record: its place is reserved for a system record, which may or may not exist
 * yet. Undefined when the place is free.
 */
export function reservedFor({ name, type, value }: Pick<ParsedRecord, "name" | "type" | "value">): string | undefined {
  if (ownNames.has(name)) return `The name ${name} is reserved for the records that mail needs`;
  const hidden = type === "NS" ? [...ownNames].find((own) => own.endsWith(`.${name}`)) : undefined;
  if (hidden !== undefined)
    return `If ${name} were delegated, the record at ${hidden}, which mail needs, would be lost`;
  if (name !== "@") return undefined;
  if (type === "MX") return "The domain's MX records are fixed, because its mail comes to us";
  if (type === "TXT" && isSpf(value))
    return "The domain has one SPF record, which follows the addresses that it sends from";
  return undefined;
}
