import { expect, test } from "vitest";

import { parseRecord } from "../../../shared/domains/records/input.ts";
import { getZone } from "../../../shared/domains/zone.ts";
import type { ZoneChange } from "../../../shared/providers/dns/dns.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { dig, quicklyActive, setStored, storedAs, workAt } from "../../support/domain-work.ts";
import { connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { request } from "../../support/request.ts";
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

/** Changes a domain's zone at the nameservers, which its records know nothing of. */
async function changeZone(account: Account, name: string, ...changes: ZoneChange[]): Promise<void> {
  const { id } = await storedAs(account, name);
  const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
  await workAt(new Date()).dns.changeZone(zone_id, changes);
}

test("finds nothing wrong with a domain that became active, and gives advice without holding it against it", async () => {
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

test("says which record to add where one is gone from the zone, and is healthy again with it", async () => {
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

test("a record that was added is not asked for again, although the public DNS does not show it yet", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const adviceOf = async () => (await health(account, name)).checks.filter(({ status }) => status === "warn");
  const [sts] = await adviceOf();
  const body = { domain: name, ...sts?.missing_record };
  const path = `/v1/public/accounts/${account.id}/dns-records`;
  expect((await request("POST", path, { token: account.owner.token, body })).status).toBe(201);
  const [added, other] = await adviceOf();
  expect([added?.missing_record, added?.message]).toEqual([
    null,
    "The record was added here. The public DNS does not show it yet.",
  ]);
  expect(other?.missing_record).not.toBeNull();
});

test("the records to add can be added as they are: those that it advises here, and all where the DNS is hosted", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const advice = (await health(account, name)).checks.filter(({ status }) => status === "warn");
  expect(advice.map(({ missing_record }) => missing_record?.["name"])).toEqual(["_mta-sts", "_smtp._tls"]);
  for (const { missing_record } of advice) {
    const body = { domain: name, ...missing_record };
    const path = `/v1/public/accounts/${account.id}/dns-records`;
    const added = await request("POST", path, { token: account.owner.token, body });
    expect([added.status, added.body.zone_status], added.text).toEqual([201, "in_sync"]);
  }
  expect(statusesOf(await health(account, name))).toEqual({ ...well, mta_sts: "pass", tls_rpt: "pass" });

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

test("follows what the settings say: a policy that was changed is looked for as it is now", async () => {
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

test("says of a domain that was never delegated what is to be done first, and asks for no records", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account);
  const found = await health(account, name);
  expect(found.status).toBe("failing");
  expect(checkOf(found, "ns")).toMatchObject({
    status: "fail",
    expected: nameservers,
    observed: [],
    message: `${name} is not registered. Register it, and then delegate it.`,
  });
  const waiting = {
    status: "unknown",
    missing_record: null,
    message: expect.stringContaining("once it is delegated to us"),
  };
  for (const check of ["mx", "spf", "dkim", "dmarc"]) expect(checkOf(found, check)).toMatchObject(waiting);
});

test("a delegation that went elsewhere fails, and what can no longer be found out there says nothing", async () => {
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

test("a parent that cannot be asked makes nothing fail", async () => {
  const [account, nobody] = [await newAccount(), await newAccount()];
  const parent = uniqueName();
  await delegated(nobody, parent);
  const { name } = await connected(account, { name: `mail.${parent}` });
  const found = await health(account, name);
  expect([found.status, checkOf(found, "ns")?.status]).toEqual(["unknown", "unknown"]);
  expect(checkOf(found, "ns")?.message).toContain("The delegation could not be checked");
});
