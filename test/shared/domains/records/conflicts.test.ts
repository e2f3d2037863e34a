import { expect, test } from "vitest";

import { conflictOf } from "../../../../shared/domains/records/conflicts.ts";
import type { RecordInput } from "../../../../shared/domains/records/record.ts";
import { parsed } from "./records.ts";

const a = { name: "www", type: "A", value: "192.0.2.1" } as const;
const cname = { name: "www", type: "CNAME", value: "a.example.org" } as const;
const ns = { name: "www", type: "NS", value: "ns1.example.org" } as const;
const txt = { name: "www", type: "TXT", value: "hello" } as const;
const spf = { name: "www", type: "TXT", value: "v=spf1 -all" } as const;
const mx = { name: "www", type: "MX", value: "a.example.org", priority: 10 } as const;
const noMail = { name: "www", type: "MX", value: ".", priority: 0 } as const;
const dmarc = { name: "_dmarc", type: "TXT", value: "v=DMARC1; p=none" } as const;
const caa = { name: "www", type: "CAA", tag: "issue", value: "ca.example" } as const;

const alone = "A CNAME record cannot share its name with another record";
const delegated = "A delegated name can have NS records only (DS is not offered)";

test.each<[candidate: RecordInput, other: RecordInput, kind: string, message: string]>([
  [a, a, "duplicate", "The domain has this record already"],
  [a, { ...a, ttl: 60 }, "duplicate", "The domain has this record already"],
  [cname, { ...cname, value: "A.Example.ORG." }, "duplicate", "The domain has this record already"],
  [spf, { ...spf, value: '"v=spf1 " "-all"' }, "duplicate", "The domain has this record already"],
  [caa, { ...caa, flags: 0 }, "duplicate", "The domain has this record already"],
  [cname, a, "cname", `${alone}. The name has a record of type A`],
  [cname, ns, "cname", `${alone}. The name has a record of type NS`],
  [a, cname, "cname", `${alone}. The name has a CNAME record`],
  [
    cname,
    { ...cname, value: "b.example.org" },
    "cname",
    "A name can have only one CNAME record. Change the existing one",
  ],
  [ns, a, "ns", `${delegated}. The name has a record of type A`],
  [txt, ns, "ns", `${delegated}. The name is delegated by NS records`],
  [
    spf,
    { ...spf, value: "v=spf1 mx -all" },
    "spf",
    "A name can have only one SPF record, or receivers accept none. Add the terms to the existing one",
  ],
  [
    dmarc,
    { ...dmarc, value: "v=DMARC1; p=reject" },
    "dmarc",
    "A name can have only one DMARC record, or receivers ignore all of them. Change the existing one",
  ],
  [
    mx,
    noMail,
    "null_mx",
    'An MX record with the value "." refuses all mail, and must be the only MX record (RFC 7505)',
  ],
  [
    noMail,
    mx,
    "null_mx",
    'An MX record with the value "." refuses all mail, and must be the only MX record (RFC 7505)',
  ],
])("%j cannot be beside %j", (candidate, other, kind, message) => {
  const neighbour = { ...parsed({ name: "www", type: "A", value: "192.0.2.99" }), name: "elsewhere", id: 1 };
  const conflict = conflictOf(parsed(candidate), [neighbour, { ...parsed(other), id: 7 }]);
  expect(conflict).toEqual({ kind, id: 7, message: `${message} (record 7).` });
});

test.each<[candidate: RecordInput, other: RecordInput]>([
  [a, { ...a, value: "192.0.2.2" }],
  [a, { ...a, value: "192.0.2.2", ttl: 60 }],
  [a, { name: "www", type: "AAAA", value: "2001:db8::1" }],
  [ns, { ...ns, value: "ns2.example.org" }],
  [txt, spf],
  [txt, { ...txt, value: "Hello" }],
  [mx, { ...mx, priority: 20 }],
  [mx, { ...mx, value: "b.example.org" }],
  [caa, { ...caa, flags: 128 }],
  [caa, { ...caa, tag: "issuewild" }],
  [cname, { ...a, name: "other" }],
  [spf, { ...spf, name: "other", value: "v=spf1 mx" }],
])("%j can be beside %j", (candidate, other) =>
  expect(conflictOf(parsed(candidate), [{ ...parsed(other), id: 7 }])).toBeUndefined(),
);

test("a duplicate is reported before any other conflict", () => {
  const others = [
    { ...parsed(cname), id: 1 },
    { ...parsed(a), id: 2 },
  ];
  expect(conflictOf(parsed(a), others)).toMatchObject({ kind: "duplicate", id: 2 });
});
