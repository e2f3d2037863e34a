import type { Answer } from "dns-packet";
import { expect, test } from "vitest";

import { registryZones } from "../../../../infra/local/dns/dns.ts";
import type { DnsReply } from "../../../../infra/local/dns/respond.ts";
import type { RRset } from "../../../../shared/dns/rrset.ts";
import { a, cname, ns, serving, txt } from "../../../support/dns-network.ts";

const mx = (name: string, host: string): RRset => ({
  name,
  type: "MX",
  ttl: 300,
  data: [{ type: "MX", priority: 10, host }],
});
const srv = (name: string, host: string): RRset => ({
  name,
  type: "SRV",
  ttl: 300,
  data: [{ type: "SRV", priority: 0, weight: 1, port: 993, host }],
});

/** The lines of a reply: first its code, then one line for each record with its section, name and type. */
function told({ rcode, isAuthoritative, answers, authorities, additionals }: DnsReply): string[] {
  const codes = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
  const lines = (section: string, records: readonly Answer[]): string[] =>
    records.map(({ name, type }) => `${section} ${name} ${type}`);
  return [
    `${codes[rcode]}${isAuthoritative ? " AA" : ""}`,
    ...lines("answer", answers),
    ...lines("authority", authorities),
    ...lines("additional", additionals),
  ];
}

const zone = {
  name: "example.test",
  rrsets: [
    ns("example.test", "ns1.example.test", "ns2.hosts.test"),
    a("example.test", "192.0.2.1", "192.0.2.2"),
    a("ns1.example.test", "192.0.2.53"),
    mx("example.test", "mx.example.test"),
    a("mx.example.test", "192.0.2.25"),
    srv("_imaps._tcp.example.test", "mx.example.test"),
    cname("www.example.test", "example.test"),
    cname("chain.example.test", "www.example.test"),
    cname("out.example.test", "www.hosts.test"),
    cname("gone.example.test", "missing.example.test"),
    cname("circle.example.test", "circle.example.test"),
    cname("into.example.test", "a.sub.example.test"),
    ns("sub.example.test", "ns.sub.example.test", "ns2.hosts.test"),
    a("ns.sub.example.test", "192.0.2.54"),
    txt("deep.er.example.test", "x"),
  ],
};
const soa = "authority example.test SOA";

test.each<[name: string, type: string, told: string[]]>([
  ["example.test", "A", ["NOERROR AA", "answer example.test A", "answer example.test A"]],
  ["example.test", "MX", ["NOERROR AA", "answer example.test MX", "additional mx.example.test A"]],
  [
    "_imaps._tcp.example.test",
    "SRV",
    ["NOERROR AA", "answer _imaps._tcp.example.test SRV", "additional mx.example.test A"],
  ],
  [
    "example.test",
    "NS",
    ["NOERROR AA", "answer example.test NS", "answer example.test NS", "additional ns1.example.test A"],
  ],
  ["example.test", "SOA", ["NOERROR AA", "answer example.test SOA"]],
  ["example.test", "TXT", ["NOERROR AA", soa]],
  ["mx.example.test", "SOA", ["NOERROR AA", soa]],
  ["er.example.test", "TXT", ["NOERROR AA", soa]],
  ["example.test", "UNKNOWN_65", ["NOERROR AA", soa]],
  ["missing.example.test", "A", ["NXDOMAIN AA", soa]],
  ["below.mx.example.test", "A", ["NXDOMAIN AA", soa]],
  ["xample.test", "A", ["REFUSED"]],
  ["test", "NS", ["REFUSED"]],
  ["www.example.test", "CNAME", ["NOERROR AA", "answer www.example.test CNAME"]],
  [
    "www.example.test",
    "MX",
    ["NOERROR AA", "answer www.example.test CNAME", "answer example.test MX", "additional mx.example.test A"],
  ],
  [
    "chain.example.test",
    "TXT",
    ["NOERROR AA", "answer chain.example.test CNAME", "answer www.example.test CNAME", soa],
  ],
  ["out.example.test", "A", ["NOERROR AA", "answer out.example.test CNAME"]],
  ["gone.example.test", "A", ["NXDOMAIN AA", "answer gone.example.test CNAME", soa]],
  [
    "example.test",
    "ANY",
    ["NOERROR AA", "answer example.test NS", "answer example.test NS", "additional ns1.example.test A"],
  ],
  ["www.example.test", "ANY", ["NOERROR AA", "answer www.example.test CNAME"]],
  ["missing.example.test", "ANY", ["NXDOMAIN AA", soa]],
  ["sub.example.test", "DS", ["NOERROR AA", soa]],
])("the zone answers %s %s with the right code and records", async (name, type, lines) => {
  expect(told(await serving(zone)({ name, type }))).toEqual(lines);
});

const referral = [
  "NOERROR",
  "authority sub.example.test NS",
  "authority sub.example.test NS",
  "additional ns.sub.example.test A",
];
test.each<[name: string, type: string]>([
  ["sub.example.test", "NS"],
  ["sub.example.test", "A"],
  ["a.b.sub.example.test", "TXT"],
  ["ns.sub.example.test", "A"],
  ["a.sub.example.test", "DS"],
])("the answer to %s %s is a referral to the nameservers of the subzone, without the flag AA", async (name, type) => {
  expect(told(await serving(zone)({ name, type }))).toEqual(referral);
});

test("a CNAME that leads below a delegation is answered together with the referral", async () => {
  const [, ...rest] = referral;
  expect(told(await serving(zone)({ name: "into.example.test", type: "A" }))).toEqual([
    "NOERROR AA",
    "answer into.example.test CNAME",
    ...rest,
  ]);
});

test("the answer for a CNAME that leads to itself ends", async () => {
  const { answers } = await serving(zone)({ name: "circle.example.test", type: "A" });
  expect(answers.length).toBeLessThan(10);
});

/** The zone of RFC 4592 §2.2.1. The expected answers are from its §2.2.1 and §3. */
const wild = {
  name: "example",
  rrsets: [
    ns("example", "ns.example.com", "ns.example.net"),
    txt("*.example", "this is a wildcard"),
    mx("*.example", "host1.example"),
    txt("sub.*.example", "this is not a wildcard"),
    a("host1.example", "192.0.2.1"),
    srv("_ssh._tcp.host1.example", "host1.example"),
    srv("_ssh._tcp.host2.example", "host2.example"),
    ns("subdel.example", "ns.example.com", "ns.example.net"),
    cname("*.alias.example", "host1.example"),
  ],
};
test.each<[name: string, type: string, told: string[]]>([
  ["host3.example", "MX", ["NOERROR AA", "answer host3.example MX", "additional host1.example A"]],
  ["host3.example", "A", ["NOERROR AA", "authority example SOA"]],
  ["foo.bar.example", "TXT", ["NOERROR AA", "answer foo.bar.example TXT"]],
  ["host1.example", "MX", ["NOERROR AA", "authority example SOA"]],
  ["sub.*.example", "MX", ["NOERROR AA", "authority example SOA"]],
  ["_telnet._tcp.host1.example", "SRV", ["NXDOMAIN AA", "authority example SOA"]],
  ["host.subdel.example", "A", ["NOERROR", "authority subdel.example NS", "authority subdel.example NS"]],
  ["ghost.*.example", "MX", ["NXDOMAIN AA", "authority example SOA"]],
  ["*.example", "TXT", ["NOERROR AA", "answer *.example TXT"]],
  ["x.alias.example", "A", ["NOERROR AA", "answer x.alias.example CNAME", "answer host1.example A"]],
  ["x.alias.example", "ANY", ["NOERROR AA", "answer x.alias.example CNAME"]],
])("the answer to %s %s uses a wildcard as RFC 4592 says", async (name, type, lines) => {
  expect(told(await serving(wild)({ name, type }))).toEqual(lines);
});

test("the SOA record has the zone's first nameserver, its serial, and a TTL of five minutes", async () => {
  const { answers } = await serving({ ...zone, serial: 2 ** 32 - 1 })({ name: "example.test", type: "SOA" });
  expect(answers).toMatchObject([
    {
      ttl: 300,
      data: { mname: "ns1.example.test", rname: "hostmaster.example.test", serial: 2 ** 32 - 1, minimum: 300 },
    },
  ]);
});

test("an RRset without records counts as missing", async () => {
  const empty = { name: "example.test", rrsets: [{ ...a("example.test"), data: [] }] };
  expect(told(await serving(empty)({ name: "example.test", type: "A" }))).toEqual(["NOERROR AA", soa]);
});

const registries = registryZones({
  delegationOf: async (name) =>
    name === "example.test" || name === "sub.example.test" ? ["ns2.hosts.test", "ns1.hosts.test"] : undefined,
  recordsOf: async (name) => (name.endsWith("host.test") ? [a("host.test", "192.0.2.1")] : []),
});
const delegated = ["NOERROR", "authority example.test NS", "authority example.test NS"];

test.each<[name: string, type: string, told: string[]]>([
  ["example.test", "NS", delegated],
  ["example.test", "A", delegated],
  ["a.sub.example.test", "MX", delegated],
  ["other.test", "NS", ["NXDOMAIN AA", "authority . SOA"]],
  ["test", "NS", ["NXDOMAIN AA", "authority . SOA"]],
  ["host.test", "A", ["NOERROR AA", "answer host.test A"]],
  ["host.test", "MX", ["NOERROR AA", "authority . SOA"]],
  ["x.host.test", "A", ["NXDOMAIN AA", "authority . SOA"]],
  ["", "SOA", ["NOERROR AA", "answer . SOA"]],
  ["", "NS", ["NOERROR AA", "authority . SOA"]],
])("the registry zones answer %j %s as the root and the registries do", async (name, type, lines) => {
  expect(told(await registries({ name, type }))).toEqual(lines);
});

test("the registry zones try the shortest name first, and a name without nameservers counts as missing", async () => {
  const tried: string[] = [];
  const { rcode } = await registryZones({
    delegationOf: async (name) => {
      tried.push(name);
      return [];
    },
  })({ name: "www.example.test", type: "A" });
  expect(rcode).toBe(3);
  expect(tried).toEqual(["test", "example.test", "www.example.test"]);
});
