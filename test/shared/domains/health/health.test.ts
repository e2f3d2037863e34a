import { expect, onTestFinished, test, vi } from "vitest";

import type { DnsAnswer, Resolver } from "../../../../shared/dns/answer.ts";
import { openResolver } from "../../../../shared/dns/resolver.ts";
import type { RRset } from "../../../../shared/dns/rrset.ts";
import type { StoredDomain } from "../../../../shared/domains/domain.ts";
import { healthOf, overallStatus } from "../../../../shared/domains/health/health.ts";
import { checkBlocklists, checkSpf } from "../../../../shared/domains/health/mail-checks.ts";
import { spfRecord, systemRecords } from "../../../../shared/domains/records/system-records.ts";
import { a, delegated, dnsNetwork, internet, responseTo, serving, txt } from "../../../support/dns-network.ts";

const settings = {
  dns_mode: "hosted",
  dmarc_policy: "none",
  dmarc_report_email: null,
  spf_includes: [],
  redirect_url: null,
  mta_sts_mode: null,
  tls_report_email: null,
} as const;
const expected = systemRecords(settings, { selector: "hm1", public_key: "AAAA" });
const domainOf = (name: string): StoredDomain =>
  ({ ...settings, name, nameservers: [`ns1.${name}`, `ns2.${name}`] }) as unknown as StoredDomain;

const healthBy = (resolver: Resolver) => healthOf(domainOf("shop.test"), expected, { resolver, now: new Date() });

const servFail = 2;
const allUnknown = ["ns", "mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt", "blocklist"].map((name) => [
  name,
  "unknown",
]);

test("all checks are `unknown`, and none fails, if the root servers are silent", async () => {
  const { endpoint } = await dnsNetwork().addAsLiked({});
  const resolver = openResolver({ roots: [endpoint], tryTimeoutMs: 20, timeoutMs: 60 });
  const { status, checks } = await healthBy(resolver);
  expect([status, checks.map((check) => [check.name, check.status])]).toEqual(["unknown", allUnknown]);
  expect(checks.map(({ missing_record }) => missing_record)).toEqual(Array(8).fill(null));
  for (const { name, message } of checks) {
    if (name !== "blocklist") expect(message).toContain("the nameservers of the root do not answer");
  }
});

test("all checks are `unknown` if the nameservers of the parent zone fail", async () => {
  const network = dnsNetwork();
  const failing = await network.addAsLiked({
    udp: (query, send) => send(responseTo(query, { flags: servFail })),
  });
  const root = await network.add(serving({ name: "", rrsets: delegated("test", failing) }));
  const resolver = openResolver({ roots: [root.endpoint], route: network.route });
  const { status, checks } = await healthBy(resolver);
  expect([status, checks.map((check) => [check.name, check.status])]).toEqual(["unknown", allUnknown]);
});

const mx = (...hosts: [priority: number, host: string][]): RRset => {
  const data = hosts.map(([priority, host]) => ({ type: "MX" as const, priority, host }));
  return { name: "shop.test", type: "MX", ttl: 60, data };
};
const spf = "v=spf1 include:_spf.hosted-mail.example ~all";
const key = "v=DKIM1; k=rsa; p=AAAA";
const dmarc = "v=DMARC1; p=none";
const ours = [10, "mx1.hosted-mail.example"] as [number, string];
const spare = [20, "mx2.hosted-mail.example"] as [number, string];
const others = [30, "mx.other.example"] as [number, string];
const at = { mx: "shop.test", spf: "shop.test", dkim: "hm1._domainkey.shop.test", dmarc: "_dmarc.shop.test" };
const right = {
  mx: [mx(ours, spare)],
  spf: [txt(at.spf, "my-site-verification=1", spf)],
  dkim: [txt(at.dkim, key)],
  dmarc: [txt(at.dmarc, dmarc)],
};

test.each<[what: string, Partial<typeof right>, [status: string, message: string, missing?: string], whole: string]>([
  ["no MX record", { mx: [] }, ["fail", "Mail does not go to mx1", ours[1]], "failing"],
  ["a missing MX record", { mx: [mx(ours)] }, ["fail", "Mail does not go to mx2", spare[1]], "failing"],
  ["the MX of another provider", { mx: [mx(others)] }, ["fail", "Mail does not go to mx1", ours[1]], "failing"],
  [
    "an additional MX record",
    { mx: [mx(ours, spare, others)] },
    ["warn", "Mail also goes to mx.other.example"],
    "healthy",
  ],
  ["other priorities", { mx: [mx([5, ours[1]], [6, spare[1]])] }, ["pass", "Mail goes to us"], "healthy"],
  ["no SPF record", { spf: [] }, ["fail", "no SPF record", spf], "degraded"],
  ["two SPF records", { spf: [txt(at.spf, spf, "v=spf1 -all")] }, ["fail", "several SPF records"], "degraded"],
  [
    "the SPF of another provider",
    { spf: [txt(at.spf, "v=spf1 mx -all")] },
    ["fail", "Add include:_spf.hosted-mail", spf],
    "degraded",
  ],
  [
    "a negated SPF",
    { spf: [txt(at.spf, spf.replace("include", "-include"))] },
    ["fail", "does not allow", spf],
    "degraded",
  ],
  [
    "our include after the term `all`",
    { spf: [txt(at.spf, "v=spf1 mx ~all include:_spf.hosted-mail.example")] },
    ["fail", 'Receivers ignore the terms after "all"', spf],
    "degraded",
  ],
  [
    "our include among other SPF terms",
    { spf: [txt(at.spf, "V=SPF1 a +include:_SPF.hosted-mail.example -all")] },
    ["pass", "allows mail from us"],
    "healthy",
  ],
  ["no DKIM", { dkim: [] }, ["fail", "no record of this kind", key], "degraded"],
  ["another key", { dkim: [txt(at.dkim, "v=DKIM1; k=rsa; p=BBBB")] }, ["fail", "another value", key], "degraded"],
  ["a revoked key", { dkim: [txt(at.dkim, "v=DKIM1; p=")] }, ["fail", "another value", key], "degraded"],
  ["two keys", { dkim: [txt(at.dkim, key, "v=DKIM1; p=BBBB")] }, ["fail", "several"], "degraded"],
  ["a key with spaces", { dkim: [txt(at.dkim, "k=rsa; p= AA AA")] }, ["pass", "is correct"], "healthy"],
  ["no DMARC", { dmarc: [] }, ["fail", "no record of this kind", dmarc], "degraded"],
  ["another policy", { dmarc: [txt(at.dmarc, "v=DMARC1; p=reject")] }, ["fail", "another value", dmarc], "degraded"],
  [
    "a policy only for subdomains",
    { dmarc: [txt(at.dmarc, "v=DMARC1; sp=none")] },
    ["fail", "another value", dmarc],
    "degraded",
  ],
  [
    "a DMARC record with more tags",
    { dmarc: [txt(at.dmarc, "v=DMARC1; p=None; pct=50")] },
    ["pass", "is correct"],
    "healthy",
  ],
])("a domain with %s gets the right status and advice", async (what, found, [status, message, missing], whole) => {
  const net = await internet();
  const zone = { name: "shop.test", rrsets: Object.values({ ...right, ...found }).flat() };
  const host = await net.add(serving(zone));
  net.registered.push(...delegated("shop.test", host, host));
  const health = await healthBy(net.open());
  const [name = ""] = Object.keys(found);
  expect(health.status).toBe(whole);
  expect(health.checks.find((check) => check.name === name)).toMatchObject({
    status,
    message: expect.stringContaining(message),
    missing_record: missing === undefined ? null : { value: missing },
  });
  const wrong = health.checks.filter((check) => check.status !== "pass").map((check) => check.name);
  // These checks never pass here: the zone has no MTA-STS and no TLS-RPT, and no blocklist is configured.
  const advice = ["mta_sts", "tls_rpt", "blocklist"];
  expect(wrong).toEqual(status === "pass" ? advice : [name, ...advice]);
});

test("if the nameservers do not answer about one record, the checks of the other records still have a result", async () => {
  const net = await internet();
  const zone = { name: "shop.test", rrsets: [txt("shop.test", "v=spf1 include:_spf.hosted-mail.example ~all")] };
  const hosts = [await net.add(serving(zone)), await net.add(serving(zone))];
  net.registered.push(...delegated("shop.test", ...hosts));
  const resolver = net.open();
  const partly: Resolver = {
    ...resolver,
    resolve: async (name, type) =>
      type === "MX" ? { status: "unknown", reason: "it is silent" } : resolver.resolve(name, type),
  };
  const { status, checks } = await healthBy(partly);
  const found = Object.fromEntries(checks.map((check) => [check.name, check.status]));
  expect(found).toMatchObject({ ns: "pass", mx: "unknown", spf: "pass", dkim: "fail", dmarc: "fail" });
  expect(status).toBe("degraded");
});

test("all checks share one time limit of less than five seconds, and a late check is `unknown` or `warn`", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  process.env["MTA_STS_SERVER"] = "127.0.0.1:1";
  onTestFinished(() => {
    vi.useRealTimers();
    delete process.env["MTA_STS_SERVER"];
  });
  const begunMs = performance.now();
  const texts: Record<string, string> = {
    "_mta-sts.shop.test": "v=STSv1; id=1",
    "shop.test": spf.replace("~all", "include:slow.test ~all"),
  };
  const later: number[] = [];
  const resolver: Resolver = {
    delegation: async () => ({ status: "none" }),
    resolve: async (name, type, within) => {
      if (within) later.push(within.remainingMs());
      const text = type === "TXT" ? texts[name] : undefined;
      if (text === undefined) return { status: "unknown", reason: "it is slow" };
      if (performance.now() - begunMs < 5_000) vi.advanceTimersByTime(5_000);
      return { status: "found", records: [{ name, type: "TXT", ttl: 60, text }] };
    },
  };
  const { checks } = await healthBy(resolver);
  expect(later).not.toEqual([]);
  expect(later.filter((leftMs) => leftMs > 0)).toEqual([]);
  expect(checks.find(({ name }) => name === "mta_sts")).toMatchObject({
    status: "unknown",
    message: expect.stringContaining("too long"),
  });
  expect(checks.find(({ name }) => name === "spf")).toMatchObject({
    status: "warn",
    message: expect.stringContaining("slow.test cannot be read"),
  });
});

const check = (name: "ns" | "mx" | "spf" | "mta_sts" | "blocklist", status: "pass" | "warn" | "fail" | "unknown") => ({
  name,
  status,
  message: "",
});

test.each([
  ["healthy", [check("ns", "pass"), check("mx", "pass"), check("mta_sts", "warn")]],
  ["healthy", [check("ns", "pass"), check("mx", "pass"), check("spf", "unknown")]],
  ["failing", [check("ns", "fail"), check("mx", "unknown")]],
  ["failing", [check("ns", "pass"), check("mx", "fail"), check("spf", "fail")]],
  ["degraded", [check("ns", "pass"), check("mx", "pass"), check("spf", "fail")]],
  ["degraded", [check("ns", "unknown"), check("mx", "unknown"), check("blocklist", "fail")]],
  ["unknown", [check("ns", "unknown"), check("mx", "pass")]],
  ["unknown", [check("ns", "pass"), check("mx", "unknown")]],
] as const)("the overall status is %s with %j", (status, checks) => {
  expect(overallStatus(checks)).toBe(status);
});

const listed = (address: string): DnsAnswer => ({
  status: "found",
  records: [{ name: "shop.test.list.test", ttl: 60, type: "A", address }],
});
const answering = (...answers: DnsAnswer[]): Resolver => {
  const left = [...answers];
  return { resolve: async () => left.shift() ?? { status: "absent" }, delegation: async () => ({ status: "absent" }) };
};

test.each<[string, DnsAnswer[], object]>([
  ["no list has it", [{ status: "absent" }, { status: "none" }], { status: "pass" }],
  ["one list has it", [{ status: "absent" }, listed("127.0.1.2")], { status: "fail", observed: ["two.test"] }],
  [
    "both lists have it",
    [listed("127.0.1.2"), listed("127.0.0.4")],
    { status: "fail", observed: ["one.test", "two.test"] },
  ],
  [
    "a list refuses a server that asks too often",
    [{ status: "absent" }, listed("127.255.255.254")],
    { status: "unknown" },
  ],
  [
    "a list is gone, and its zone answers with an address",
    [{ status: "absent" }, listed("203.0.113.9")],
    { status: "unknown" },
  ],
  [
    "a list cannot be asked",
    [{ status: "absent" }, { status: "unknown", reason: "it is silent" }],
    { status: "unknown" },
  ],
  [
    "one list has it and the other is silent",
    [listed("127.0.1.2"), { status: "unknown", reason: "-" }],
    { status: "fail" },
  ],
])("the check of the blocklists has the right result if %s", async (_, answers, found) => {
  const asked = { resolver: answering(...answers), domain: "shop.test" };
  expect(await checkBlocklists(asked, ["one.test", "two.test"])).toMatchObject(found);
});

test("the check asks a blocklist for the domain's name in front of the list's own name", async () => {
  const net = await internet();
  const list = await net.add(serving({ name: "list.test", rrsets: [a("shop.test.list.test", "127.0.1.2")] }));
  net.registered.push(...delegated("list.test", list));
  const { status } = await checkBlocklists({ resolver: net.open(), domain: "shop.test" }, ["list.test"]);
  expect([status, list.asked]).toEqual(["fail", ["shop.test.list.test A"]]);
});

/** A DNS in which every name has one TXT record. */
const saying = (text: string): Resolver => ({
  delegation: async () => ({ status: "none" }),
  resolve: async (name, type) => {
    if (type !== "TXT") return { status: "none" };
    return { status: "found", records: [{ name, type, ttl: 60, text }] };
  },
});

test("SPF must name our include and the addresses of the dedicated IPs, in any order", async () => {
  const senders = ["45.0.0.1", "2606:4700::1111"];
  const wanted = spfRecord(senders);
  const checked = (text: string) =>
    checkSpf({ resolver: saying(text), domain: "shop.test" }, wanted, { dns_mode: "hosted", spf_includes: [] });
  const include = "include:_spf.hosted-mail.example";
  expect(await checked(wanted.value)).toMatchObject({ status: "pass" });
  expect(await checked(`v=spf1 +ip6:2606:4700::1111 ${include} IP4:45.0.0.1 -all`)).toMatchObject({ status: "pass" });
  expect(await checked(`v=spf1 ip4:45.0.0.1 ${include} ~all`)).toMatchObject({
    status: "fail",
    message: expect.stringContaining("does not allow all senders of the domain. Add ip6:2606:4700::1111 to it."),
    missing: wanted,
  });
});

test("SPF must name our include, also if an external domain has our own name in its `spf_includes`", async () => {
  const own = "_spf.hosted-mail.example";
  const domain = { dns_mode: "external" as const, spf_includes: [own, "_spf.a.example"] };
  const resolver = saying("v=spf1 include:_spf.a.example ~all");
  const found = await checkSpf({ resolver, domain: "shop.test" }, spfRecord([], domain.spf_includes), domain);
  expect(found).toMatchObject({ status: "fail", message: expect.stringContaining(`Add include:${own} to it.`) });
});
