import { expect, test } from "vitest";

import { advanceDkim } from "../../../../shared/domains/dkim/advance.ts";
import { dkimQueue, domainKey } from "../../../../shared/domains/domain.ts";
import { planRecords } from "../../../../shared/domains/records/plan.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import { getZone } from "../../../../shared/domains/zone.ts";
import { readDue } from "../../../../shared/table/due.ts";
import { afterReading } from "../../../support/between.ts";
import { advance, dig, dkimOf, quicklyActive, setStored, storedAs, workAt } from "../../../support/domain-work.ts";
import { connected, domainsRequest, readDomain } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { happened } from "../../../support/purchases.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../../support/world.ts";

const dayMs = 86_400_000;

const rotate = (account: Account, name: string) => domainsRequest(account, "POST", `/${name}/dkim/rotate`);

/** Runs the next step of the rotation, at the time when the step is due. */
async function runStep(account: Account, name: string, others = {}): Promise<void> {
  const { id, dkim } = await storedAs(account, name);
  const at = dkim?.due_at ?? "";
  await advanceDkim(account.id, id, at, workAt(new Date(at), others));
}

const keys = async (account: Account, name: string): Promise<string[]> =>
  (await readDomain(account, name)).dkim_keys.map(
    ({ selector, status }: { selector: string; status: string }) => `${selector} ${status}`,
  );

const published = async (name: string): Promise<boolean[]> =>
  Promise.all(["hm1", "hm2"].map(async (one) => Array.isArray(await dig(`${one}._domainkey.${name}`, "TXT"))));

const dkimHealth = async (account: Account, name: string) => {
  const { body } = await domainsRequest(account, "GET", `/${name}/health`);
  return body.checks.find((check: { name: string }) => check.name === "dkim");
};

const told = async (account: Account): Promise<string[]> =>
  (await happened(account)).filter((type) => type.startsWith("domain.dkim"));

test("signs with the old key until the new record is seen, keeps the old record for 7 days, and can rotate again", async () => {
  const account = await newAccount();
  const { name, id, dkim_keys } = await quicklyActive(account);
  expect(dkim_keys).toMatchObject([{ selector: "hm1", status: "signing", removes_at: null }]);
  const first = await dkimOf(account, id);
  const { status, body } = await rotate(account, name);
  expect([status, body.name]).toEqual([200, name]);
  expect(body).toEqual({ ...(await readDomain(account, name)), dns_records: expect.anything() });
  expect([await keys(account, name), await published(name)]).toEqual([
    ["hm1 signing", "hm2 pending"],
    [true, true],
  ]);
  expect(await dkimOf(account, id)).toMatchObject({ selector: "hm1", public_key: first.public_key });
  expect(body.dns_record_count).toBe(8);

  await runStep(account, name);
  expect([await keys(account, name), await published(name)]).toEqual([
    ["hm2 signing", "hm1 retiring"],
    [true, true],
  ]);
  const second = await dkimOf(account, id);
  expect(second).toMatchObject({ selector: "hm2", former: { selector: "hm1", public_key: first.public_key } });
  expect(second.public_key).not.toBe(first.public_key);
  expect(JSON.stringify(second)).not.toContain(first.sealed_private_key);
  expect(await dig(`hm2._domainkey.${name}`, "TXT")).toEqual([`v=DKIM1; k=rsa; p=${second.public_key}`]);
  const { removes_at } = (await readDomain(account, name)).dkim_keys[1];
  const { since } = (await readDomain(account, name)).dkim_keys[0];
  expect(Date.parse(removes_at) - Date.parse(since)).toBe(7 * dayMs);
  expect(await dkimHealth(account, name)).toMatchObject({ status: "pass" });

  await runStep(account, name);
  expect([await keys(account, name), await published(name)]).toEqual([["hm2 signing"], [false, true]]);
  expect(await dkimOf(account, id)).not.toHaveProperty("former");
  expect((await readDomain(account, name)).dns_record_count).toBe(7);
  const left = (await readDue(testTable(), dkimQueue, new Date(Date.now() + 100 * dayMs))).flat();
  expect(left.filter(({ subject }) => subject.includes(id))).toEqual([]);
  expect(await told(account)).toEqual([
    "domain.dkim_rotation_started",
    "domain.dkim_rotated",
    "domain.dkim_key_removed",
  ]);

  await rotate(account, name);
  await runStep(account, name);
  expect(await keys(account, name)).toEqual(["hm1 signing", "hm2 retiring"]);
  expect((await dkimOf(account, id)).public_key).not.toBe(first.public_key);
});

test("checks the DNS ever less often while the new record is missing, and in the end every six hours", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await rotate(account, name);
  const resolver = {
    resolve: async () => ({ status: "absent" as const }),
    delegation: async () => ({ status: "absent" as const }),
  };
  const dues: number[] = [Date.parse((await storedAs(account, name)).dkim?.due_at ?? "")];
  for (let count = 0; count < 10; count++) {
    await runStep(account, name, { resolver });
    dues.push(Date.parse((await storedAs(account, name)).dkim?.due_at ?? ""));
  }
  const waits = dues.slice(1).map((due, index) => (due - (dues[index] ?? 0)) / 60_000);
  expect(waits).toEqual([1, 2, 5, 10, 30, 60, 180, 360, 360, 360]);
  expect(await keys(account, name)).toEqual(["hm1 signing", "hm2 pending"]);
});

test("only one rotation of a domain runs at a time, and a refusal shows when the old record will go", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const answers = await Promise.all([rotate(account, name), rotate(account, name), rotate(account, name)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  expect((await rotate(account, name)).body).toMatchObject({ code: "rotation_running" });
  await runStep(account, name);
  const before = await storedOf(account);
  const { removes_at } = (await readDomain(account, name)).dkim_keys[1];
  expect((await rotate(account, name)).body).toMatchObject({ code: "rotation_running", removes_at });
  expect(await storedOf(account)).toEqual(before);
});

test("a rotation that begins while another rotation reads the domain refuses the other with `rotation_running`", async () => {
  const account = await newAccount();
  const { name, id } = await quicklyActive(account);
  const { PK, SK } = domainKey(account.id, id);
  const refused = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    async () => expect((await rotate(account, name)).status).toBe(200),
    () => rotate(account, name),
    2,
  );
  expect(refused.body).toMatchObject({ status: 409, code: "rotation_running" });
  expect(refused.body.detail).toContain("hm2");
  expect(await keys(account, name)).toEqual(["hm1 signing", "hm2 pending"]);
});

test("refuses a domain without a key, reserves the name of the next record, and needs domain.update", async () => {
  const account = await newAccount();
  const pending = await connected(account);
  expect((await rotate(account, pending.name)).body).toMatchObject({ status: 409, code: "domain_not_ready" });
  const { name } = await quicklyActive(account);
  const record = { domain: name, name: "hm2._domainkey", type: "TXT", value: "v=DKIM1; p=" };
  const path = `/v1/public/accounts/${account.id}/dns-records`;
  const { body } = await request("POST", path, { token: account.owner.token, body: record });
  expect(body).toMatchObject({ status: 409, code: "system_managed" });
  const { token } = await newMember(account, { role: "viewer" });
  const route = `/v1/public/accounts/${account.id}/domains/${name}/dkim/rotate`;
  expect((await request("POST", route, { token })).body.required_capability).toBe("domain.update");
});

test("health only warns of a missing old record during a rotation, but fails for a missing new record", async () => {
  const account = await newAccount();
  const { name, id } = await quicklyActive(account);
  await rotate(account, name);
  expect(await dkimHealth(account, name)).toMatchObject({ status: "pass" });
  const work = workAt(new Date());
  const remove = async (selector: string) => {
    const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
    await work.dns.changeZone(zone_id, [{ remove: { name: `${selector}._domainkey.${name}`, type: "TXT" } }]);
  };
  await remove("hm1");
  expect(await dkimHealth(account, name)).toMatchObject({ status: "warn", missing_record: null });
  await runStep(account, name);
  expect(await dkimHealth(account, name)).toMatchObject({ status: "pass" });
  await remove("hm2");
  expect(await dkimHealth(account, name)).toMatchObject({ status: "fail", missing_record: { name: "hm2._domainkey" } });
});

test("the worker rotates the key after `dkim_rotation_months`, and never without this setting", async () => {
  const account = await newAccount();
  const [kept, rotated] = [await quicklyActive(account), await quicklyActive(account)];
  for (const wrong of [0, 61, 1.5, "6"]) {
    const { status } = await domainsRequest(account, "PATCH", `/${rotated.name}`, { dkim_rotation_months: wrong });
    expect(status, String(wrong)).toBe(422);
  }
  const set = { dkim_rotation_months: 6 };
  expect((await domainsRequest(account, "PATCH", `/${rotated.name}`, set)).body).toMatchObject(set);
  await advance(account, rotated.name);
  expect(await keys(account, rotated.name)).toEqual(["hm1 signing"]);
  const verified_at = new Date(Date.now() - 185 * dayMs).toISOString();
  for (const { name } of [kept, rotated]) {
    await setStored(account, name, { verified_at });
    await advance(account, name);
  }
  expect(await keys(account, kept.name)).toEqual(["hm1 signing"]);
  expect(await keys(account, rotated.name)).toEqual(["hm1 signing", "hm2 pending"]);
  await runStep(account, rotated.name);
  expect(await keys(account, rotated.name)).toEqual(["hm2 signing", "hm1 retiring"]);
  await advance(account, rotated.name);
  expect(await keys(account, rotated.name)).toEqual(["hm2 signing", "hm1 retiring"]);
});

test("a rotation waits while the domain is expired, and a queue entry without a due step is deleted", async () => {
  const account = await newAccount();
  const { name, id } = await quicklyActive(account);
  await rotate(account, name);
  await setStored(account, name, { status: "expired" });
  const before = Date.parse((await storedAs(account, name)).dkim?.due_at ?? "");
  await runStep(account, name);
  expect(Date.parse((await storedAs(account, name)).dkim?.due_at ?? "") - before).toBe(dayMs);
  expect(await keys(account, name)).toEqual(["hm1 signing", "hm2 pending"]);
  const { dkim } = await storedAs(account, name);
  await setStored(account, name, { dkim: { ...dkim, due_at: null } });
  await advanceDkim(account.id, id, dkim?.due_at ?? "", workAt(new Date()));
  const left = (await readDue(testTable(), dkimQueue, new Date(Date.now() + 100 * dayMs))).flat();
  expect(left.filter(({ subject }) => subject.includes(id))).toEqual([]);
});

test("refuses a rotation if a record of the customer has the new name, and names this record", async () => {
  const account = await newAccount();
  const { name, id } = await quicklyActive(account);
  const table = testTable();
  const zone = await getZone(table, account.id, id);
  if (!zone) throw new Error("there is no zone");
  const added = [{ name: "hm2._domainkey", type: "TXT" as const, value: "v=DKIM1; p=", ttl: 3_600 }];
  const recordId = await systemWriter({ table, now: () => new Date() }, account.id).commit(async () => {
    const { records, sole, changes } = await planRecords(table, account.id, [{ zone, added }], new Date());
    return { value: records[0]?.id, writes: [], sole, changes };
  });
  const { token } = await newMember(account, { capability: "domain.update" });
  const before = await storedOf(account);
  expect((await rotate(account, name)).body).toMatchObject({ code: "record_conflict", conflicts_with: recordId });
  const headers = { authorization: `Bearer ${token}` };
  const hidden = (await domainsRequest(account, "POST", `/${name}/dkim/rotate`, undefined, headers)).body;
  expect([hidden.code, hidden.conflicts_with]).toEqual(["record_conflict", undefined]);
  expect(await storedOf(account)).toEqual(before);
});
