import { createServer } from "node:http";

import { expect, onTestFinished, test } from "vitest";

import { parseRecord } from "../../../shared/domains/records/input.ts";
import { getZone } from "../../../shared/domains/zone.ts";
import type { ZoneChange } from "../../../shared/providers/dns/dns.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { addedRecord } from "../../support/dns-records.ts";
import { dig, quicklyActive, setStored, storedAs, workAt } from "../../support/domain-work.ts";
import { connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { listen } from "../../support/listen.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { visit, type WebAnswer } from "../../support/visit.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

type Check = {
  name: string;
  status: string;
  expected: string[] | null;
  observed: string[] | null;
  message: string;
  missing_record: Record<string, unknown> | null;
};

const health = async (account: Account, name: string): Promise<{ status: string; checks: Check[] }> =>
  (await domainsRequest(account, "GET", `/${name}/health`)).body;

const statusesOf = ({ checks }: { checks: Check[] }): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));

const checkOf = ({ checks }: { checks: Check[] }, name: string): Check | undefined =>
  checks.find((check) => check.name === name);

const well = {
  ns: "pass",
  mx: "pass",
  spf: "pass",
  dkim: "pass",
  dmarc: "pass",
  mta_sts: "warn",
  tls_rpt: "warn",
  blocklist: "unknown",
};

/** Changes a domain's zone only at the nameservers. The stored records stay as they are. */
async function changeZone(account: Account, name: string, ...changes: ZoneChange[]): Promise<void> {
  const { id } = await storedAs(account, name);
  const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
  await workAt(new Date()).dns.changeZone(zone_id, changes);
}

test("a domain that became active is `healthy`, even if some checks give advice", async () => {
  const account = await newAccount();
  const { name, nameservers } = await quicklyActive(account);
  const before = await storedOf(account);
  const answer = await domainsRequest(account, "GET", `/${name}/health`);
  expect(answer.body).toMatchObject({ domain: name, status: "healthy", checked_at: expect.stringMatching(/Z$/) });
  expect(statusesOf(answer.body)).toEqual(well);
  expect(checkOf(answer.body, "ns")).toMatchObject({ expected: nameservers, observed: nameservers.toSorted() });
  expect(checkOf(answer.body, "mx")).toMatchObject({
    expected: ["10 mx1.hosted-mail.example", "20 mx2.hosted-mail.example"],
    observed: ["10 mx1.hosted-mail.example", "20 mx2.hosted-mail.example"],
    missing_record: null,
  });
  expect(await storedOf(account)).toEqual(before);
});

test("shows the record that is missing in the zone, and is healthy again once the record is back", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const [key = ""] = await dig(`hm1._domainkey.${name}`, "TXT");
  await changeZone(account, name, { remove: { name: `hm1._domainkey.${name}`, type: "TXT" } });
  const found = await health(account, name);
  expect([found.status, statusesOf(found)]).toEqual(["degraded", { ...well, dkim: "fail" }]);
  const missing = { name: "hm1._domainkey", type: "TXT", value: key, ttl: 3_600 };
  expect(checkOf(found, "dkim")).toMatchObject({ expected: [key], observed: [], missing_record: missing });
  const data = [{ type: "TXT" as const, text: key }];
  await changeZone(account, name, { put: { name: `hm1._domainkey.${name}`, type: "TXT", ttl: 60, data } });
  expect((await health(account, name)).status).toBe("healthy");
});

test("a missing record is shown in the form in which records are added", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await changeZone(
    account,
    name,
    { remove: { name, type: "MX" } },
    { remove: { name, type: "TXT" } },
    { remove: { name: `hm1._domainkey.${name}`, type: "TXT" } },
    { remove: { name: `_dmarc.${name}`, type: "TXT" } },
  );
  const { checks } = await health(account, name);
  const missing = checks.flatMap(({ missing_record: record }): Record<string, unknown>[] => (record ? [record] : []));
  expect(missing.map((record) => `${String(record["name"])} ${String(record["type"])}`)).toEqual([
    "@ MX",
    "@ TXT",
    "hm1._domainkey TXT",
    "_dmarc TXT",
  ]);
  for (const record of missing) {
    expect(parseRecord(record as Parameters<typeof parseRecord>[0], name)).toHaveProperty("record");
  }
});

test("uses the present settings: after a change of the DMARC policy, only the new policy passes", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await domainsRequest(account, "PATCH", `/${name}`, { dmarc_policy: "reject" });
  expect(checkOf(await health(account, name), "dmarc")).toMatchObject({
    status: "pass",
    observed: ["v=DMARC1; p=reject"],
  });
  await setStored(account, name, { dmarc_policy: "quarantine" });
  expect(checkOf(await health(account, name), "dmarc")).toMatchObject({
    status: "fail",
    expected: ["v=DMARC1; p=quarantine"],
  });
});

test("says what to do first for a domain that was never delegated, and asks for no records", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account);
  const found = await health(account, name);
  expect(found.status).toBe("failing");
  expect(checkOf(found, "ns")).toMatchObject({
    status: "fail",
    expected: nameservers,
    observed: [],
    message: expect.stringContaining(
      `${name} is not in the DNS of its parent: it is not registered, has no nameservers`,
    ),
  });
  const waiting = {
    status: "unknown",
    missing_record: null,
    message: expect.stringContaining("once it is delegated to us"),
  };
  for (const check of ["mx", "spf", "dkim", "dmarc"]) expect(checkOf(found, check)).toMatchObject(waiting);
  expect(checkOf(found, "tls_rpt")).not.toMatchObject(waiting);
  await domainsRequest(account, "PATCH", `/${name}`, { tls_report_email: "ada@example.com" });
  expect(checkOf(await health(account, name), "tls_rpt")).toMatchObject(waiting);
});

test("a delegation to other nameservers fails, and checks that are no longer possible are unknown", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await delegate(testTable(), name, ["ns1.other.example", "ns2.other.example"]);
  const found = await health(account, name);
  expect(found.status).toBe("failing");
  expect(checkOf(found, "ns")).toMatchObject({ status: "fail", observed: ["ns1.other.example", "ns2.other.example"] });
  for (const check of ["mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt"]) {
    expect(checkOf(found, check)).toMatchObject({ status: "unknown", missing_record: null });
  }
  await delegated(account, name);
  expect((await health(account, name)).status).toBe("healthy");
});

test("if the parent zone does not answer, the health is unknown", async () => {
  const [account, nobody] = [await newAccount(), await newAccount()];
  const parent = uniqueName();
  await delegated(nobody, parent);
  const { name } = await connected(account, { name: `mail.${parent}` });
  const found = await health(account, name);
  expect([found.status, checkOf(found, "ns")?.status]).toEqual(["unknown", "unknown"]);
  expect(checkOf(found, "ns")?.message).toContain("The delegation could not be checked");
});

/** A server for the policies of all hosts. `answer` sets the answer to all requests, and `asked` lists their URLs. */
async function policyServer(): Promise<{ answer: (answer: Partial<WebAnswer>) => void; asked: string[] }> {
  let current: Partial<WebAnswer> = {};
  const asked: string[] = [];
  const server = createServer(({ url = "", headers: { host = "" } }, response) => {
    asked.push(host + url);
    const { status = 200, headers = { "content-type": "text/plain" }, body = "" } = current;
    response.writeHead(status, headers).end(body);
  });
  const port = await listen(server);
  process.env["MTA_STS_SERVER"] = `127.0.0.1:${port}`;
  onTestFinished(() => void delete process.env["MTA_STS_SERVER"]);
  return { asked, answer: (answer) => (current = answer) };
}

const textOf = (mode: string, ...hosts: string[]): string =>
  ["version: STSv1", `mode: ${mode}`, ...hosts.map((host) => `mx: ${host}`), "max_age: 86400", ""].join("\n");
const ours = ["mx1.hosted-mail.example", "mx2.hosted-mail.example"];

test("the MTA-STS check passes only if the fetched policy has the right mode and allows our mail hosts", async () => {
  const account = await newRoomyAccount();
  const { name } = await quicklyActive(account);
  const { asked, answer } = await policyServer();
  await domainsRequest(account, "PATCH", `/${name}`, { mta_sts_mode: "enforce", tls_report_email: "tls@example.com" });
  const check = async () => checkOf(await health(account, name), "mta_sts");
  const { body: served } = await visit(`mta-sts.${name}`, "/.well-known/mta-sts.txt");
  answer({ body: served });
  expect(await check()).toMatchObject({ status: "pass", message: "The policy is served, with the mode enforce." });
  expect(asked).toEqual([`mta-sts.${name}/.well-known/mta-sts.txt`]);
  expect(checkOf(await health(account, name), "tls_rpt")).toMatchObject({ status: "pass" });
  const wrong: [Partial<WebAnswer>, string][] = [
    [{ body: textOf("testing", ...ours) }, "mode testing instead of enforce"],
    [{ body: textOf("enforce", "mx1.hosted-mail.example") }, "does not allow mail to mx2.hosted-mail.example"],
    [{ body: "<html>" }, "cannot read the policy"],
    [{ body: textOf("enforce", ...ours).replace(/max_age.*/, "") }, "cannot read the policy"],
    [{ status: 404 }, "status 404"],
    [{ status: 301, headers: { location: "https://example.com/", "content-type": "text/plain" } }, "status 301"],
    [{ headers: { "content-type": "text/html" }, body: served }, "not text/plain"],
    [{ body: served + " ".repeat(65_536) }, "more than 65536 bytes"],
  ];
  for (const [given, message] of wrong) {
    answer(given);
    expect(await check(), message).toMatchObject({ status: "fail", message: expect.stringContaining(message) });
  }
  answer({ body: textOf("enforce", "*.hosted-mail.example") });
  expect(await check()).toMatchObject({ status: "pass" });
  await changeZone(account, name, { remove: { name: `_mta-sts.${name}`, type: "TXT" } });
  expect(await check()).toMatchObject({ status: "fail", missing_record: { name: "_mta-sts", type: "TXT" } });
});

test("the MTA-STS check is unknown if the policy server is out of reach, and asks no private address", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await domainsRequest(account, "PATCH", `/${name}`, { mta_sts_mode: "testing" });
  const check = async () => checkOf(await health(account, name), "mta_sts");
  expect(await check()).toMatchObject({
    status: "fail",
    message: expect.stringContaining(`mta-sts.${name} has no address`),
  });
  const data = [{ type: "A" as const, address: "10.0.0.1" }];
  await changeZone(
    account,
    name,
    { remove: { name: `mta-sts.${name}`, type: "CNAME" } },
    { put: { name: `mta-sts.${name}`, type: "A", ttl: 60, data } },
  );
  expect(await check()).toMatchObject({ status: "fail", message: expect.stringContaining("has no public address") });
  process.env["MTA_STS_SERVER"] = "127.0.0.1:1";
  onTestFinished(() => void delete process.env["MTA_STS_SERVER"]);
  expect(await check()).toMatchObject({ status: "unknown", message: expect.stringContaining("could not be fetched") });
});

test("a domain's own MTA-STS policy and TLS report address pass, and a domain without them gets advice", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const advice = await health(account, name);
  expect(checkOf(advice, "mta_sts")).toMatchObject({ status: "warn", missing_record: null, expected: null });
  expect(checkOf(advice, "mta_sts")?.message).toContain("set mta_sts_mode to testing");
  expect(checkOf(advice, "tls_rpt")).toMatchObject({ status: "warn", missing_record: null, expected: null });
  expect(checkOf(advice, "tls_rpt")?.message).toContain("set tls_report_email");
  await addedRecord(account, { domain: name, name: "_mta-sts", type: "TXT", value: "v=STSv1; id=1" });
  await addedRecord(account, {
    domain: name,
    name: "_smtp._tls",
    type: "TXT",
    value: "v=TLSRPTv1; rua=mailto:me@example.com",
  });
  const { answer } = await policyServer();
  answer({ body: textOf("enforce", ...ours) });
  expect(statusesOf(await health(account, name))).toEqual({ ...well, mta_sts: "pass", tls_rpt: "pass" });
  answer({ body: textOf("testing", "mx.other.example") });
  expect(checkOf(await health(account, name), "mta_sts")).toMatchObject({ status: "warn" });
});

test("an enforced MTA-STS policy of another host that does not allow our mail hosts is a fault", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await addedRecord(account, { domain: name, name: "_mta-sts", type: "TXT", value: "v=STSv1; id=1" });
  const { answer } = await policyServer();
  answer({ body: textOf("enforce", "mx.other.example") });
  const found = await health(account, name);
  expect(found).toMatchObject({ status: "degraded" });
  expect(checkOf(found, "mta_sts")).toMatchObject({
    status: "fail",
    message: expect.stringContaining("set mta_sts_mode to testing"),
  });
});
