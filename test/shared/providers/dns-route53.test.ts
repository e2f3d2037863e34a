import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { beforeEach, expect, test, vi } from "vitest";

import type { RRset } from "../../../shared/dns/rrset.ts";
import { Problem } from "../../../shared/errors.ts";
import { route53Dns, type Route53Options } from "../../../shared/providers/dns-route53.ts";
import { ZoneExists, type Dns } from "../../../shared/providers/dns.ts";
import { fault, invalidBatch, newZone, startRoute53, type Route53Service, type Trouble } from "./route53-service.ts";

const input = { name: "example.com", reference: "domain-1", nameservers: ["a.ns1.example.net", "a.ns2.example.net"] };

beforeEach(() => {
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKID");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  return () => vi.unstubAllEnvs();
});

type Scene = Route53Service & { dns: Dns };

async function scene(troubles: Trouble[] = [], options: Route53Options = {}): Promise<Scene> {
  const service = await startRoute53(...troubles);
  return { ...service, dns: route53Dns({ endpoint: service.url, timeoutMs: 150, ...options }) };
}

/** A zone of example.com, with what is put in it. */
async function zoneScene(...rrsets: RRset[]): Promise<Scene & { zoneId: string }> {
  const made = await scene();
  const { zoneId } = await made.dns.createZone(input);
  if (rrsets.length > 0)
    await made.dns.changeZone(
      zoneId,
      rrsets.map((put) => ({ put })),
    );
  made.recorded.length = 0;
  return { ...made, zoneId };
}

const address = (name: string, ...addresses: string[]): RRset => ({
  name,
  type: "A",
  ttl: 300,
  data: addresses.map((address) => ({ type: "A", address })),
});
const many = (count: number): RRset[] =>
  Array.from({ length: count }, (_, n) => address(`h${n}.example.com`, "192.0.2.1"));

const namesIn = ({ zones }: Scene, zoneId: string): string[] =>
  (zones.get(zoneId)?.sets ?? []).map(({ name, type }) => `${type} ${name}`);
const callsOf = ({ recorded }: Scene): string[] =>
  recorded.map(({ method, path }) => `${method} ${path.replace("/2013-04-01/", "").replace(/\?.*/, "")}`);

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing",
    (error: unknown) => error,
  );
const unavailable = { code: "upstream_unavailable", status: 503, extras: { retry_after: 5 } };

test("a zone is made on the delegation set, with the given nameservers at its apex", async () => {
  const one = await scene([], { delegationSetId: "N1" });
  expect(await one.dns.createZone(input)).toEqual({ zoneId: "Z1" });
  expect(callsOf(one)).toEqual(["GET hostedzonesbyname", "POST hostedzone", "POST hostedzone/Z1/rrset"]);
  expect(one.recorded[1]?.body).toBe(
    '<?xml version="1.0" encoding="UTF-8"?><CreateHostedZoneRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/">' +
      "<Name>example.com.</Name><CallerReference>domain-1</CallerReference><DelegationSetId>N1</DelegationSetId>" +
      "</CreateHostedZoneRequest>",
  );
  expect(one.zones.get("Z1")?.sets).toContainEqual({
    name: "example.com.",
    type: "NS",
    ttl: 86_400,
    values: ["a.ns1.example.net.", "a.ns2.example.net."],
  });
});

test("every request is signed with SigV4 for route53 in us-east-1", async () => {
  const { dns, recorded } = await scene();
  await dns.createZone(input);
  for (const { headers } of recorded) {
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/us-east-1\/route53\/aws4_request, SignedHeaders=\S*host;x-amz-content-sha256;x-amz-date\S*, Signature=[0-9a-f]{64}$/,
    );
  }
  expect(recorded[1]?.headers["content-type"]).toBe("application/xml");
});

test("asked again, and when the answer was lost, it is the same zone, with the nameservers that are given last", async () => {
  const one = await scene([() => undefined, "lost"]);
  const nameservers = ["b.ns1.example.net"];
  expect(await one.dns.createZone(input)).toEqual({ zoneId: "Z1" });
  expect(await one.dns.createZone({ ...input, nameservers })).toEqual({ zoneId: "Z1" });
  expect(one.zones.size).toBe(1);
  expect(one.zones.get("Z1")?.sets.find(({ type }) => type === "NS")?.values).toEqual(["b.ns1.example.net."]);
});

test("a zone made with another reference is in the way, and stays as it is", async () => {
  const one = await scene();
  one.zones.set("Z9", newZone("Z9", "example.com.", "another"));
  await expect(one.dns.createZone(input)).rejects.toThrow(ZoneExists);
  expect(callsOf(one)).toEqual(["GET hostedzonesbyname"]);
});

test("private zones and the registrar's own are not in the way, however many there are", async () => {
  const one = await scene();
  for (let n = 0; n < 45; n++) {
    one.zones.set(`Y${n}`, { ...newZone(`Y${n}`, "example.com.", `private-${n}`), isPrivate: true });
  }
  one.zones.set("YR", newZone("YR", "example.com.", "RISWorkflow-RD:86f7536b"));
  one.zones.set("Z1", newZone("Z1", "sub.example.com.", "another"));
  const { zoneId } = await one.dns.createZone(input);
  expect(one.zones.get(zoneId)).toMatchObject({ name: "example.com.", reference: "domain-1" });
  expect(await one.dns.createZone(input)).toEqual({ zoneId });
  expect(callsOf(one).slice(0, 4)).toEqual([...Array(3).fill("GET hostedzonesbyname"), "POST hostedzone"]);
});

test("a zone that was made a moment ago and is not listed yet is 503", async () => {
  const one = await scene([() => undefined, fault("HostedZoneAlreadyExists", 409)]);
  expect(await thrownBy(one.dns.createZone(input))).toMatchObject(unavailable);
});

test("a conflict on the delegation set is another zone of the name, or an Error of its own", async () => {
  const conflict = fault("ConflictingDomainExists");
  const parent = await scene([() => undefined, conflict]);
  await expect(parent.dns.createZone(input)).rejects.toThrow("A zone above or below example.com is on the same");
  const same = await scene([() => undefined, conflict]);
  same.troubles.push(() => void same.zones.set("Z9", newZone("Z9", "example.com.", "another")));
  await expect(same.dns.createZone(input)).rejects.toThrow(ZoneExists);
});

test.each(["NoSuchDelegationSet", "DelegationSetNotReusable"])("%s says what is configured wrongly", async (code) => {
  const { dns } = await scene([() => undefined, fault(code)], { delegationSetId: "N1" });
  await expect(dns.createZone(input)).rejects.toThrow("DNS_DELEGATION_SET");
});

test("a change is one batch, what goes before what comes, and the last word on an RRset counts", async () => {
  const one = await zoneScene({
    name: "www.example.com",
    type: "CNAME",
    ttl: 60,
    data: [{ type: "CNAME", host: "a.test" }],
  });
  const changed = await one.dns.changeZone(one.zoneId, [
    { put: address("www.example.com", "192.0.2.9") },
    { put: address("www.example.com", "192.0.2.1", "192.0.2.2") },
    { put: { name: "*.example.com", type: "TXT", ttl: 60, data: [{ type: "TXT", text: 'é <"&>' }] } },
    { remove: { name: "www.example.com", type: "CNAME" } },
  ]);
  expect(changed).toEqual({ changeId: "C4", isInSync: false });
  const set = (name: string, type: string, ttl: number, ...values: string[]) =>
    `<ResourceRecordSet><Name>${name}</Name><Type>${type}</Type><TTL>${ttl}</TTL><ResourceRecords>` +
    values.map((value) => `<ResourceRecord><Value>${value}</Value></ResourceRecord>`).join("") +
    "</ResourceRecords></ResourceRecordSet>";
  expect(one.recorded.at(-1)?.body).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>' +
      '<ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes>' +
      `<Change><Action>DELETE</Action>${set("www.example.com.", "CNAME", 60, "a.test.")}</Change>` +
      `<Change><Action>UPSERT</Action>${set("www.example.com.", "A", 300, "192.0.2.1", "192.0.2.2")}</Change>` +
      `<Change><Action>UPSERT</Action>${set("*.example.com.", "TXT", 60, "&quot;\\303\\251 &lt;\\042&amp;&gt;&quot;")}</Change>` +
      "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>",
  );
  expect(callsOf(one)).toEqual(["GET hostedzone/Z1/rrset", "POST hostedzone/Z1/rrset"]);
});

test("what is there is removed, a wildcard too; where nothing is left to do nothing is sent, and it is in sync", async () => {
  const one = await zoneScene(address("*.example.com", "192.0.2.1"), address("z.example.com", "192.0.2.1"));
  const wildcard = { remove: { name: "*.example.com", type: "A" } } as const;
  await one.dns.changeZone(one.zoneId, [wildcard, { remove: { name: "y.example.com", type: "A" } }]);
  expect(namesIn(one, one.zoneId).slice(2)).toEqual(["A z.example.com."]);
  one.recorded.length = 0;
  const again = await one.dns.changeZone(one.zoneId, [wildcard, { remove: { name: "z.example.com", type: "MX" } }]);
  expect(again.isInSync).toBe(true);
  expect(await one.dns.isInSync(again.changeId)).toBe(true);
  expect(callsOf(one)).toEqual(["GET hostedzone/Z1/rrset", "GET hostedzone/Z1/rrset"]);
});

test("for many removals the zone is read in pages, once", async () => {
  const one = await zoneScene(...many(320));
  const removals = many(320).map(({ name, type }) => ({ remove: { name, type } }));
  await one.dns.changeZone(one.zoneId, [...removals, { remove: { name: "nothing.example.com", type: "A" } }]);
  expect(namesIn(one, one.zoneId)).toEqual(["NS example.com.", "SOA example.com."].toSorted());
  expect(callsOf(one)).toEqual([...Array(2).fill("GET hostedzone/Z1/rrset"), "POST hostedzone/Z1/rrset"]);
});

test("what was changed meanwhile is read again, once", async () => {
  const removal = [{ remove: { name: "a.example.com", type: "A" } }] as const;
  const one = await zoneScene(address("a.example.com", "192.0.2.1"));
  const meddle = (value: string) => (): void => {
    for (const set of one.zones.get(one.zoneId)?.sets ?? []) if (set.type === "A") set.values = [value];
  };
  one.troubles.push(() => undefined, meddle("192.0.2.2"));
  await one.dns.changeZone(one.zoneId, removal);
  expect(namesIn(one, one.zoneId)).toHaveLength(2);
  await one.dns.changeZone(one.zoneId, [{ put: address("a.example.com", "192.0.2.1") }]);
  one.recorded.length = 0;
  one.troubles.push(
    () => undefined,
    meddle("192.0.2.3"),
    () => undefined,
    meddle("192.0.2.4"),
  );
  expect(await thrownBy(one.dns.changeZone(one.zoneId, removal))).toMatchObject({ name: "InvalidChangeBatch" });
  expect(one.recorded).toHaveLength(4);
});

test("a removal whose answer was lost is done, in both forms in which Route 53 says that nothing was there", async () => {
  const one = await zoneScene(address("a.example.com", "192.0.2.1"), address("b.example.com", "192.0.2.1"));
  const removal = (name: string) => ({ remove: { name, type: "A" as const } });
  one.troubles.push(() => undefined, "lost");
  await one.dns.changeZone(one.zoneId, [removal("a.example.com")]);
  one.troubles.push(() => undefined, "lost", invalidBatch("Tried to delete"));
  await one.dns.changeZone(one.zoneId, [removal("b.example.com"), { put: address("c.example.com", "192.0.2.1") }]);
  expect(namesIn(one, one.zoneId).slice(2)).toEqual(["A c.example.com."]);
});

test("a batch that is refused for what it puts is an Error, and not sent again", async () => {
  const one = await zoneScene();
  one.troubles.push(fault("InvalidChangeBatch"));
  const error = await thrownBy(one.dns.changeZone(one.zoneId, [{ put: address("a.example.com", "192.0.2.1") }]));
  expect(error).toMatchObject({ name: "InvalidChangeBatch" });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("200 RRsets fit; what no batch can hold is refused before anything is sent", async () => {
  const one = await zoneScene();
  const text = (name: string, length: number) => ({
    put: { name, type: "TXT" as const, ttl: 60, data: [{ type: "TXT" as const, text: "x".repeat(length) }] },
  });
  await one.dns.changeZone(
    one.zoneId,
    many(200).map(({ name }) => text(name, 70)),
  );
  const crowd = Array.from({ length: 501 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  const tooMany = [{ put: address("a.example.com", ...crowd) }];
  const tooLong = many(5).map(({ name }) => text(name, 3_300));
  for (const changes of [tooMany, tooLong]) {
    await expect(one.dns.changeZone(one.zoneId, changes)).rejects.toThrow("more than one request to Route 53 can hold");
  }
  expect(callsOf(one)).toEqual(["POST hostedzone/Z1/rrset"]);
});

test("a change is in sync once Route 53 says so, or has forgotten it", async () => {
  const { dns, zoneId, changes } = await zoneScene();
  const { changeId } = await dns.changeZone(zoneId, [{ put: address("a.example.com", "192.0.2.1") }]);
  expect(await dns.isInSync(changeId)).toBe(false);
  changes.set(changeId, "INSYNC");
  expect(await dns.isInSync(changeId)).toBe(true);
  changes.delete(changeId);
  expect(await dns.isInSync(changeId)).toBe(true);
});

test("a zone is emptied page by page and deleted; one that is gone is fine", async () => {
  const one = await zoneScene();
  const sets = one.zones.get(one.zoneId)?.sets ?? [];
  for (let n = 0; n < 1_100; n++) sets.push({ name: `h${n}.example.com.`, type: "A", ttl: 60, values: ["192.0.2.1"] });
  sets.push({ name: "example.com.", type: "MX", ttl: 60, values: ["10 mx.example.net."] });
  sets.push({ name: "sub.example.com.", type: "NS", ttl: 60, values: ["ns.example.net."] });
  await one.dns.deleteZone(one.zoneId);
  expect(one.zones.size).toBe(0);
  expect(callsOf(one).at(-1)).toBe("DELETE hostedzone/Z1");
  expect(one.recorded).toHaveLength(4 * 2 + 1);
  await one.dns.deleteZone(one.zoneId);
  expect(one.recorded).toHaveLength(4 * 2 + 2);
});

test("a zone is deleted though it is changed meanwhile, and though the answer was lost", async () => {
  const one = await zoneScene(address("a.example.com", "192.0.2.1"));
  const add = (): void => {
    one.zones.get(one.zoneId)?.sets.push({ name: "b.example.com.", type: "A", ttl: 60, values: ["192.0.2.1"] });
  };
  one.troubles.push(
    () => undefined,
    () => undefined,
    add,
    () => undefined,
    () => undefined,
    "lost",
  );
  await one.dns.deleteZone(one.zoneId);
  expect(one.zones.size).toBe(0);
});

test("a zone that cannot be emptied is an Error after three rounds", async () => {
  const one = await zoneScene();
  for (let round = 0; round < 4; round++) one.troubles.push(() => undefined, fault("HostedZoneNotEmpty"));
  expect(await thrownBy(one.dns.deleteZone(one.zoneId))).toMatchObject({ name: "HostedZoneNotEmpty" });
  expect(one.recorded).toHaveLength(6);
});

const change = (one: Scene) => one.dns.changeZone("Z1", [{ put: address("a.example.com", "192.0.2.1") }]);
const passing: [string, Trouble][] = [
  ["throttles", fault("Throttling", 400, "Rate exceeded")],
  ["is at work on a change before", fault("PriorRequestNotComplete")],
  ["fails inside", fault("InternalFailure", 500)],
  ["is behind a bad gateway", { status: 502, body: "<h1>Bad gateway</h1>" }],
  ["is silent", "silence"],
  ["stops in the middle", "stall"],
  ["hangs up", "hang-up"],
];

test("what passes is not noticed; after three attempts it is 503", async () => {
  const nowhere = thrownBy(route53Dns({ endpoint: "http://127.0.0.1:1" }).isInSync("C1"));
  await Promise.all(
    passing.map(async ([what, trouble]) => {
      const once = await scene([trouble]);
      once.zones.set("Z1", newZone("Z1", "example.com.", "domain-1"));
      const ever = await scene([trouble, trouble, trouble]);
      const [changed, error] = await Promise.all([change(once), thrownBy(change(ever))]);
      expect(changed, what).toEqual({ changeId: "C1", isInSync: false });
      expect(once.recorded, what).toHaveLength(2);
      expect(error, what).toMatchObject(unavailable);
      expect(ever.recorded, what).toHaveLength(3);
    }),
  );
  expect(await nowhere).toMatchObject(unavailable);
});

test.each([
  ["no XML", "<html><b>Hello"],
  ["other XML", "<html><b>Hello</b></html>"],
  ["nothing", ""],
])("an answer of %s with 200 is 503, and believed to say nothing", async (_what, body) => {
  const garbled = { status: 200, headers: { "content-type": "text/xml" }, body };
  const uses: ((dns: Dns) => Promise<unknown>)[] = [
    (dns) => dns.createZone(input),
    (dns) => dns.changeZone("Z1", [{ put: address("a.example.com", "192.0.2.1") }]),
    (dns) => dns.changeZone("Z1", [{ remove: { name: "a.example.com", type: "A" } }]),
    (dns) => dns.isInSync("C1"),
    (dns) => dns.deleteZone("Z1"),
  ];
  await Promise.all(
    uses.map(async (use) => {
      const { dns, recorded } = await scene([garbled]);
      expect(await thrownBy(use(dns))).toMatchObject(unavailable);
      expect(recorded).toHaveLength(1);
    }),
  );
});

test.each([
  ["AccessDenied", 403],
  ["NoSuchHostedZone", 404],
  ["InvalidInput", 400],
])("%s for a change is our own mistake: no 503, and no second attempt", async (code, status) => {
  const one = await scene([fault(code, status)]);
  const error = await thrownBy(change(one));
  expect(error).toMatchObject({ name: code });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("the SDK is not loaded before the first zone, and is then found by the environment", () => {
  const file = resolve(import.meta.dirname, "../../../shared/providers/dns.ts");
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { if (url.includes("client-route-53")) loaded.push(url); return next(url, context); } });
    const { dns } = await import(${JSON.stringify(file)});
    const chosen = dns({});
    const before = loaded.length;
    const code = await chosen.isInSync("C1").catch(({ code }) => code);
    process.stdout.write(JSON.stringify([before, loaded.length > 0, code]));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    env: {
      PATH: process.env["PATH"] ?? "",
      DNS_PROVIDER: "route53",
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "AKID",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL_ROUTE_53: "http://127.0.0.1:1",
    },
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual([0, true, "upstream_unavailable"]);
});
