import { expect, test } from "vitest";

import { type RecordInput, dataOf, rrsetsOf } from "../../../../shared/domains/records/record.ts";
import { parsed, zone } from "./records.ts";

test.each<[RecordInput, Record<string, unknown>]>([
  [
    { name: "www", type: "A", value: "192.0.2.1" },
    { type: "A", address: "192.0.2.1" },
  ],
  [
    { name: "www", type: "AAAA", value: "2001:DB8::1" },
    { type: "AAAA", address: "2001:db8::1" },
  ],
  [
    { name: "www", type: "CNAME", value: "A.example.org." },
    { type: "CNAME", host: "a.example.org" },
  ],
  [
    { name: "sub", type: "NS", value: "ns1.example.org" },
    { type: "NS", host: "ns1.example.org" },
  ],
  [
    { name: "@", type: "MX", value: "a.example.org", priority: 5 },
    { type: "MX", priority: 5, host: "a.example.org" },
  ],
  [
    { name: "@", type: "MX", value: ".", priority: 0 },
    { type: "MX", priority: 0, host: "" },
  ],
  [
    { name: "_sip._tcp", type: "SRV", value: ".", priority: 1, port: 3 },
    { type: "SRV", priority: 1, weight: 0, port: 3, host: "" },
  ],
  [
    { name: "www", type: "TXT", value: "é;".repeat(200) },
    { type: "TXT", text: "é;".repeat(200) },
  ],
  [
    { name: "www", type: "CAA", value: ";", tag: "issue", flags: 128 },
    { type: "CAA", flags: 128, tag: "issue", value: ";" },
  ],
])("the zone gets the data of the record %o", (input, data) => expect(dataOf(parsed(input))).toEqual(data));

test("records of one name and type are one RRset, with the lowest of their TTLs", () => {
  const records = [
    parsed({ name: "www", type: "A", value: "192.0.2.1", ttl: 300 }),
    parsed({ name: "@", type: "A", value: "192.0.2.1" }),
    parsed({ name: "*.sub", type: "TXT", value: "a" }),
    parsed({ name: "www", type: "A", value: "192.0.2.2", ttl: 60 }),
    parsed({ name: "www", type: "AAAA", value: "::1", ttl: 900 }),
  ];
  expect(rrsetsOf(records, zone)).toEqual([
    {
      name: "www.example.com",
      type: "A",
      ttl: 60,
      data: [
        { type: "A", address: "192.0.2.1" },
        { type: "A", address: "192.0.2.2" },
      ],
    },
    { name: "example.com", type: "A", ttl: 3_600, data: [{ type: "A", address: "192.0.2.1" }] },
    { name: "*.sub.example.com", type: "TXT", ttl: 3_600, data: [{ type: "TXT", text: "a" }] },
    { name: "www.example.com", type: "AAAA", ttl: 900, data: [{ type: "AAAA", address: "::1" }] },
  ]);
});
