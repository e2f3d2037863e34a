import { expect, test } from "vitest";

import { readZoneFile } from "../../../../shared/domains/records/zone-file.ts";
import { zone } from "./records.ts";
import { only, outcomes, read } from "./zone-file-outcomes.ts";

test.each([
  ["www IN A 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1" }],
  ["www A 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1" }],
  ["www 300 A 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1", ttl: 300 }],
  ["www 300 in a 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1", ttl: 300 }],
  ["www IN 300 A 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1", ttl: 300 }],
  ["www\t1h30m\tIN\tA\t192.0.2.1 ; why", { name: "www", type: "A", value: "192.0.2.1", ttl: 5_400 }],
  ["WWW.Example.COM. 1W A 192.0.2.1", { name: "www", type: "A", value: "192.0.2.1", ttl: 604_800 }],
  ["example.com. A 192.0.2.1", { name: "@", type: "A", value: "192.0.2.1" }],
  ["@ A 192.0.2.1", { name: "@", type: "A", value: "192.0.2.1" }],
  ["* A 192.0.2.1", { name: "*", type: "A", value: "192.0.2.1" }],
  ["1 A 192.0.2.1", { name: "1", type: "A", value: "192.0.2.1" }],
  ["3600 IN A 192.0.2.1", { name: "3600", type: "A", value: "192.0.2.1" }],
  ["in IN A 192.0.2.1", { name: "in", type: "A", value: "192.0.2.1" }],
  ["a A 192.0.2.1", { name: "a", type: "A", value: "192.0.2.1" }],
  ["bücher A 192.0.2.1", { name: "xn--bcher-kva", type: "A", value: "192.0.2.1" }],
  ["20230601._domainkey TXT p=", { name: "20230601._domainkey", type: "TXT", value: "p=" }],
  ["www CNAME host", { name: "www", type: "CNAME", value: "host.example.com." }],
  ["www CNAME host.example.org.", { name: "www", type: "CNAME", value: "host.example.org." }],
  ["www CNAME @", { name: "www", type: "CNAME", value: "example.com." }],
  ["sub NS ns1.sub", { name: "sub", type: "NS", value: "ns1.sub.example.com." }],
  ["@ MX 10 mail", { name: "@", type: "MX", priority: 10, value: "mail.example.com." }],
  ["@ MX 0 .", { name: "@", type: "MX", priority: 0, value: "." }],
  [
    "_sip._tcp SRV 1 2 3 sip",
    { name: "_sip._tcp", type: "SRV", priority: 1, weight: 2, port: 3, value: "sip.example.com." },
  ],
  ['@ CAA 0 issue "ca.example; a=b"', { name: "@", type: "CAA", flags: 0, tag: "issue", value: "ca.example; a=b" }],
  ['@ CAA 0 issue ""', { name: "@", type: "CAA", flags: 0, tag: "issue", value: '""' }],
  ["@ CAA 0 issue ca.example", { name: "@", type: "CAA", flags: 0, tag: "issue", value: "ca.example" }],
  ["_25._tcp TLSA 3 1 1 00ff ABCD", { name: "_25._tcp", type: "TLSA", value: "3 1 1 00ff ABCD" }],
  ["www SSHFP 4 2 ( 00ff abcd )", { name: "www", type: "SSHFP", value: "4 2 00ff abcd" }],
  ["www HTTPS 1 .", { name: "www", type: "HTTPS", priority: 1, value: "." }],
  ["www HTTPS 0 svc", { name: "www", type: "HTTPS", priority: 0, value: "svc.example.com." }],
  [
    'www SVCB 1 svc.net. alpn="h2, \\"h3;" ( port=53 ) key9="a b" ; why',
    { name: "www", type: "SVCB", priority: 1, value: 'svc.net. alpn="h2, \\"h3;" port=53 key9="a b"' },
  ],
  ['www TXT a="b c" d', { name: "www", type: "TXT", value: "a=b cd" }],
  ['www TXT a="b"c', { name: "www", type: "TXT", value: "a=bc" }],
  ["www TXT hello ; why", { name: "www", type: "TXT", value: "hello" }],
  ["www TXT a b", { name: "www", type: "TXT", value: "ab" }],
  ['www TXT "a  b; c" ; d "e"', { name: "www", type: "TXT", value: "a  b; c" }],
  ['www TXT "a " "b"c', { name: "www", type: "TXT", value: "a bc" }],
  ['www TXT "a\\"b\\\\" ; "c"', { name: "www", type: "TXT", value: 'a"b\\' }],
  ["www TXT a\\;b\\ c\\(", { name: "www", type: "TXT", value: "a;b c(" }],
  ['www TXT "\\195" "\\188\\097"', { name: "www", type: "TXT", value: "üa" }],
  ['www TXT "ü(" ")"', { name: "www", type: "TXT", value: "ü()" }],
  ['www TXT "; \u2028" ; \u2028 x', { name: "www", type: "TXT", value: "; \u2028" }],
  ['www TXT "\\"a\\""', { name: "www", type: "TXT", value: '"\\"a\\""' }],
  ["\ufeffwww A 192.0.2.1\r", { name: "www", type: "A", value: "192.0.2.1" }],
])("reads %j", (line, record) => expect(only(line)).toEqual(record));

test("parentheses join lines into one entry, even with comments, quotes and blank lines between them", () => {
  const lines = ["www (", "  300 ; why (", "", 'IN TXT "a (" ; )', '"b )"', " c ) ; end"];
  expect(only(...lines)).toEqual({ name: "www", type: "TXT", value: "a (b )c", ttl: 300 });
  expect(outcomes("www TXT ( a", "b )", " A 192.0.2.1", "( mail", ") A 192.0.2.2")).toEqual([
    "1: www TXT ab -",
    "3: www A 192.0.2.1 -",
    "4: mail A 192.0.2.2 -",
  ]);
});

test("an entry that begins with a blank has the name of the entry before it, even if the entry before was skipped", () => {
  expect(
    outcomes(
      "a A 192.0.2.1",
      "  A 192.0.2.2",
      "\t300 A 192.0.2.3",
      "",
      'b TXT "',
      "  A 192.0.2.4",
      "c PTR 1 .",
      " A 192.0.2.5",
    ),
  ).toEqual([
    "1: a A 192.0.2.1 -",
    "2: a A 192.0.2.2 -",
    "3: a A 192.0.2.3 300",
    "5: A quotation is not closed in its line",
    "6: b A 192.0.2.4 300",
    "7: Records of type PTR are not offered. The types are A, AAAA, CNAME, MX, TXT, SRV, CAA, NS, TLSA, SSHFP, HTTPS, SVCB",
    "8: c A 192.0.2.5 300",
  ]);
  expect(outcomes(" A 192.0.2.1", '" A 192.0.2.1', " A 192.0.2.1")).toEqual([
    "1: The entry has no name, and no entry before it has one",
    "2: A quotation is not closed in its line",
    "3: The entry has no name, and no entry before it has one",
  ]);
});

test("a record without a TTL has the TTL of the last $TTL, or else of the record before it", () => {
  expect(
    outcomes(
      "a A 192.0.2.1",
      "b 1m A 192.0.2.1",
      "c A 192.0.2.1",
      "$TTL 1d",
      "d A 192.0.2.1",
      "e 60 A 192.0.2.1",
      "f A 192.0.2.1",
    ),
  ).toEqual([
    "1: a A 192.0.2.1 -",
    "2: b A 192.0.2.1 60",
    "3: c A 192.0.2.1 60",
    "5: d A 192.0.2.1 86400",
    "6: e A 192.0.2.1 60",
    "7: f A 192.0.2.1 86400",
  ]);
});

test("names are relative to the last $ORIGIN, which can be relative or the root", () => {
  expect(
    outcomes(
      "$ORIGIN sub",
      "www CNAME host",
      "@ A 192.0.2.1",
      "$origin a.example.com.",
      " A 192.0.2.2",
      "b A 192.0.2.3",
      "$ORIGIN .",
      "c.example.com CNAME example.org",
      "$ORIGIN example.org.",
      "d A 192.0.2.4",
    ),
  ).toEqual([
    "2: www.sub CNAME host.sub.example.com. -",
    "3: sub A 192.0.2.1 -",
    "5: sub A 192.0.2.2 -",
    "6: b.a A 192.0.2.3 -",
    "8: c CNAME example.org. -",
    '10: "d.example.org." is not a name in example.com. A final dot makes a name absolute',
  ]);
});

test.each([
  ["@ SOA ns1 hostmaster ( 1 2h 3 4w 5 )", "The zone has an SOA record of its own"],
  ["@ NS ns1.example.org.", "The nameservers of the zone itself are fixed"],
  ["Example.com. NS ns1.example.org.", "The nameservers of the zone itself are fixed"],
  [
    "www.example.org. A 192.0.2.1",
    '"www.example.org." is not a name in example.com. A final dot makes a name absolute',
  ],
  ["w\\119w A 192.0.2.1", '"\\" is not allowed in names. Use letters, digits, hyphens and dots only'],
  ["www DS 1 13 2 00", "DNSSEC records are not offered"],
  ["www NSEC3PARAM 1 0 0 -", "DNSSEC records are not offered"],
  ['www SPF "v=spf1 -all"', "Records of type SPF are obsolete (RFC 7208). Write the record as TXT"],
  [
    "www TYPE65 \\# 0",
    "Records of type TYPE65 are not offered. The types are A, AAAA, CNAME, MX, TXT, SRV, CAA, NS, TLSA, SSHFP, HTTPS, SVCB",
  ],
  ["www CH TXT a", "Records of class CH are not offered"],
  ["www 300 IN", "The entry has no type"],
  ["www", "The entry has no type"],
  ["www A", "The data of a record of type A must be a value"],
  ["www A 192.0.2.1 192.0.2.2", "The data of a record of type A must be a value"],
  ["@ MX mail", "The data of a record of type MX must be priority, a host"],
  ["@ MX high mail", "priority is not a number"],
  ["_sip._tcp SRV 1 2 sip", "The data of a record of type SRV must be priority, weight, port, a host"],
  ["www HTTPS high .", "priority is not a number"],
  ["www HTTPS 1", "The data must be priority, a target, and parameters"],
  ["www TXT", "The record has no text"],
  ['www TXT "a', "A quotation is not closed in its line"],
  ["www TXT a\\", "There is nothing after a backslash"],
  ["www A 192.0.2.1 )", "A closing parenthesis has no opening parenthesis"],
  ["www A ( 192.0.2.1", "A parenthesis is not closed, so this entry has no end"],
  ["$INCLUDE other.zone", "Other files are not included. Import them separately"],
  ["$GENERATE 1-9 h$ A 192.0.2.$", "$GENERATE is not offered. Write the records out"],
  ["$TTL soon", "$TTL needs one number of seconds"],
  ["$FOO", "This directive is not known"],
])("skips %j: %s", (line, reason) => {
  expect(read(line)).toEqual({ records: [], skipped: [{ line: 1, text: line, reason }] });
});

test("an invalid $ORIGIN ends the file, because the names after it would be wrong", () => {
  const reason = "$ORIGIN needs one name. Nothing from this line on was read";
  expect(outcomes("a A 192.0.2.1", "$ORIGIN", "b A 192.0.2.1")).toEqual(["1: a A 192.0.2.1 -", `2: ${reason}`]);
  expect(outcomes(`$ORIGIN ${"a.".repeat(1_000)}`, "b A 192.0.2.1")).toEqual([`1: ${reason}`]);
});

test("reads at most 1 MiB and 5,000 entries, and says where it ended", () => {
  const line = "a A 192.0.2.1\n";
  const many = readZoneFile(line.repeat(6_000), zone);
  expect(many.records).toHaveLength(5_000);
  const reason = "There are more than 5000 entries. Nothing from this line on was read";
  expect(many.skipped).toEqual([{ line: 5_001, text: line.trim(), reason }]);
  expect(readZoneFile(line.repeat(5_000), zone).skipped).toEqual([]);
  expect(readZoneFile("x\n".repeat(9_000), zone).skipped).toHaveLength(5_001);
  const large = `; ${"é".repeat(524_287)}`;
  expect(readZoneFile(large, zone)).toEqual({ records: [], skipped: [] });
  expect(readZoneFile(`${large}x`, zone).skipped).toEqual([
    { line: 1, text: large.slice(0, 200), reason: "The file is larger than 1 MiB (1048576 bytes). Nothing was read" },
  ]);
});
