import { isIPv6 } from "node:net";

import { platform } from "../../core/platform.ts";
import type { StoredDomain } from "../domain.ts";
import { type Dkim, type PublicKey, selectors } from "./dkim-keys.ts";
import { mtaStsText } from "./mta-sts.ts";
import type { ParsedRecord } from "./record.ts";
import { isSpf } from "./spf.ts";

const ttl = 3_600;

/** The purpose of a system record: a part of the domain's mail, or a setting of the domain. */
type Purpose =
  | "mx"
  | "spf"
  | "dkim"
  | "dkim_next"
  | "dkim_former"
  | "dmarc"
  | "autoconfig"
  | "autodiscover"
  | "redirect"
  | "mta_sts"
  | "tls_rpt";

/** A record that a domain's mail or its settings need. */
export type SystemRecord = ParsedRecord & { purpose: Purpose };

/**
 * The optional settings of a domain. The names of a setting's records are reserved only while the setting is in use.
 */
type OptionalSettings = Pick<StoredDomain, "redirect_url" | "mta_sts_mode" | "tls_report_email">;

type Settings = Pick<StoredDomain, "dmarc_policy" | "dmarc_report_email"> &
  OptionalSettings & { spf_includes: readonly string[] };

/** The DMARC record of a domain: the policy for mail that claims falsely to be from the domain (RFC 7489). */
export const dmarcRecord = ({
  dmarc_policy,
  dmarc_report_email,
}: Pick<Settings, "dmarc_policy" | "dmarc_report_email">): SystemRecord => ({
  purpose: "dmarc",
  name: "_dmarc",
  type: "TXT",
  value: `v=DMARC1; p=${dmarc_policy}${dmarc_report_email === null ? "" : `; rua=mailto:${dmarc_report_email}`}`,
  ttl,
});

/** The name of the DKIM record for the key with this selector. */
export const dkimNameOf = (selector: string): string => `${selector}._domainkey`;

/** The record of a DKIM key (RFC 6376 §3.6.1). The default `purpose` is for the key that signs. */
export const dkimRecord = (
  { selector, public_key }: PublicKey,
  purpose: "dkim" | "dkim_next" | "dkim_former" = "dkim",
): SystemRecord => ({
  purpose,
  name: dkimNameOf(selector),
  type: "TXT",
  value: `v=DKIM1; k=rsa; p=${public_key}`,
  ttl,
});

const senderTerm = (ip: string): string => (ip.includes(":") ? `ip6:${ip}` : `ip4:${ip}`);

/**
 * The SPF record of a domain (RFC 7208). `senders` are the domain's own addresses, in addition to the shared addresses,
 * and `includes` are the names of the SPF records of other senders. If `includes` has the name of the product's own SPF
 * record, this adds nothing.
 */
export const spfRecord = (senders: readonly string[], includes: readonly string[] = []): SystemRecord => {
  const included = [...new Set([platform().spfInclude, ...includes])].map((name) => `include:${name}`);
  return {
    purpose: "spf",
    name: "@",
    type: "TXT",
    value: ["v=spf1", ...senders.map(senderTerm), ...included, "~all"].join(" "),
    ttl,
  };
};

/** The system records that follow a domain's settings. `senders` are the domain's own sending addresses. */
export const settingRecords = (settings: Settings, senders: readonly string[]): SystemRecord[] => [
  spfRecord(senders, settings.spf_includes),
  ...policyRecords(settings),
];

const policyRecords = (settings: Settings): SystemRecord[] => [
  dmarcRecord(settings),
  ...redirectRecords(settings),
  ...mtaStsRecords(settings),
  ...tlsRptRecords(settings),
];

/** The records that lead the web requests for a redirecting domain to the web hosts of this deployment. */
function redirectRecords({ redirect_url }: OptionalSettings): SystemRecord[] {
  const { webHost, webAddresses } = platform();
  if (redirect_url === null || webHost === undefined) return [];
  const purpose = "redirect";
  return [
    ...webAddresses.map((value) => {
      const type = isIPv6(value) ? ("AAAA" as const) : ("A" as const);
      return { purpose, name: "@", type, value, ttl } as const;
    }),
    { purpose, name: "www", type: "CNAME", value: webHost, ttl },
  ];
}

/** The records that announce the MTA-STS policy of a domain, and lead to it (RFC 8461 §3). */
function mtaStsRecords({ mta_sts_mode }: OptionalSettings): SystemRecord[] {
  const { webHost } = platform();
  if (mta_sts_mode === null || webHost === undefined) return [];
  const purpose = "mta_sts";
  return [
    { purpose, name: "mta-sts", type: "CNAME", value: webHost, ttl },
    { purpose, name: "_mta-sts", type: "TXT", value: mtaStsText(mta_sts_mode), ttl },
  ];
}

/** The record with the address to which senders report on their TLS connections (RFC 8460 §3). */
function tlsRptRecords({ tls_report_email }: OptionalSettings): SystemRecord[] {
  if (tls_report_email === null) return [];
  const value = `v=TLSRPTv1; rua=mailto:${tls_report_email}`;
  return [{ purpose: "tls_rpt", name: "_smtp._tls", type: "TXT", value, ttl }];
}

/** The records that a domain needs for its mail and its settings. `senders` are the domain's own sending addresses. */
export function systemRecords(
  settings: Settings,
  dkim: PublicKey & { next?: Dkim["next"]; former?: Dkim["former"] },
  senders: readonly string[] = [],
): SystemRecord[] {
  const { mx, autoconfig, autodiscover } = platform();
  return [
    ...mx.map(({ priority, host }) => ({ purpose: "mx", name: "@", type: "MX", value: host, ttl, priority }) as const),
    spfRecord(senders, settings.spf_includes),
    dkimRecord(dkim),
    ...(dkim.next ? [dkimRecord(dkim.next, "dkim_next")] : []),
    ...(dkim.former ? [dkimRecord(dkim.former, "dkim_former")] : []),
    ...policyRecords(settings),
    { purpose: "autoconfig", name: "autoconfig", type: "CNAME", value: autoconfig, ttl },
    { purpose: "autodiscover", name: "autodiscover", type: "CNAME", value: autodiscover, ttl },
  ];
}

const mailNames = [...selectors.map(dkimNameOf), "_dmarc", "autoconfig", "autodiscover"];

/** Whether a delegation of this name would hide records that mail needs. */
export const hidesMailRecords = (name: string): boolean => mailNames.some((own) => own.endsWith(`.${name}`));

/** The types of records at the apex by which browsers find the web server of a domain. */
const addressTypes = new Set<string>(["A", "AAAA", "CNAME", "HTTPS"]);

/** The names that are reserved for the system records of a domain's mail and settings. */
const reservedNames = ({ redirect_url, mta_sts_mode, tls_report_email }: OptionalSettings): string[] => [
  ...mailNames,
  ...(redirect_url === null ? [] : ["www"]),
  ...(mta_sts_mode === null ? [] : ["mta-sts", "_mta-sts"]),
  ...(tls_report_email === null ? [] : ["_smtp._tls"]),
];

/**
 * The reason why a customer cannot have a record in a domain with these settings: the record's name, or its type at
 * this name, is reserved for system records. The system records need not exist yet. Undefined if nothing is reserved.
 */
export function reservedFor(
  { name, type, value }: Pick<ParsedRecord, "name" | "type" | "value">,
  settings: OptionalSettings,
): string | undefined {
  const reserved = reservedNames(settings);
  if (name === "_dmarc") return "The domain's DMARC record follows dmarc_policy and dmarc_report_email";
  if (reserved.includes(name)) return `The name ${name} is reserved for the records of the domain's mail and settings`;
  const hidden = type === "NS" ? reserved.find((own) => own.endsWith(`.${name}`)) : undefined;
  if (hidden !== undefined)
    return `If ${name} were delegated, the record at ${hidden}, which the domain's mail or settings need, would be lost`;
  if (name !== "@") return undefined;
  if (type === "MX") return "The domain's MX records are fixed, because its mail comes to us";
  if (type === "TXT" && isSpf(value))
    return "The domain has one SPF record, which follows spf_includes and the addresses that the domain sends from";
  if (settings.redirect_url !== null && addressTypes.has(type)) {
    return "The domain's addresses are fixed while it redirects";
  }
  return undefined;
}
