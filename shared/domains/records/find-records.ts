import { randomBytes } from "node:crypto";

import { mapConcurrently } from "../../core/concurrency.ts";
import type { AnsweredRecord, DnsAnswer, ZoneResolver } from "../../dns/answer.ts";
import { type Budget, openBudget } from "../../dns/budget.ts";
import type { WireRecord } from "../../dns/message.ts";
import { answeredRecordOf } from "../../dns/rrset.ts";
import { readServiceWire } from "../../dns/svcb.ts";
import { isWithin } from "../../dns/wire-name.ts";
import { absoluteName } from "./names.ts";
import type { ParsedRecord } from "./record.ts";
import { hidesMailRecords } from "./system-records.ts";
import { isOfNameservers, typeFault } from "./zone-file.ts";

/** The records that a zone has in the public DNS, and how they were found. */
export type FoundRecords = {
  method: "transfer" | "lookups";
  /** Names are absolute in values, and relative to the zone in `name`. */
  records: ParsedRecord[];
  /** The records that zones here cannot have, as texts, with the reasons. */
  skipped: { text: string; reason: string }[];
  /** How many questions got no answer. `records` may lack the records that such an answer would have. */
  unanswered: number;
};

/**
 * Finds the records of a zone in the public DNS. Takes some 15 seconds at most.
 * - If a nameserver of the zone transfers the zone, finds all records.
 * - Otherwise finds the records at the usual names, and at the names in the zone to which these records point. If a
 *   name belongs to a delegation, usually finds the NS records of the delegation instead.
 * - Only a transfer finds records of the types HTTPS, SVCB, SSHFP and TLSA.
 * - Records of DNSSEC are left out, because they belong to the former nameservers.
 */
export async function findRecords(resolver: ZoneResolver, zone: string): Promise<FoundRecords> {
  const transferred = await resolver.transfer(zone);
  if (!transferred) return lookUpRecords(resolver, zone);
  const records: ParsedRecord[] = [];
  const skipped = transferred.odd.map(({ name, type }) => ({ text: `${name}. ${type}`, reason: oddName }));
  for (const wire of transferred.records) {
    const record = transferredRecord(wire, zone);
    const reason = reasonAgainst(wire, record);
    if (reason !== undefined) skipped.push({ text: `${wire.name}. ${zoneTypeOf(wire)}`, reason });
    else if (record) records.push(record);
  }
  return { method: "transfer", records, skipped, unanswered: 0 };
}

const oddName = "The name has characters that names here cannot have. Use letters, digits, hyphens and underscores";

/** The types that `dns-packet` knows only by their number. */
const serviceTypes = new Map<string, "HTTPS" | "SVCB">([
  ["UNKNOWN_64", "SVCB"],
  ["UNKNOWN_65", "HTTPS"],
]);

/** The type of a transferred record: its mnemonic, or a text such as `TYPE65534` (RFC 3597 §5). */
const zoneTypeOf = ({ type }: { type: string }): string => serviceTypes.get(type) ?? type.replace("UNKNOWN_", "TYPE");

/**
 * The reason why a zone here cannot have a transferred record. Undefined for a record that a zone here can have, and
 * for a type that is left out: SOA and the types of DNSSEC.
 */
function reasonAgainst(wire: WireRecord, record: ParsedRecord | undefined): string | undefined {
  const type = zoneTypeOf(wire);
  if (isOfNameservers(type)) return undefined;
  if (!record) return typeFault(type) ?? "The data of the record cannot be read";
  // A name with other characters is skipped, because `parseRecord` would misread it: it reads a name `@` as the zone
  // itself, and backslashes and quotation marks as escapes.
  if (!/^[a-z0-9_*.-]*$/.test(wire.name)) return oddName;
  return isLossy(record) ? notUtf8 : undefined;
}

const notUtf8 = "The text is not UTF-8";

/** Whether a part of a text was not UTF-8. Decoding has put the replacement character U+FFFD in its place. */
const isLossy = ({ type, value }: ParsedRecord): boolean => type === "TXT" && value.includes("\ufffd");

const relativeName = (name: string, zone: string): string => (name === zone ? "@" : name.slice(0, -zone.length - 1));

/** Converts a record of an answer into the form of stored records; undefined for a type that zones here cannot have. */
function parsedRecord(found: AnsweredRecord, zone: string): ParsedRecord | undefined {
  const { ttl } = found;
  const name = relativeName(found.name, zone);
  switch (found.type) {
    case "A":
    case "AAAA":
      return { name, type: found.type, value: found.address, ttl };
    case "CNAME":
    case "NS":
      return { name, type: found.type, value: found.host, ttl };
    case "MX":
      return { name, type: "MX", value: found.host === "" ? "." : found.host, ttl, priority: found.priority };
    case "TXT":
      return { name, type: "TXT", value: found.text, ttl };
    case "SRV": {
      const { host, priority, weight, port } = found;
      return { name, type: "SRV", value: host === "" ? "." : host, ttl, priority, weight, port };
    }
    case "CAA": {
      const { flags, tag, value } = found;
      return { name, type: "CAA", value, ttl, flags, tag };
    }
    default:
      return undefined;
  }
}

/**
 * A transferred record; undefined for a type that our zones cannot have, such as SOA and the types of DNSSEC, and for
 * data that cannot be read.
 */
function transferredRecord(record: WireRecord, zone: string): ParsedRecord | undefined {
  const found = answeredRecordOf(record);
  if (found) return parsedRecord(found, zone);
  const name = relativeName(record.name, zone);
  const ttl = "ttl" in record ? (record.ttl ?? 0) : 0;
  if (record.type === "TLSA") {
    const { usage, selector, matchingType, certificate } = record.data;
    return { name, type: "TLSA", value: `${usage} ${selector} ${matchingType} ${certificate.toString("hex")}`, ttl };
  }
  if (record.type === "SSHFP") {
    const { algorithm, hash, fingerprint } = record.data;
    return { name, type: "SSHFP", value: `${algorithm} ${hash} ${fingerprint}`, ttl };
  }
  return serviceRecord(record, name, ttl);
}

function serviceRecord({ type, data }: { type: string; data: unknown }, name: string, ttl: number) {
  const kind = serviceTypes.get(type);
  const read = kind && Buffer.isBuffer(data) ? readServiceWire(data) : undefined;
  return kind && read && { name, type: kind, ttl, ...read };
}

const timeoutMs = 10_000;
const maxQueries = 2_000;
const atOnce = 24;

type Asked = AnsweredRecord["type"];
type Lookup = { resolver: ZoneResolver; zone: string; budget: Budget };

/** The records at one name, and how many questions about the name got no answer. */
type Answers = { records: ParsedRecord[]; unanswered: number };

const typesOf = (name: string): readonly Asked[] => {
  if (name === "@") return ["A", "AAAA", "MX", "TXT", "CAA"];
  // The address for reports about TLS (RFC 8460 §3) has the form of a service's name, but is a TXT record.
  if (name === "_smtp._tls") return ["TXT"];
  if (/^_[^.]+\._(?:tcp|udp|tls)$/.test(name)) return ["SRV"];
  return name.startsWith("_") || name.includes("._") ? ["TXT"] : ["A", "AAAA", "MX", "TXT"];
};

async function askFor(name: string, type: Asked, { resolver, zone, budget }: Lookup): Promise<DnsAnswer> {
  return resolver.resolve(absoluteName(name, zone), type, budget);
}

const askEach = (name: string, types: readonly Asked[], lookup: Lookup): Promise<DnsAnswer[]> =>
  Promise.all(types.map((type) => askFor(name, type, lookup)));

/**
 * The answers about a name. For the zone itself, asks for the usual types. For any other name, asks in this order, and
 * stops at the first that exists:
 * - the NS records of the delegation to which the name belongs, with the addresses if the name is one of its
 *   nameservers. A delegation that would hide records of our mail cannot be kept, so this step skips it.
 * - the CNAME of the name
 * - the records of the usual types
 */
async function answersAt(name: string, lookup: Lookup): Promise<readonly DnsAnswer[]> {
  if (name === "@") return askEach(name, typesOf(name), lookup);
  const fullName = absoluteName(name, lookup.zone);
  const cut = await lookup.resolver.cut(fullName, lookup.zone, lookup.budget);
  const records = cut.status === "found" ? cut.records : [];
  const isHiding = records.some((record) => hidesMailRecords(relativeName(record.name, lookup.zone)));
  if (cut.status === "alias" || isHiding) {
    const alias = await askFor(name, "CNAME", lookup);
    return alias.status === "none" ? askEach(name, typesOf(name), lookup) : [alias];
  }
  if (cut.status === "found") {
    const isGlue = records.some((record) => record.type === "NS" && record.host === fullName);
    return [cut, ...(isGlue ? await askEach(name, ["A", "AAAA"], lookup) : [])];
  }
  // With `none`, the name has no CNAME. With `absent` or `unknown`, there is nothing more to ask.
  return cut.status === "none" ? askEach(name, typesOf(name), lookup) : [cut];
}

/** The records at a name, or the NS records of the delegation to which the name belongs. */
async function recordsAt(name: string, lookup: Lookup): Promise<Answers> {
  const { zone } = lookup;
  const answers = await answersAt(name, lookup);
  const found = answers.flatMap((answer) => (answer.status === "found" ? answer.records : []));
  return {
    records: found.flatMap((record) => {
      // If the name is an alias, an answer can have the records of the alias's target. They are kept at the name that
      // was asked. NS records are kept at the name of their delegation.
      const owner = record.type === "NS" ? record.name : absoluteName(name, zone);
      return parsedRecord({ ...record, name: owner }, zone) ?? [];
    }),
    unanswered: answers.filter(({ status }) => status === "unknown").length,
  };
}

/** The names in the zone to which records point. */
const targetsIn = (records: readonly ParsedRecord[], zone: string): string[] =>
  records.flatMap(({ type, value }) =>
    ["CNAME", "MX", "NS", "SRV"].includes(type) && value !== zone && isWithin(value, zone)
      ? [relativeName(value, zone)]
      : [],
  );

const contentOf = ({ type, value, priority = 0 }: ParsedRecord): string => `${type} ${priority} ${value}`;

/** Records without repetitions. Several names can belong to the same delegation. */
const distinct = (records: readonly ParsedRecord[]): ParsedRecord[] => [
  ...new Map(records.map((record) => [`${record.name} ${contentOf(record)}`, record])).values(),
];

/*
 * Names that zones usually have. They are looked up if the nameservers of a zone do not transfer the zone. A name that
 * does not exist costs one question.
 */

/** Hosts of web sites, mail, remote access and well-known products. */
const hosts = `
  www web www2 m blog shop store app apps api dev test staging stage beta demo old new cdn static assets img images media
  files download docs wiki help support status forum news portal login auth sso id admin panel cpanel whm git db cloud
  nextcloud intranet vpn remote gateway home ns1 ns2 go links calendar meet chat crm erp jobs pay events
  mail webmail smtp imap pop pop3 mx mx1 mx2 mail1 mail2 email exchange owa lists newsletter bounce bounces em send ftp
  sftp autodiscover autoconfig mta-sts lyncdiscover sip enterpriseenrollment enterpriseregistration msoid`;

/** Texts of mail policies and of proofs. */
const texts = `_dmarc _mta-sts _smtp._tls default._bimi _amazonses _atproto _dnslink`;

/** Selectors of the DKIM keys of mail providers and of services that send newsletters. */
const selectors = `
  default dkim mail smtp google selector1 selector2 k1 k2 k3 s1 s2 s1024 s2048 key1 key2 key3 fm1 fm2 fm3 protonmail
  protonmail2 protonmail3 zoho zmail mandrill mailjet mailo mg mx pic krs pm cm sib brevo1 brevo2 resend smtpapi mte1 mte2
  hs1 hs2 dk dkim1 dkim2 sig1 everlytickey1 everlytickey2 ctct1 ctct2 mxvault titan1 titan2`;

/** Services with SRV records (RFC 2782), most of them of mail, calendars, calls and chats. */
const services = `
  _autodiscover._tcp _imap._tcp _imaps._tcp _pop3._tcp _pop3s._tcp _submission._tcp _submissions._tcp _caldav._tcp
  _caldavs._tcp _carddav._tcp _carddavs._tcp _sip._tls _sip._tcp _sip._udp _sips._tcp _sipfederationtls._tcp
  _xmpp-client._tcp _xmpp-server._tcp _matrix._tcp _matrix-fed._tcp _minecraft._tcp _ldap._tcp _kerberos._udp`;

const splitNames = (names: string): string[] => names.trim().split(/\s+/);

/**
 * The usual names, relative to a zone. Each group is looked up with the types that its names usually have (`typesOf`).
 * Any of the names can be a CNAME instead.
 */
const usualNames = {
  hosts: splitNames(hosts),
  texts: [...splitNames(texts), ...splitNames(selectors).map((selector) => `${selector}._domainkey`)],
  services: splitNames(services),
};

/** Looks up the records of a zone at the usual names. Records of a wildcard are returned once, with the name `*`. */
async function lookUpRecords(resolver: ZoneResolver, zone: string): Promise<FoundRecords> {
  const lookup = { resolver, zone, budget: openBudget(timeoutMs, maxQueries) };
  // A random name does not exist in the zone, so its records are the records of a wildcard.
  const wildcard = await recordsAt(randomBytes(10).toString("hex"), lookup);
  const ofWildcard = new Set(wildcard.records.map(contentOf));
  const seen = new Set<string>();
  const records = wildcard.records.map((record) => ({ ...record, name: "*" }));
  let { unanswered } = wildcard;
  let names = ["@", ...usualNames.hosts, ...usualNames.texts, ...usualNames.services];
  while (names.length > 0) {
    for (const name of names) seen.add(name);
    const settled = await mapConcurrently(names, atOnce, (name) => recordsAt(name, lookup));
    const answers = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    // If a name below the zone's own name has only the records of the wildcard, these records are left out, because the
    // wildcard gives them too. A name with another record is not covered by the wildcard (RFC 4592 §3.3.1), so all its
    // records are kept.
    const found = answers.flatMap(({ records: own }) =>
      own.every((record) => record.name !== "@" && ofWildcard.has(contentOf(record))) ? [] : own,
    );
    records.push(...found);
    unanswered += answers.reduce((sum, answer) => sum + answer.unanswered, 0);
    names = [...new Set(targetsIn(found, zone))].filter((name) => !seen.has(name));
  }
  const lossy = records.filter(isLossy);
  return {
    method: "lookups",
    records: distinct(records.filter((record) => !isLossy(record))),
    skipped: lossy.map(({ name, type }) => ({ text: `${name} ${type}`, reason: notUtf8 })),
    unanswered,
  };
}
