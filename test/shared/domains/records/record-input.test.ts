import fc from "fast-check";
import { expect, test } from "vitest";

import { RecordType } from "../../../../shared/dns/rrset.ts";
import { parseRecord } from "../../../../shared/domains/records/input.ts";
import type { RecordInput } from "../../../../shared/domains/records/record.ts";
import { inputs, parsed, zone } from "./records.ts";

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
    { name: "@", type: "CAA", value: '""', tag: "issuewild" },
    { value: ";", ttl: 3_600, flags: 0, tag: "issuewild" },
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
])("%j is read into its normal form", (input, form) =>
  expect(parsed(input)).toEqual({ name: input.name, type: input.type, ...form }),
);

test("AAAA addresses have the spelling of RFC 5952, which browsers also use", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const browsers = new URL(`http://[${address}]/`).hostname.slice(1, -1);
      // An AAAA record with an IPv4 address inside (`::ffff:…`) is refused.
      fc.pre(!browsers.startsWith("::ffff:"));
      expect(parsed({ name: "@", type: "AAAA", value: address }).value).toBe(browsers);
    }),
    { numRuns: 300 },
  );
});

test("the normal form of a record is read as the same record, for every type", () => {
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
