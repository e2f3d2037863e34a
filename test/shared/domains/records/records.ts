import fc from "fast-check";

import { RecordType } from "../../../../shared/dns/rrset.ts";
import { parseRecord } from "../../../../shared/domains/records/input.ts";
import type { ParsedRecord, RecordInput } from "../../../../shared/domains/records/record.ts";

export const zone = "example.com";

/** The normal form of a record. Throws if the record has faults. */
export function parsed(input: RecordInput, inZone = zone): ParsedRecord {
  const read = parseRecord(input, inZone);
  if ("record" in read) return read.record;
  throw new Error(read.faults.map(({ member, message }) => `${member}: ${message}`).join("; "));
}

/** The faults of a record, each as `member: message`. */
export function faultsOf(input: RecordInput, inZone = zone): string[] {
  const read = parseRecord(input, inZone);
  return "record" in read ? [] : read.faults.map(({ member, message }) => `${member}: ${message}`);
}

export type Case = Partial<RecordInput> & { value: string };

/** Makes a record of this type with the name `www`. */
export const www =
  (type: RecordInput["type"]) =>
  (given: Case): RecordInput => ({ name: "www", type, ...given });

const letters = fc.string({
  unit: fc.constantFrom(...Array.from("abcxyz0189-_ABZüßéжאア漢Ａ")),
  minLength: 1,
  maxLength: 12,
});
const label = fc.oneof(
  letters,
  fc.constantFrom(
    "www",
    "_dmarc",
    "_domainkey",
    "_sip",
    "_tcp",
    "20230601",
    "xn--bcher-kva",
    "*",
    "in",
    "a",
    "3600",
    "mx",
  ),
);
/** Names of records. Most of them are valid. */
const names = fc.oneof(
  fc.constantFrom("@", "*", "_sip._tcp", "_dmarc", "s1._domainkey"),
  fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join(".")),
);
const hosts = fc
  .tuple(fc.array(letters, { minLength: 1, maxLength: 4 }), fc.constantFrom("com", "org.", "bücher", "xn--p1ai"))
  .map(([labels, last]) => [...labels, last].join("."));
const texts = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...Array.from('"\\;() \t@$*0129aé☃\u{1f600}')), minLength: 1, maxLength: 40 }),
  fc.string({ minLength: 200, maxLength: 1_500 }),
  fc.constantFrom("v=spf1 mx -all", "v=DMARC1; p=none", "v=DKIM1; p=", '"v=spf1 " "-all"', "\ufeffa", "a\u2028b"),
);
const addresses = fc.oneof(fc.ipV4(), fc.ipV6());
const caaValues = fc.constantFrom(
  ";",
  "ca.example",
  "CA.example; a=b;c=d/e",
  "mailto:a@b.org",
  "https://x.org/?a=b;c",
  "a@b.org",
  "+1-555",
);

const hex = (bytes: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((data) => Buffer.from(data).toString("hex"));
const certificates = fc.oneof(
  fc.tuple(fc.constantFrom("3 1 1 ", " 2  0 1 "), hex(32)).map((parts) => parts.join("")),
  fc.tuple(fc.constantFrom("0 0 2 ", "1 1 2 "), hex(64)).map((parts) => parts.join("").toUpperCase()),
  fc.tuple(fc.constant("3 0 0 "), hex(300)).map((parts) => parts.join("")),
);
const fingerprints = fc.oneof(
  fc.tuple(fc.constantFrom("1 1 ", "2 1 "), hex(20)).map((parts) => parts.join("")),
  fc.tuple(fc.constantFrom("4 2 ", "6 2 "), hex(32)).map((parts) => parts.join("")),
);

const inString = (text: string): string => text.replaceAll(/["\\]/g, "\\$&");
const protocols = fc
  .array(fc.string({ unit: fc.constantFrom(...Array.from('h23,\\";( é')), minLength: 1, maxLength: 8 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((ids) => `alpn="${inString(ids.map((id) => id.replaceAll(/[\\,]/g, "\\$&")).join(","))}"`);
const parameters = fc.tuple(
  fc.oneof(
    protocols,
    protocols.map((alpn) => `${alpn} no-default-alpn`),
    fc.constant("alpn=h2 mandatory=alpn"),
  ),
  fc.constantFrom("", "port=0", 'port="8443"', "port=65535"),
  fc.array(fc.ipV4(), { maxLength: 3 }).map((ips) => (ips.length > 0 ? `ipv4hint=${ips.join(",")}` : "")),
  fc.array(fc.ipV6(), { maxLength: 3 }).map((ips) => (ips.length > 0 ? `ipv6hint="${ips.join(",")}"` : "")),
  fc.constantFrom("", "ech=AAT+DQAA", "dohpath=/dns-query{?dns}", "ohttp"),
  fc.oneof(
    fc.constantFrom("", "key9", "key65534=a\\032b"),
    texts.map((text) => `key700="${inString(text)}"`),
  ),
);
/** Targets with their parameters in any order. */
const services = fc
  .tuple(
    fc.oneof(hosts, fc.constant(".")),
    parameters.chain((all) => fc.shuffledSubarray(all, { minLength: all.length })),
  )
  .map(([host, all]) => [host, ...all.filter((one) => one !== "")].join(" "));

/** Inputs of all record types. About half of them are valid. */
export const inputs: fc.Arbitrary<RecordInput> = fc.constantFrom(...RecordType.options).chain((type) => {
  const host = fc.oneof({ arbitrary: hosts, weight: 5 }, fc.constant("."));
  const value = {
    A: addresses,
    AAAA: addresses,
    CNAME: hosts,
    NS: hosts,
    MX: host,
    SRV: host,
    TXT: texts,
    CAA: caaValues,
    TLSA: certificates,
    SSHFP: fingerprints,
    HTTPS: services,
    SVCB: services,
  };
  const number = fc.integer({ min: 0, max: 65_535 });
  const isSrv = type === "SRV";
  const hasPriority = isSrv || type === "MX" || type === "HTTPS" || type === "SVCB";
  return fc.record({
    name: isSrv ? names.map((name) => `_sip._tcp.${name}`) : names,
    type: fc.constant(type),
    value: value[type],
    ttl: fc.option(fc.integer({ min: 60, max: 86_400 }), { nil: undefined }),
    priority: hasPriority ? fc.oneof(number, fc.constant(0)) : fc.constant(undefined),
    weight: isSrv ? fc.option(number, { nil: undefined }) : fc.constant(undefined),
    port: isSrv ? number : fc.constant(undefined),
    flags: type === "CAA" ? fc.constantFrom(0, 128, undefined) : fc.constant(undefined),
    tag: type === "CAA" ? fc.constantFrom("issue", "IssueWild", "iodef", "contactemail") : fc.constant(undefined),
  });
});

/** Valid records in their normal form. */
export const records: fc.Arbitrary<ParsedRecord> = inputs
  .map((input) => parseRecord(input, zone))
  .filter((read) => "record" in read)
  .map(({ record }) => record);
