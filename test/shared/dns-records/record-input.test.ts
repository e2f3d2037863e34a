import fc from "fast-check";
import { expect, test } from "vitest";

import { parseRecord } from "../../../shared/dns-records/record-input.ts";
import type { RecordInput } from "../../../shared/dns-records/record.ts";
import { RecordType } from "../../../shared/dns/rrset.ts";
import { faultsOf, inputs, parsed, zone } from "./records.ts";

type Case = Partial<RecordInput> & { value: string };
const www = (type: RecordInput["type"]) => (given: Case) => ({ name: "www", type, ...given });

const fourNumbers = "write four numbers from 0 to 255, such as 192.0.2.1";
test.each([
  ["", `"" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.2", `"192.0.2" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.2.1.1", `"192.0.2.1.1" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.2.256", `"192.0.2.256" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.2.1:80", `"192.0.2.1:80" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.2.1 192.0.2.2", `"192.0.2.1 192.0.2.2" is not an IPv4 address: ${fourNumbers}`],
  ["１92.0.2.1", `"１92.0.2.1" is not an IPv4 address: ${fourNumbers}`],
  ["3221225985", `"3221225985" is not an IPv4 address: ${fourNumbers}`],
  ["0xc0.0.2.1", `"0xc0.0.2.1" is not an IPv4 address: ${fourNumbers}`],
  ["192.0.02.1", `"192.0.02.1" has a number with a leading zero: ${fourNumbers}`],
  ["192.0.2.0/24", '"192.0.2.0/24" is a network: write one address'],
  ["2001:db8::1", "This is an IPv6 address: use an AAAA record"],
  ["host.example.org", '"host.example.org" is a name: use a CNAME record, or write its address'],
])("refuses an A record with %j: %s", (value, message) =>
  expect(faultsOf(www("A")({ value }))).toEqual([`value: ${message}`]),
);

test.each([
  ["", '"" is not an IPv6 address: write it such as 2001:db8::1'],
  ["2001:db8", '"2001:db8" is not an IPv6 address: write it such as 2001:db8::1'],
  ["2001:db8::1::2", '"2001:db8::1::2" is not an IPv6 address: write it such as 2001:db8::1'],
  ["[2001:db8::1]", '"[2001:db8::1]" is not an IPv6 address: write it such as 2001:db8::1'],
  ["host.example.org", '"host.example.org" is not an IPv6 address: write it such as 2001:db8::1'],
  ["2001:db8::/32", '"2001:db8::/32" is a network: write one address'],
  ["fe80::1%eth0", '"fe80::1%eth0" has a zone (after %), which means nothing to other hosts'],
  ["192.0.2.1", "This is an IPv4 address: use an A record"],
  ["::ffff:192.0.2.1", '"::ffff:192.0.2.1" is an IPv4 address inside an IPv6 one: use an A record with 192.0.2.1'],
  ["::FFFF:c000:201", '"::FFFF:c000:201" is an IPv4 address inside an IPv6 one: use an A record with 192.0.2.1'],
])("refuses an AAAA record with %j: %s", (value, message) =>
  expect(faultsOf(www("AAAA")({ value }))).toEqual([`value: ${message}`]),
);

const notHost: [string, string][] = [
  ["", "Write the full host name, such as mail.example.com"],
  ["target", "Write the full name, such as target.example.com"],
  ["target.", "Write the full name, such as target.example.com"],
  ["@", "Write the full name instead of @: example.com"],
  ["192.0.2.1", "Write a host name, not an address"],
  ["192.0.2.1.", "Write a host name, not an address"],
  ["2001:db8::1", "Write a host name, not an address"],
  ["[2001:db8::1]", "Write a host name, not an address"],
  ["https://example.org/", "Write the host name alone, without https://"],
  ["example.org/path", "Write the host name alone, without port or path"],
  ["example.org:443", "Write the host name alone, without port or path"],
  ["a b.example.org", "A name has no spaces"],
  ["a..example.org", "The name has an empty label: two dots in a row, or a dot at its start"],
  ["*.example.org", '"*" is not allowed in names: only letters, digits, hyphens and dots are'],
  ["-a.org", 'The label "-a" must be letters, digits and hyphens, with no hyphen at its ends'],
  ["☃.org", '"☃" (U+2603) is not allowed in names: only letters, digits and hyphens are (IDNA2008, RFC 5892)'],
  ["example.123", '"example.123" is not a host name: its last label is a number'],
];
const servers: RecordInput[] = [
  { name: "www", type: "CNAME", value: "" },
  { name: "sub", type: "NS", value: "" },
  { name: "@", type: "MX", value: "", priority: 10 },
  { name: "_sip._tcp", type: "SRV", value: "", priority: 0, port: 5060 },
];
const longHosts: [string, string][] = [
  [`${"a".repeat(64)}.org`, `The label "${"a".repeat(40)}…" is longer than 63 bytes`],
  [`${"a.".repeat(126)}org`, "The name is longer than 253 bytes"],
  [`${"a".repeat(100_000)}.org`, "The name is longer than 253 bytes"],
];
test("refuses a CNAME, NS, MX or SRV record with a host that is too long", () => {
  for (const [value, message] of longHosts) {
    for (const record of servers) expect(faultsOf({ ...record, value })).toEqual([`value: ${message}`]);
  }
});

test.each(notHost)("refuses a CNAME, NS, MX or SRV record with the host %j: %s", (value, message) => {
  for (const record of servers) expect(faultsOf({ ...record, value })).toEqual([`value: ${message}`]);
});

test.each<[Case & { type: RecordInput["type"]; name: string }, string[]]>([
  [
    { name: "@", type: "CNAME", value: "a.example.org" },
    [
      "name: example.com itself cannot be a CNAME, because it has other records: use A and AAAA records, or a name such as www",
    ],
  ],
  [
    { name: "www", type: "CNAME", value: "WWW.example.com." },
    ["value: www.example.com would be an alias of itself: write the name it leads to"],
  ],
  [{ name: "www", type: "CNAME", value: "." }, ["value: Write the full host name, such as mail.example.com"]],
  [
    { name: "@", type: "NS", value: "ns1.example.org" },
    ["name: The nameservers of example.com itself are set: an NS record delegates a name below it, such as sub"],
  ],
  [
    { name: "*.sub", type: "NS", value: "ns1.example.org" },
    ["name: A wildcard cannot be delegated: write the name to delegate"],
  ],
  [
    { name: "sub", type: "NS", value: "sub.example.com" },
    ["value: sub.example.com cannot be its own nameserver: beside NS records it has no address"],
  ],
  [{ name: "sub", type: "NS", value: "ns_1.example.org" }, ['value: A host name has no underscore: "ns_1"']],
  [
    { name: "@", type: "MX", value: "mail.example.org" },
    ["priority: priority is required for MX records: a whole number from 0 to 65535"],
  ],
  [
    { name: "@", type: "MX", value: "mail.example.org", priority: 65_536 },
    ["priority: priority must be a whole number from 0 to 65535"],
  ],
  [
    { name: "@", type: "MX", value: "mail.example.org", priority: -1 },
    ["priority: priority must be a whole number from 0 to 65535"],
  ],
  [
    { name: "@", type: "MX", value: "10 mail.example.org", priority: 10 },
    ["value: Write only the host here: priority is a member of its own"],
  ],
  [
    { name: "@", type: "MX", value: "mail_1.example.org", priority: 10 },
    ['value: A host name has no underscore: "mail_1"'],
  ],
  [
    { name: "@", type: "MX", value: ".", priority: 10 },
    ['priority: priority must be 0 beside the value ".", which refuses all mail (RFC 7505)'],
  ],
  [
    { name: "sip", type: "SRV", value: "a.example.org", priority: 0, port: 1 },
    ["name: The name of an SRV record is its service and protocol, such as _sip._tcp or _sip._tcp.sub"],
  ],
  [
    { name: "*._tcp", type: "SRV", value: "a.example.org", priority: 0, port: 1 },
    ["name: The name of an SRV record is its service and protocol, such as _sip._tcp or _sip._tcp.sub"],
  ],
  [
    { name: "_sip._tcp", type: "SRV", value: "0 5 5060 a.example.org" },
    [
      "value: Write only the host here: priority, weight and port are members of their own",
      "priority: priority is required for SRV records: a whole number from 0 to 65535",
      "port: port is required for SRV records: a whole number from 0 to 65535",
    ],
  ],
  [
    { name: "_sip._tcp", type: "SRV", value: "a.example.org", priority: 0.5, weight: 65_536, port: NaN },
    [
      "priority: priority must be a whole number from 0 to 65535",
      "weight: weight must be a whole number from 0 to 65535",
      "port: port must be a whole number from 0 to 65535",
    ],
  ],
  [
    { name: "www", type: "A", value: "192.0.2.1", ttl: 59 },
    ["ttl: ttl must be a whole number of seconds from 60 to 86400"],
  ],
  [
    { name: "www", type: "A", value: "192.0.2.1", ttl: 86_401 },
    ["ttl: ttl must be a whole number of seconds from 60 to 86400"],
  ],
  [
    { name: "www", type: "A", value: "192.0.2.1", ttl: 60.5 },
    ["ttl: ttl must be a whole number of seconds from 60 to 86400"],
  ],
  [
    { name: "", type: "A", value: "x", ttl: 0, priority: 1, weight: 1, port: 1, flags: 0, tag: "issue" },
    [
      "name: The name is empty: write @ for example.com itself",
      `value: "x" is not an IPv4 address: ${fourNumbers}`,
      "ttl: ttl must be a whole number of seconds from 60 to 86400",
      "priority: priority is only for MX and SRV records",
      "weight: weight is only for SRV records",
      "port: port is only for SRV records",
      "flags: flags is only for CAA records",
      "tag: tag is only for CAA records",
    ],
  ],
])("says all that is wrong with %j", (input, faults) => expect(faultsOf(input)).toEqual(faults));

const issuer = 'is not the domain of a certification authority: write one, such as letsencrypt.org, or ";" for nobody';
test.each([
  ["issue", "", "value: The value is empty"],
  ["issue", '""', "value: The value is empty"],
  ["issue", "https://ca.example", `value: "https://ca.example" ${issuer}`],
  ["issuewild", "a b", `value: "a b" ${issuer}`],
  ["issuemail", "-a.example", `value: "-a.example" ${issuer}`],
  ["issue", "ca.example; account", 'value: "account" is not a parameter: write name=value after the semicolon'],
  ["issue", "ca.example;; a=b", 'value: "" is not a parameter: write name=value after the semicolon'],
  ["issue", '0 issue "ca.example"', "value: Write only the value here: flags and tag are members of their own"],
  ["issue", 'ca.example; a="b"', "value: The value has a quotation mark in it"],
  ["issue", "bücher.example", "value: The value of a CAA record is ASCII, in one line"],
  ["issue", "ca.example\na.example", "value: The value of a CAA record is ASCII, in one line"],
  ["iodef", "security@example.com", "value: Write mailto: before the address: mailto:security@example.com"],
  [
    "iodef",
    "ftp://example.com",
    "value: The value of iodef is a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  [
    "iodef",
    "https://a b",
    "value: The value of iodef is a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  [
    "iodef",
    "mailto:security",
    "value: The value of iodef is a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  ["contactemail", "security", "value: The value of contactemail is one email address, such as security@example.com"],
  [
    "contactphone",
    "555-0100",
    "value: The value of contactphone is one phone number with its country, such as +1-555-0100",
  ],
  [
    "issuer",
    "ca.example",
    "tag: tag must be one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
  [
    "",
    "ca.example",
    "tag: tag must be one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
  [
    undefined,
    "ca.example",
    "tag: tag is required for CAA records: one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
])("refuses a CAA record with %s %j: %s", (tag, value, fault) =>
  expect(faultsOf({ name: "@", type: "CAA", tag, value })).toEqual([fault]),
);

test.each([1, 127, 129, 255, -128])("refuses the flags %d of a CAA record", (flags) =>
  expect(faultsOf({ name: "@", type: "CAA", tag: "issue", value: ";", flags })).toEqual([
    "flags: flags must be 0, or 128 for critical",
  ]),
);

test.each([
  ["", "The text is empty"],
  [" ", "The text is empty"],
  ['""', "The text is empty"],
  ["a\nb", "The text has a control character, U+000A: remove it"],
  ["a\tb", "The text has a control character, U+0009: remove it"],
  ['"a\\010b"', "The text has a control character, U+000A: remove it"],
  ["\ud800", "The text has half of a character (an unpaired surrogate)"],
  ['"\\195"', "The text has escapes that are not UTF-8: write it without quotes"],
  ['"\\256"', "The text has escapes that are not UTF-8: write it without quotes"],
  ['"\\"a\\""', "The text is in quotes twice: write it without them"],
  ['"v=spf1 -all', "Remove what is before v=: nobody finds the record behind it"],
  ["“v=DMARC1; p=none”", "Remove what is before v=: nobody finds the record behind it"],
])("refuses a TXT record with %j: %s", (value, message) =>
  expect(faultsOf(www("TXT")({ value }))).toEqual([`value: ${message}`]),
);

const counted =
  "because each byte of a quotation mark, backslash or character outside of ASCII counts four times: the most is 3900";
test.each<[string, RecordInput, string]>([
  ["a text of 2049 bytes", www("TXT")({ value: "a".repeat(2_049) }), "The text is 2049 bytes long: the most is 2048"],
  ["a text of 1025 é", www("TXT")({ value: "é".repeat(1_025) }), "The text is 2050 bytes long: the most is 2048"],
  ["a text of 488 é", www("TXT")({ value: "é".repeat(488) }), `The text counts as 3904 bytes, ${counted}`],
  ["what could be no text", www("TXT")({ value: "a".repeat(100_000) }), "The text is longer than 2048 bytes"],
  [
    "a long CAA value",
    { name: "@", type: "CAA", tag: "issue", value: `a.b; c=${"d".repeat(250)}` },
    "The value is longer than 255 bytes",
  ],
  [
    "what could be no CAA value",
    { name: "@", type: "CAA", tag: "issue", value: "a".repeat(100_000) },
    "The value is longer than 255 bytes",
  ],
])("refuses %s", (_, input, message) => expect(faultsOf(input)).toEqual([`value: ${message}`]));

test.each(["a".repeat(2_048), "é".repeat(487), "\\".repeat(974)])("takes a text as long as one can be", (value) => {
  expect(parsed(www("TXT")({ value })).value).toBe(value);
});

test.each<[RecordInput, Omit<ReturnType<typeof parsed>, "name" | "type">]>([
  [
    { name: "www", type: "A", value: " 192.0.2.1\n" },
    { value: "192.0.2.1", ttl: 3_600 },
  ],
  [
    { name: "www", type: "A", value: "10.0.0.1", ttl: 60 },
    { value: "10.0.0.1", ttl: 60 },
  ],
  [
    { name: "www", type: "A", value: "127.0.0.1", ttl: 86_400 },
    { value: "127.0.0.1", ttl: 86_400 },
  ],
  [
    { name: "www", type: "AAAA", value: "2001:DB8:0:0:0:0:0:1" },
    { value: "2001:db8::1", ttl: 3_600 },
  ],
  [
    { name: "www", type: "AAAA", value: "1:0:0:2:0:0:0:3" },
    { value: "1:0:0:2::3", ttl: 3_600 },
  ],
  [
    { name: "www", type: "AAAA", value: "1:2:3:0:5:6:7:8" },
    { value: "1:2:3:0:5:6:7:8", ttl: 3_600 },
  ],
  [
    { name: "www", type: "AAAA", value: "64:ff9b::192.0.2.1" },
    { value: "64:ff9b::c000:201", ttl: 3_600 },
  ],
  [
    { name: "www", type: "AAAA", value: "::192.0.2.1" },
    { value: "::c000:201", ttl: 3_600 },
  ],
  [
    { name: "www", type: "AAAA", value: "fe80::1" },
    { value: "fe80::1", ttl: 3_600 },
  ],
  [
    { name: "www", type: "CNAME", value: "Example.COM" },
    { value: "example.com", ttl: 3_600 },
  ],
  [
    { name: "*", type: "CNAME", value: "a.example.org." },
    { value: "a.example.org", ttl: 3_600 },
  ],
  [
    { name: "s1._domainkey", type: "CNAME", value: "s1-a._domainkey.bücher.example" },
    { value: "s1-a._domainkey.xn--bcher-kva.example", ttl: 3_600 },
  ],
  [
    { name: "@", type: "MX", value: "Mail.Example.ORG.", priority: 0 },
    { value: "mail.example.org", ttl: 3_600, priority: 0 },
  ],
  [
    { name: "sub", type: "MX", value: ".", priority: 0 },
    { value: ".", ttl: 3_600, priority: 0 },
  ],
  [
    { name: "_sip._tcp", type: "SRV", value: "a.example.org", priority: 1, port: 2 },
    { value: "a.example.org", ttl: 3_600, priority: 1, weight: 0, port: 2 },
  ],
  [
    { name: "_sip._tcp.sub", type: "SRV", value: ".", priority: 0, weight: 9, port: 0 },
    { value: ".", ttl: 3_600, priority: 0, weight: 9, port: 0 },
  ],
  [
    { name: "sub", type: "NS", value: "NS1.sub.example.com." },
    { value: "ns1.sub.example.com", ttl: 3_600 },
  ],
  [
    { name: "@", type: "CAA", value: ";", tag: "issue" },
    { value: ";", ttl: 3_600, flags: 0, tag: "issue" },
  ],
  [
    { name: "@", type: "CAA", value: '"CA.example"', tag: "IssueWild", flags: 128 },
    { value: "ca.example", ttl: 3_600, flags: 128, tag: "issuewild" },
  ],
  [
    { name: "@", type: "CAA", value: "ca.example;a = B ;c=d/e;", tag: "issue" },
    { value: "ca.example; a=B; c=d/e", ttl: 3_600, flags: 0, tag: "issue" },
  ],
  [
    { name: "@", type: "CAA", value: "mailto:a@example.org", tag: "iodef" },
    { value: "mailto:a@example.org", ttl: 3_600, flags: 0, tag: "iodef" },
  ],
  [
    { name: "@", type: "CAA", value: "+1-555-0100", tag: "contactphone" },
    { value: "+1-555-0100", ttl: 3_600, flags: 0, tag: "contactphone" },
  ],
  [
    { name: "www", type: "TXT", value: " a  b " },
    { value: " a  b ", ttl: 3_600 },
  ],
  [
    { name: "www", type: "TXT", value: '"a b"' },
    { value: "a b", ttl: 3_600 },
  ],
  [
    { name: "www", type: "TXT", value: '"a;" "b"\n"\\"\\\\\\195\\188é"' },
    { value: 'a;b"\\üé', ttl: 3_600 },
  ],
  [
    { name: "www", type: "TXT", value: '"a" and "b"' },
    { value: '"a" and "b"', ttl: 3_600 },
  ],
  [
    { name: "www", type: "TXT", value: 'a\\032"' },
    { value: 'a\\032"', ttl: 3_600 },
  ],
])("%j has its normal form", (input, form) =>
  expect(parsed(input)).toEqual({ name: input.name, type: input.type, ...form }),
);

test("AAAA addresses have the one spelling that browsers give them too (RFC 5952)", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const browsers = new URL(`http://[${address}]/`).hostname.slice(1, -1);
      fc.pre(!browsers.startsWith("::ffff:"));
      expect(parsed({ name: "@", type: "AAAA", value: address }).value).toBe(browsers);
    }),
    { numRuns: 300 },
  );
});

test("a normal form is read as itself, in any type", () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const read = parseRecord(input, zone);
      const again = "record" in read ? parseRecord(read.record, zone) : read;
      expect(again).toEqual(read);
    }),
    { numRuns: 1_000 },
  );
});

test("any strings and numbers make a record or faults, and never an exception", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.constantFrom("_dmarc", "s._domainkey", "v=spf1 ", "constructor"),
  );
  const number = fc.option(fc.oneof(fc.integer(), fc.double()), { nil: undefined });
  const begun = fc
    .tuple(fc.constantFrom("", "v=spf1 ", "v=DMARC1; p=", "v=DKIM1; p=", '"'), text)
    .map((parts) => parts.join(""));
  const any = fc.record({
    name: text,
    type: fc.constantFrom(...RecordType.options),
    value: begun,
    ttl: number,
    priority: number,
    weight: number,
    port: number,
    flags: number,
    tag: fc.option(fc.oneof(text, fc.constantFrom("issue", "iodef", "contactemail")), { nil: undefined }),
  });
  fc.assert(
    fc.property(any, (input) => {
      const read = parseRecord(input, zone);
      const messages = "record" in read ? [] : read.faults.map(({ message }) => message);
      expect(messages.filter((message) => message === "" || message.endsWith("."))).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
