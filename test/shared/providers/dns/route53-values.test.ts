import fc from "fast-check";
import { expect, test } from "vitest";

import type { RecordData } from "../../../../shared/dns/rrset.ts";
import { fromRoute53Name, setOf, valueOf } from "../../../../shared/providers/dns/route53-changes.ts";

/** The bytes of a value of quoted strings, read as Route 53 documents them. */
function bytesOf(value: string): Buffer[] {
  return [...value.matchAll(/"([^"]*)"( |$)/g)].map(([, content = ""]) =>
    Buffer.from(
      content.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))),
      "latin1",
    ),
  );
}

test.each<[string, RecordData, string]>([
  ["an IPv4 address", { type: "A", address: "192.0.2.1" }, "192.0.2.1"],
  ["an IPv6 address", { type: "AAAA", address: "2001:db8::1" }, "2001:db8::1"],
  ["a CNAME with a dot at the end", { type: "CNAME", host: "www.example.com" }, "www.example.com."],
  ["a nameserver", { type: "NS", host: "ns1.example.com" }, "ns1.example.com."],
  ["a mail host", { type: "MX", priority: 10, host: "mx1.example.com" }, "10 mx1.example.com."],
  ["no mail host (RFC 7505)", { type: "MX", priority: 0, host: "" }, "0 ."],
  [
    "a service",
    { type: "SRV", priority: 1, weight: 2, port: 443, host: "sip.example.com" },
    "1 2 443 sip.example.com.",
  ],
  [
    "a CA",
    { type: "CAA", flags: 128, tag: "issue", value: 'ca.example; a="b"' },
    '128 issue "ca.example; a=\\042b\\042"',
  ],
  ["a certificate", { type: "TLSA", value: "3 1 1 00ff" }, "3 1 1 00ff"],
  ["a fingerprint", { type: "SSHFP", value: "4 2 00ff" }, "4 2 00ff"],
  ["an alias", { type: "HTTPS", priority: 0, host: "cdn.test", params: "" }, "0 cdn.test."],
  [
    "a service, with octal escapes",
    { type: "SVCB", priority: 1, host: "", params: 'alpn="h2,h3" key9="\\195\\169\\"\\\\"' },
    '1 . alpn="h2,h3" key9="\\303\\251\\042\\134"',
  ],
  ["text in quotation marks", { type: "TXT", text: "v=spf1 -all" }, '"v=spf1 -all"'],
  ["empty text", { type: "TXT", text: "" }, '""'],
  ["quotation marks and backslashes by code", { type: "TXT", text: 'a "b" \\ c' }, '"a \\042b\\042 \\134 c"'],
  ["characters outside printable ASCII by code", { type: "TXT", text: "é\n\u007f" }, '"\\303\\251\\012\\177"'],
  ["long text in strings", { type: "TXT", text: "x".repeat(300) }, `"${"x".repeat(255)}" "${"x".repeat(45)}"`],
])("`valueOf` writes %s", (_what, data, value) => {
  expect(valueOf(data)).toBe(value);
});

test("a text is written as printable strings of at most 255 bytes, and can be read back byte for byte", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const value = valueOf({ type: "TXT", text }) ?? "";
      const strings = bytesOf(value);
      expect(Buffer.concat(strings).equals(Buffer.from(text)) && /^[\x20-\x7e]*$/.test(value)).toBe(true);
      expect(strings.findIndex(({ length }) => length !== 255)).toBeOneOf([-1, strings.length - 1]);
      expect(strings.every(({ length }) => length <= 255)).toBe(true);
    }),
  );
});

test("a text of more than 4,000 characters with its escapes has no value, because Route 53 does not accept it", () => {
  expect(valueOf({ type: "TXT", text: "x".repeat(3_900) })).toHaveLength(3_947);
  const long = { type: "TXT" as const, text: "é".repeat(500) };
  expect(valueOf(long)).toBe(undefined);
  const kept = { type: "TXT" as const, text: "v=spf1 -all" };
  const { ResourceRecords } = setOf({ name: "example.com", type: "TXT", ttl: 60, data: [long, kept] });
  expect(ResourceRecords).toEqual([{ Value: '"v=spf1 -all"' }]);
});

test.each([
  ["example.com.", "example.com"],
  ["\\052.example.com.", "*.example.com"],
  ["_Dmarc.Example.com.", "_dmarc.example.com"],
  ["a\\057b.example.com.", "a/b.example.com"],
])("the name %s in an answer is read as %s", (given, name) => {
  expect(fromRoute53Name(given)).toBe(name);
});

test("an RRset has an absolute name, its TTL and all its records", () => {
  expect(
    setOf({
      name: "*.example.com",
      type: "A",
      ttl: 60,
      data: [
        { type: "A", address: "192.0.2.1" },
        { type: "A", address: "192.0.2.2" },
      ],
    }),
  ).toEqual({
    Name: "*.example.com.",
    Type: "A",
    TTL: 60,
    ResourceRecords: [{ Value: "192.0.2.1" }, { Value: "192.0.2.2" }],
  });
});
