import { expect, test } from "vitest";

import type { RecordInput } from "../../../../shared/domains/records/record.ts";
import { faultsOf, www, type Case } from "./records.ts";

const fourNumbers = "Write four numbers from 0 to 255, such as 192.0.2.1";
test.each([
  ["", `"" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.2", `"192.0.2" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.2.1.1", `"192.0.2.1.1" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.2.256", `"192.0.2.256" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.2.1:80", `"192.0.2.1:80" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.2.1 192.0.2.2", `"192.0.2.1 192.0.2.2" is not an IPv4 address. ${fourNumbers}`],
  ["１92.0.2.1", `"１92.0.2.1" is not an IPv4 address. ${fourNumbers}`],
  ["3221225985", `"3221225985" is not an IPv4 address. ${fourNumbers}`],
  ["0xc0.0.2.1", `"0xc0.0.2.1" is not an IPv4 address. ${fourNumbers}`],
  ["192.0.02.1", `"192.0.02.1" has a number with a leading zero. ${fourNumbers}`],
  ["192.0.2.0/24", '"192.0.2.0/24" is a network. Write one address'],
  ["2001:db8::1", "This is an IPv6 address. Use an AAAA record"],
  ["host.example.org", '"host.example.org" is a name. Use a CNAME record, or write its address'],
])("refuses an A record with %j: %s", (value, message) =>
  expect(faultsOf(www("A")({ value }))).toEqual([`value: ${message}`]),
);

test.each([
  ["", '"" is not an IPv6 address. Write one such as 2001:db8::1'],
  ["2001:db8", '"2001:db8" is not an IPv6 address. Write one such as 2001:db8::1'],
  ["2001:db8::1::2", '"2001:db8::1::2" is not an IPv6 address. Write one such as 2001:db8::1'],
  ["[2001:db8::1]", '"[2001:db8::1]" is not an IPv6 address. Write one such as 2001:db8::1'],
  ["host.example.org", '"host.example.org" is not an IPv6 address. Write one such as 2001:db8::1'],
  ["2001:db8::/32", '"2001:db8::/32" is a network. Write one address'],
  ["fe80::1%eth0", '"fe80::1%eth0" has a zone (after %), which has no meaning for other hosts'],
  ["192.0.2.1", "This is an IPv4 address. Use an A record"],
  ["::ffff:192.0.2.1", '"::ffff:192.0.2.1" is an IPv4 address inside an IPv6 address. Use an A record with 192.0.2.1'],
  ["::FFFF:c000:201", '"::FFFF:c000:201" is an IPv4 address inside an IPv6 address. Use an A record with 192.0.2.1'],
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
  ["a b.example.org", "A name cannot have spaces"],
  ["a..example.org", "The name has an empty label: two dots in a row, or a dot at its start"],
  ["*.example.org", '"*" is not allowed in names. Use letters, digits, hyphens and dots only'],
  ["-a.org", 'The label "-a" must have letters, digits and hyphens only, and no hyphen at its ends'],
  ["☃.org", '"☃" (U+2603) is not allowed in names. Use letters, digits and hyphens only (IDNA2008, RFC 5892)'],
  ["example.123", '"example.123" is not a host name, because its last label is a number'],
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
      "name: example.com itself cannot be a CNAME, because it has other records. Use A and AAAA records, or a name such as www",
    ],
  ],
  [
    { name: "www", type: "CNAME", value: "WWW.example.com." },
    ["value: www.example.com would be an alias of itself. Write the name to which it leads"],
  ],
  [{ name: "www", type: "CNAME", value: "." }, ["value: Write the full host name, such as mail.example.com"]],
  [
    { name: "@", type: "NS", value: "ns1.example.org" },
    ["name: The nameservers of example.com itself are fixed. An NS record delegates a name below it, such as sub"],
  ],
  [
    { name: "*.sub", type: "NS", value: "ns1.example.org" },
    ["name: A wildcard cannot be delegated. Write the name to delegate"],
  ],
  [
    { name: "sub", type: "NS", value: "sub.example.com" },
    ["value: sub.example.com cannot be its own nameserver, because a name with NS records has no address"],
  ],
  [{ name: "sub", type: "NS", value: "ns_1.example.org" }, ['value: A host name cannot have an underscore: "ns_1"']],
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
    ["value: Write only the host here. priority is a separate member"],
  ],
  [
    { name: "@", type: "MX", value: "mail_1.example.org", priority: 10 },
    ['value: A host name cannot have an underscore: "mail_1"'],
  ],
  [
    { name: "@", type: "MX", value: ".", priority: 10 },
    ['priority: priority must be 0 with the value ".", which refuses all mail (RFC 7505)'],
  ],
  [
    { name: "sip", type: "SRV", value: "a.example.org", priority: 0, port: 1 },
    ["name: The name of an SRV record must be its service and protocol, such as _sip._tcp or _sip._tcp.sub"],
  ],
  [
    { name: "*._tcp", type: "SRV", value: "a.example.org", priority: 0, port: 1 },
    ["name: The name of an SRV record must be its service and protocol, such as _sip._tcp or _sip._tcp.sub"],
  ],
  [
    { name: "_sip._tcp", type: "SRV", value: "0 5 5060 a.example.org" },
    [
      "value: Write only the host here. priority, weight and port are separate members",
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
      "name: The name is empty. Write @ for example.com itself",
      `value: "x" is not an IPv4 address. ${fourNumbers}`,
      "ttl: ttl must be a whole number of seconds from 60 to 86400",
      "priority: priority is only for MX, SRV, HTTPS, SVCB records",
      "weight: weight is only for SRV records",
      "port: port is only for SRV records",
      "flags: flags is only for CAA records",
      "tag: tag is only for CAA records",
    ],
  ],
])("reports all faults of %j", (input, faults) => expect(faultsOf(input)).toEqual(faults));
