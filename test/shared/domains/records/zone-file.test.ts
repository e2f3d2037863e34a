import fc from "fast-check";
import { expect, test } from "vitest";

import type { ParsedRecord } from "../../../../shared/domains/records/record.ts";
import { readZoneFile, writeZoneFile } from "../../../../shared/domains/records/zone-file.ts";
import { parsed, records, zone } from "./records.ts";
import { read } from "./zone-file-outcomes.ts";

const head = {
  name: zone,
  serial: 4_294_967_295,
  nameservers: ["ab12.ns1.example.net", "ab12.ns2.example.net"],
};
const exportedAt = new Date("2026-03-04T05:06:07Z");

test("a zone file has the whole zone, with absolute hosts, and texts in quotes", () => {
  const file = writeZoneFile(
    [
      parsed({ name: "@", type: "MX", value: "mail.example.com", priority: 10 }),
      parsed({ name: "www", type: "CNAME", value: "a.example.org", ttl: 60 }),
      parsed({ name: "www", type: "HTTPS", value: ". alpn=h2", priority: 1 }),
      parsed({ name: "www", type: "HTTPS", value: "cdn.example.net", priority: 0, ttl: 600 }),
      parsed({ name: "sub", type: "MX", value: ".", priority: 0 }),
      parsed({ name: "_sip._tcp", type: "SRV", value: "sip.example.com", priority: 1, port: 5060 }),
      parsed({ name: "@", type: "CAA", value: "ca.example; a=b", tag: "issue" }),
      parsed({ name: "*", type: "TXT", value: 'a;"\\é' }),
      parsed({ name: "long", type: "TXT", value: `${"a".repeat(254)}é${"b".repeat(254)}` }),
    ],
    head,
    exportedAt,
  );
  expect(file.split("\n")).toEqual([
    "; example.com, exported 2026-03-04T05:06:07.000Z",
    "$ORIGIN example.com.",
    "$TTL 3600",
    "@\t300\tIN\tSOA\tab12.ns1.example.net. hostmaster.example.com. 4294967295 7200 900 1209600 300",
    "@\t86400\tIN\tNS\tab12.ns1.example.net.",
    "@\t86400\tIN\tNS\tab12.ns2.example.net.",
    "@\t3600\tIN\tMX\t10 mail.example.com.",
    "www\t60\tIN\tCNAME\ta.example.org.",
    "www\t600\tIN\tHTTPS\t1 . alpn=h2",
    "www\t600\tIN\tHTTPS\t0 cdn.example.net.",
    "sub\t3600\tIN\tMX\t0 .",
    "_sip._tcp\t3600\tIN\tSRV\t1 0 5060 sip.example.com.",
    '@\t3600\tIN\tCAA\t0 issue "ca.example; a=b"',
    '*\t3600\tIN\tTXT\t"a;\\"\\\\\\195\\169"',
    `long\t3600\tIN\tTXT\t"${"a".repeat(254)}\\195" "\\169${"b".repeat(254)}"`,
    "",
  ]);
});

/** The records, each with the lowest TTL of its RRset. */
const withLowestTtl = (all: readonly ParsedRecord[]): ParsedRecord[] =>
  all.map((record) => {
    const set = all.filter(({ name, type }) => name === record.name && type === record.type);
    return { ...record, ttl: Math.min(...set.map(({ ttl }) => ttl)) };
  });

test("a written file is ASCII, and is read as the same records with the TTL of their RRset", () => {
  fc.assert(
    fc.property(fc.array(records, { maxLength: 12 }), (written) => {
      const file = writeZoneFile(written, head, exportedAt);
      expect(file).toMatch(/^[\t\n -~]*$/);
      const { records, skipped } = readZoneFile(file, zone);
      expect(records.map(({ input }) => parsed(input))).toEqual(withLowestTtl(written));
      expect(skipped.map(({ reason }) => reason)).toEqual([
        "The zone has an SOA record of its own",
        "The nameservers of the zone itself are fixed",
        "The nameservers of the zone itself are fixed",
      ]);
    }),
    { numRuns: 300 },
  );
});

test("every line of a file becomes a record or is skipped with a reason", () => {
  const words = fc.constantFrom(
    "a",
    "@",
    "IN",
    "A",
    "TXT",
    "192.0.2.1",
    "300",
    "1h",
    '"b c"',
    "\\;",
    "MX",
    "é",
    "SOA",
    "*",
    "..",
  );
  const line = fc.array(words, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(" "));
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), fc.boolean(), (lines, isBlankFirst) => {
      const { records, skipped } = read(...lines.map((text) => (isBlankFirst ? ` ${text}` : text)));
      const numbers = [...records, ...skipped].map((one) => one.line);
      expect(numbers.toSorted((one, other) => one - other)).toEqual(lines.map((_, index) => index + 1));
      expect(skipped.filter(({ reason }) => reason === "")).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("`readZoneFile` never throws, and returns only valid names", () => {
  const piece = fc.constantFrom(
    "a",
    " ",
    "\n",
    "\t",
    "(",
    ")",
    '"',
    "\\",
    ";",
    "$ORIGIN ",
    "$TTL ",
    "@",
    ".",
    "A ",
    "TXT ",
    "1",
    "\r",
    "\0",
    "é",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(text, (file) => {
      const { records } = readZoneFile(file, zone);
      expect(records.filter(({ input }) => input.name !== "@" && !/^[*a-z0-9_.-]+$/.test(input.name))).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
