import { expect, test } from "vitest";

import { changesOf } from "../../../shared/changes/record.ts";
import { advanceDomain } from "../../../shared/domains/advance.ts";
import { dkimKey } from "../../../shared/domains/dkim.ts";
import { holderKey, nameKey, type Domain } from "../../../shared/domains/domain.ts";
import { domainQueue } from "../../../shared/domains/queues.ts";
import { Problem } from "../../../shared/errors.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar-embedded.ts";
import { readDue } from "../../../shared/table/due.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { getZone, zoneKey } from "../../../shared/zones/zone.ts";
import { newWorkspace } from "../../support/auth.ts";
import {
  advance,
  dig,
  domainOf,
  quicklyActive,
  setStored,
  stored,
  storedAs,
  withRecords,
  workAt,
  write,
} from "../../support/domain-work.ts";
import { connected, contact, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { withFault } from "../../support/faults.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const remove = (account: Account, name: string, headers: Record<string, string> = {}) =>
  domainsRequest(account, "DELETE", `/${name}`, undefined, headers);

const statusOf = async (account: Account, name: string): Promise<number> =>
  (await domainsRequest(account, "GET", `/${name}`)).status;

const deleteWorkspace = ({ id, owner }: Account, workspaceId: string) =>
  request("DELETE", `/v1/public/accounts/${id}/workspaces/${workspaceId}`, { token: owner.token });

/** What an account keeps of what is gone, and its workspaces, which these tests name after domains. */
const history = /^(?:JOURNAL|REVOKED|LIST#workspaces)#/;

/** What is stored of an account that has to do with a domain and is no history: keys, for a message one can read. */
async function leftOf(account: Account, { id, name }: Pick<Domain, "id" | "name">): Promise<string[]> {
  const [own, due, [holder]] = await Promise.all([
    storedOf(account),
    readDue(testTable(), domainQueue, new Date(Date.now() + 7 * 86_400_000)),
    testTable().getMany([holderKey(name)]),
  ]);
  const isOf = (item: object): boolean => JSON.stringify(item).includes(id) || JSON.stringify(item).includes(name);
  return [
    ...own.filter((item) => !history.test(item.SK) && isOf(item)).map(({ SK }) => SK),
    ...due.flat().flatMap(({ at, place }) => (place.includes(id) ? [`due ${at}`] : [])),
    ...(holder?.["domain_id"] === id ? ["holder"] : []),
  ];
}

test("deletes a domain with all it had: records, zone, key, grants, its place and its name", async () => {
  const account = await newAccount();
  const domain = await quicklyActive(account);
  const { id, name, workspace_id } = domain;
  await withRecords(account, name, 60);
  const member = await newMember(account, { role: "viewer", scope: { type: "domain", id } });
  expect(await dig(name, "MX")).toHaveLength(2);
  const answer = await remove(account, name);
  expect([answer.status, answer.body]).toEqual([200, {}]);

  expect(await statusOf(account, name)).toBe(404);
  expect((await remove(account, name)).status).toBe(404);
  expect(await dig(name, "MX")).toBe("EREFUSED");
  expect(await leftOf(account, domain)).toEqual([]);
  const path = `/v1/public/accounts/${account.id}`;
  expect((await request("GET", path, { token: member.token })).status).toBe(404);
  const { token } = account.owner;
  expect((await request("GET", `${path}/dns-records`, { token })).body).toMatchObject({ items: [], total: 0 });
  expect((await domainsRequest(account, "GET", "")).body).toMatchObject({ items: [], total: 0 });
  expect((await deleteWorkspace(account, workspace_id)).status).toBe(200);
  const { rows } = await readEntries(testTable(), changesOf(account.id), { skip: 0, take: 200 }, new Date());
  const counted = Map.groupBy(rows, ({ type }) => String(type));
  expect(counted.get("dns_record.deleted")).toHaveLength(67);
  expect(counted.get("domain.deleted")).toHaveLength(1);
});

test("leaves other domains of the account and the workspace as they are", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const [gone, kept] = [await quicklyActive(account, { workspaceId }), await quicklyActive(account, { workspaceId })];
  const before = (await domainsRequest(account, "GET", `/${kept.name}`)).body;
  await remove(account, gone.name);
  expect((await domainsRequest(account, "GET", `/${kept.name}`)).body).toEqual(before);
  expect(await dig(kept.name, "MX")).toHaveLength(2);
  expect((await deleteWorkspace(account, workspaceId)).body).toMatchObject({ domain_count: 1 });
});

test("of many concurrent deletions each succeeds or finds nothing, and it is counted once", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const domain = await connected(account, { workspaceId });
  await connected(account, { workspaceId });
  await withRecords(account, domain.name, 3);
  const answers = await Promise.all(Array.from({ length: 6 }, () => remove(account, domain.name)));
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 404)).toEqual([]);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect(await leftOf(account, domain)).toEqual([]);
  expect((await domainsRequest(account, "GET", `?workspace_id=${workspaceId}`)).body.total).toBe(1);
  expect((await deleteWorkspace(account, workspaceId)).body).toMatchObject({ domain_count: 1 });
});

test("refuses a domain that holds mailboxes, or is being registered, and leaves it as it is", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await setStored(account, name, { mailbox_count: 2 });
  const before = await storedOf(account);
  expect((await remove(account, name)).body).toMatchObject({ status: 409, code: "domain_not_empty", mailbox_count: 2 });
  expect(await storedOf(account)).toEqual(before);
  await setStored(account, name, { mailbox_count: 0, status: "pending_registration" });
  expect((await remove(account, name)).body).toMatchObject({
    status: 409,
    code: "domain_not_ready",
    domain_status: "pending_registration",
  });
  expect(await dig(name, "MX")).toHaveLength(2);
});

test("refuses to delete what the caller did not see", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const seen = { "if-match": (await domainsRequest(account, "GET", `/${name}`)).headers["etag"] ?? "" };
  await domainsRequest(account, "PATCH", `/${name}`, { dmarc_policy: "reject" });
  expect((await remove(account, name, seen)).body).toMatchObject({ status: 412, code: "precondition_failed" });
  const fresh = { "if-match": (await domainsRequest(account, "GET", `/${name}`)).headers["etag"] ?? "" };
  expect((await remove(account, name, fresh)).status).toBe(200);
});

test("gives a registration back to the registrar, and keeps the domain as releasing while that does not answer", async () => {
  const account = await newAccount();
  const domain = await connected(account);
  const { id, name } = domain;
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.register({ name, contact, autoRenew: false });
  const { expiresAt, locked } = (await registrar.registration(name)) ?? {};
  const registration = { status: "active", expires_at: expiresAt, locked };
  await setStored(account, name, { source: "purchased", registration, status: "releasing", is_open: false });
  const silent = { ...registrar, release: () => Promise.reject(new Problem("upstream_unavailable", "It is silent.")) };
  await expect(advance(account, name, { registrar: silent })).rejects.toThrow("It is silent.");
  expect(await domainOf(account, id)).toMatchObject({ status: "releasing" });
  expect(await registrar.registration(name)).toBeDefined();
  expect(await advance(account, name)).toBeUndefined();
  expect(await registrar.registration(name)).toBeUndefined();
  expect(await leftOf(account, domain)).toEqual([]);
});

test("a domain whose registration failed takes nothing from whoever registered the name since", async () => {
  const [account, buyer] = [await newAccount(), await newAccount()];
  const { name } = await connected(account);
  const registration = { status: "failed", expires_at: null, locked: false };
  await setStored(account, name, { source: "purchased", registration, status: "failed", is_open: false });
  await write({ delete: holderKey(name) });
  const bought = await connected(buyer, { name });
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.register({ name, contact, autoRenew: false });
  expect((await remove(account, name)).status).toBe(200);
  expect(await statusOf(account, name)).toBe(404);
  expect(await registrar.registration(name)).toBeDefined();
  expect(await testTable().getMany([holderKey(name), nameKey(buyer.id, name)])).toMatchObject([
    { account_id: buyer.id, domain_id: bought.id },
    { domain_id: bought.id },
  ]);
});

test.each(["active", "expired"])(
  "a domain that was bought before takes nothing from whoever has the name since (%s)",
  async (status) => {
    const [account, buyer] = [await newAccount(), await newAccount()];
    const { id, name } = await connected(account);
    const registration = { status, expires_at: "2026-01-01T00:00:00.000Z", locked: true };
    await setStored(account, name, { source: "purchased", registration, status: "releasing", is_open: false });
    await write({ delete: holderKey(name) });
    const bought = await connected(buyer, { name });
    const registrar = embeddedRegistrar(testTable(), () => new Date());
    await registrar.register({ name, contact, autoRenew: false });
    await remove(account, name);
    expect(await domainOf(account, id)).toBeUndefined();
    expect(await registrar.registration(name)).toBeDefined();
    expect(await testTable().getMany([holderKey(name)])).toMatchObject([{ domain_id: bought.id }]);
  },
);

/** Which of these calls write. */
const writes = /^(?:Transact|Put|Update|Delete)/;

test("whatever a deletion that dies has done, deleting it again or the worker does the rest", async () => {
  const account = await newAccount();
  const scene = async () => {
    const domain = await quicklyActive(account);
    await withRecords(account, domain.name, 14);
    await newMember(account, { role: "viewer", scope: { type: "domain", id: domain.id } });
    return domain;
  };
  const whole = await scene();
  const { calls } = await withFault(undefined, -1, () => remove(account, whole.name));
  const places = calls.flatMap((command, at) => (writes.test(command) ? [at] : []));
  expect(places.length).toBeGreaterThan(5);
  for (const [index, at] of places.entries()) {
    const domain = await scene();
    const { value: died } = await withFault("answer lost", at, () => remove(account, domain.name));
    expect([200, 503], died.text).toContain(died.status);
    const left = await stored(account, domain.name);
    if (left && index % 2 === 0) expect((await remove(account, domain.name)).status).toBe(200);
    else if (left) await advance(account, domain.name);
    expect(await leftOf(account, domain), `dead at call ${at}`).toEqual([]);
    expect(await dig(domain.name, "MX"), `dead at call ${at}`).toBe("EREFUSED");
  }
  expect((await domainsRequest(account, "GET", "")).body.total).toBe(0);
});

test("takes a zone away whose making died before anybody wrote down that it is there", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { id } = await storedAs(account, name);
  await write({ update: zoneKey(account.id, id), remove: ["zone_id"], set: { dirty: ["*"], held: [] } });
  expect((await remove(account, name)).status).toBe(200);
  expect(await dig(name, "MX")).toBe("EREFUSED");
});

test("waits for whoever is bringing the zone up to date, so that none is left behind", async () => {
  const account = await newAccount();
  const domain = await quicklyActive(account);
  const { id, name } = domain;
  const until = new Date(Date.now() + 100_000);
  await write({
    update: zoneKey(account.id, id),
    set: { lease_owner: "somebody", lease_until: until.toISOString() },
  });
  expect((await remove(account, name)).status).toBe(200);
  expect((await domainsRequest(account, "GET", `/${name}`)).body).toMatchObject({ status: "releasing" });
  expect((await getZone(testTable(), account.id, id))?.wanted).toBe(false);
  const { due_at } = await storedAs(account, name);
  expect(Date.parse(due_at ?? "")).toBeGreaterThan(until.getTime());
  await advanceDomain(account.id, id, due_at ?? "", workAt(new Date(due_at ?? "")));
  expect(await leftOf(account, domain)).toEqual([]);
  expect(await dig(name, "MX")).toBe("EREFUSED");
});

test("a name that was given up is somebody else's without anything the first account had", async () => {
  const [first, second] = [await newAccount(), await newAccount()];
  const name = uniqueName("own");
  const old = await quicklyActive(first, { name });
  await withRecords(first, name, 2);
  const keyOf = async () => dig(`hm1._domainkey.${name}`, "TXT");
  const oldKey = await keyOf();
  const member = await newMember(first, { role: "manager", scope: { type: "domain", id: old.id } });
  await remove(first, name);

  const domain = await connected(second, { name });
  expect(domain.id).not.toBe(old.id);
  expect(await dig(name, "MX")).toBe("EREFUSED");
  await delegated(second, name);
  await domainsRequest(second, "POST", `/${name}/verify`);
  const { body } = await domainsRequest(second, "GET", `/${name}`);
  expect(body).toMatchObject({ status: "active", dns_record_count: 7 });
  expect(await dig(`r000.${name}`, "A")).toBe("ENOTFOUND");
  expect(await keyOf()).toHaveLength(1);
  expect(await keyOf()).not.toEqual(oldKey);
  expect(await dig(name, "NS")).toEqual(domain.nameservers.toSorted());
  for (const { id } of [first, second]) {
    const seen = await request("GET", `/v1/public/accounts/${id}/domains/${name}`, { token: member.token });
    expect(seen.status).toBe(404);
  }
  const [oldDkim] = await testTable().getMany([dkimKey(first.id, old.id)]);
  expect(oldDkim).toBeUndefined();
  const lookalike = await connected(first, { name: name.replace(/^own/, "оwn") });
  expect(lookalike.warnings).toEqual([]);
});
