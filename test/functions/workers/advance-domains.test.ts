import { randomUUID } from "node:crypto";

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

import { advanceDomain, handler, sweepDomains } from "../../../functions/workers/advance-domains.ts";
import { changeJournalOf } from "../../../shared/changes/record.ts";
import { Problem } from "../../../shared/core/errors.ts";
import type { Resolver } from "../../../shared/dns/answer.ts";
import { openResolver } from "../../../shared/dns/resolver.ts";
import { domainQueue, holderKey } from "../../../shared/domains/domain.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { registrationOf } from "../../../shared/domains/registration-state.ts";
import { getZone, zoneKey, zoneQueue } from "../../../shared/domains/zone.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import type { Registrar } from "../../../shared/providers/registrar/registrar.ts";
import { dueWrite, readDue } from "../../../shared/table/due.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { newWorkspace } from "../../support/auth.ts";
import { dnsNetwork } from "../../support/dns-network.ts";
import { advance, dig, quicklyActive, setStored, storedAs, workAt, write } from "../../support/domain-work.ts";
import { connected, contact, delegated, domainsRequest } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { openTableAt } from "../../support/table-at.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const elsewhere = ["ns1.other.example", "ns2.other.example"];
const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

let stopDns: () => Promise<void>;

// The worker reads the due tasks of the whole table. So these tests have a table of their own, and nameservers that
// answer from it.
beforeAll(async () => {
  const name = `domains-${randomUUID()}`;
  process.env["TABLE_NAME"] = name;
  ({ stopDns } = await openTableAt(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", name));
});
afterAll(() => stopDns());
afterEach(() => void vi.useRealTimers());

const get = async (account: Account, name: string) => (await domainsRequest(account, "GET", `/${name}`)).body;

/** The types of the changes of an account's domains, without `domain.`, oldest first. */
async function eventsOf({ id }: Pick<Account, "id">): Promise<unknown[]> {
  const keep = (row: Record<string, unknown>) => row["resource_type"] === "domain";
  const { rows } = await readEntries(
    testTable(),
    changeJournalOf(id),
    { skip: 0, take: 100, keep },
    new Date(Date.now() + 400 * dayMs),
  );
  return rows.map(({ type }) => String(type).replace("domain.", "")).toReversed();
}

const isFirm = async (name: string): Promise<unknown> => (await testTable().getMany([holderKey(name)]))[0]?.["firm"];

const dueAt = async (account: Account, name: string): Promise<Date> => {
  const { due_at } = await storedAs(account, name);
  return new Date(due_at ?? Number.NaN);
};

/** Runs the worker for a domain `times` times, each time at the due time. Returns the last state of the domain. */
async function advanceTimes(times: number, account: Account, name: string) {
  let last = await storedAs(account, name);
  for (let time = 0; time < times; time++) last = (await advance(account, name)) ?? last;
  return last;
}

test("a delegated domain becomes active without a request, but not before it is due", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await delegated(account, name);
  const before = await storedAs(account, name);
  await handler();
  expect(await storedAs(account, name)).toEqual(before);
  vi.useFakeTimers({ toFake: ["Date"], now: await dueAt(account, name) });
  await handler();
  vi.useRealTimers();
  expect(await get(account, name)).toMatchObject({ status: "active", dns_record_count: 7 });
  expect(await dig(name, "MX")).toHaveLength(2);
  expect(await eventsOf(account)).toEqual(["created", "verified"]);
  expect(await isFirm(name)).toBe(true);
});

test("checks for a delegation less and less often, in the end once a day, and makes no events", async () => {
  const account = await newAccount();
  const { name, created_at, updated_at } = await connected(account);
  const waits: number[] = [];
  let last = Date.parse(created_at);
  for (let look = 0; look < 12; look++) {
    const due = (await dueAt(account, name)).getTime();
    waits.push((due - last) / minuteMs);
    last = due;
    await advance(account, name);
  }
  expect(waits).toEqual([1, 1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440, 1_440]);
  expect(await eventsOf(account)).toEqual(["created"]);
  expect(await get(account, name)).toMatchObject({ status: "pending_delegation", updated_at });
});

test("a domain is degraded after two failed checks in a row, and active again after a good check", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await delegate(testTable(), name, elsewhere);
  expect(await advance(account, name)).toMatchObject({ status: "active", failures: 1 });
  expect(await advance(account, name)).toMatchObject({ status: "degraded", failures: 2 });
  expect(await get(account, name)).toMatchObject({
    status: "degraded",
    outbound_routing_ready: true,
    status_reason: expect.stringContaining(`At the registrar of ${name}`),
  });
  expect(await advance(account, name)).toMatchObject({ status: "degraded", failures: 3 });
  await delegated(account, name);
  expect(await advance(account, name)).toMatchObject({ status: "active", failures: 0, status_reason: null });
  expect(await eventsOf(account)).toEqual(["created", "verified", "degraded", "recovered"]);
  expect(await isFirm(name)).toBe(true);
});

test("a domain with one failed check and then a good one stays active, and is checked a day later", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  for (let time = 0; time < 2; time++) {
    await delegate(testTable(), name, elsewhere);
    expect(await advance(account, name)).toMatchObject({ status: "active", failures: 1 });
    await delegated(account, name);
    const at = await dueAt(account, name);
    expect(await advance(account, name)).toMatchObject({ status: "active", failures: 0 });
    const waited = (await dueAt(account, name)).getTime() - at.getTime();
    expect(Math.abs(waited / dayMs - 1)).toBeLessThanOrEqual(0.101);
  }
  expect(await eventsOf(account)).toEqual(["created", "verified"]);
});

test("a check without a result changes nothing of an active or degraded domain, and is repeated in an hour", async () => {
  const account = await newAccount();
  const names = { active: (await quicklyActive(account)).name, degraded: (await quicklyActive(account)).name };
  await setStored(account, names.degraded, {
    status: "degraded",
    status_reason: "It was delegated elsewhere.",
    failures: 5,
  });
  const { endpoint } = await dnsNetwork().addAsLiked({});
  const resolver = openResolver({ roots: [endpoint], tryTimeoutMs: 20, timeoutMs: 40 });
  for (const name of Object.values(names)) {
    const before = await storedAs(account, name);
    const after = await advance(account, name, { resolver });
    const due_at = new Date(Date.parse(before.due_at ?? "") + 60 * minuteMs).toISOString();
    expect(after).toEqual({ ...before, due_at, version: before.version + 1 });
  }
});

test("a missing DMARC record alone does not make a domain degraded", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { id } = await storedAs(account, name);
  const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
  await workAt(new Date()).dns.changeZone(zone_id, [{ remove: { name: `_dmarc.${name}`, type: "TXT" } }]);
  expect(await advanceTimes(3, account, name)).toMatchObject({ status: "active", failures: 0 });
  await workAt(new Date()).dns.changeZone(zone_id, [{ remove: { name, type: "MX" } }]);
  expect(await advanceTimes(2, account, name)).toMatchObject({
    status: "degraded",
    status_reason: "Mail does not go to mx1.hosted-mail.example.",
  });
});

test("a name that was delegated elsewhere for long goes to an account that proves it, without the old zone and keys", async () => {
  const [old, newcomer] = [await newAccount(), await newAccount()];
  const { name } = await quicklyActive(old);
  await delegated(newcomer, name);
  const workspaceId = await newWorkspace(newcomer, "Sales");
  await advanceTimes(2, old, name);
  await setStored(old, name, { failures: 11, unproved: 11 });
  await advanceTimes(1, old, name);
  expect(await isFirm(name)).toBe(true);
  await expect(connected(newcomer, { name, workspaceId })).rejects.toThrow("domain_taken");
  await advanceTimes(1, old, name);
  expect(await isFirm(name)).toBe(false);

  const oldKey = await dig(`hm1._domainkey.${name}`, "TXT");
  const { id, nameservers } = await connected(newcomer, { name, workspaceId });
  expect((await domainsRequest(newcomer, "POST", `/${name}/verify`)).body).toMatchObject({
    verified: true,
    status: "active",
  });
  // The zone of the old account is in the way until the worker deletes it.
  expect((await get(newcomer, name)).dns_records[0]).toMatchObject({ zone_status: "pending" });
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual(oldKey);
  expect(await advance(old, name)).toMatchObject({ status: "releasing", record_count: 7 });
  expect(await dig(name, "MX")).toBe("EREFUSED");
  await syncZone(newcomer.id, id, workAt(new Date()));
  expect(await dig(name, "NS")).toEqual(nameservers.toSorted());
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).not.toEqual(oldKey);
  expect((await get(newcomer, name)).dns_records[0]).toMatchObject({ zone_status: "in_sync" });
  const events = ["created", "verified", "degraded", "taken_over"];
  expect(new Set(await eventsOf(old))).toEqual(new Set(events));
});

test("if a name is delegated to its account again before another account proves it, the account's hold is firm again", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await delegate(testTable(), name, elsewhere);
  await setStored(account, name, { failures: 12, unproved: 12, status: "degraded" });
  await advanceTimes(1, account, name);
  expect(await isFirm(name)).toBe(false);
  await delegated(account, name);
  expect(await advance(account, name)).toMatchObject({ status: "active" });
  expect(await isFirm(name)).toBe(true);
});

test("domains.verify makes the hold on a name firm again at once, although the domain has another fault", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { id } = await storedAs(account, name);
  const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
  await delegate(testTable(), name, elsewhere);
  await setStored(account, name, { failures: 12, unproved: 12, status: "degraded" });
  await advanceTimes(1, account, name);
  expect(await isFirm(name)).toBe(false);
  await delegated(account, name);
  await workAt(new Date()).dns.changeZone(zone_id, [{ remove: { name, type: "MX" } }]);
  expect((await domainsRequest(account, "POST", `/${name}/verify`)).body).toMatchObject({ verified: true });
  expect(await storedAs(account, name)).toMatchObject({ status: "degraded", unproved: 0 });
  expect(await isFirm(name)).toBe(true);
});

test("a check without an answer about the proof does not make a loosened hold firm", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await setStored(account, name, { failures: 20, unproved: 14, status: "degraded", broken_records: ["ns", "mx"] });
  await write({ update: holderKey(name), set: { firm: false } });
  // The DNS gives no answer about the proof, and the MX record is missing.
  const asked: Resolver["resolve"] = async (of, type) =>
    of === name && type === "MX" ? { status: "none" } : { status: "unknown", reason: "the nameservers do not answer" };
  const resolver: Resolver = { resolve: asked, delegation: async () => ({ status: "unknown", reason: "no answer" }) };
  expect(await advance(account, name, { resolver })).toMatchObject({ failures: 21, unproved: 14 });
  expect(await isFirm(name)).toBe(false);
});

test("other faults for a long time do not loosen the hold on a name, and one check without the proof does not either", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await setStored(account, name, { failures: 30, status: "degraded", broken_records: ["mx"] });
  await delegate(testTable(), name, elsewhere);
  expect(await advance(account, name)).toMatchObject({ failures: 31, unproved: 1 });
  expect(await isFirm(name)).toBe(true);
});

test("a check that proves a name again makes the hold on it firm, although the domain has another fault", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { id } = await storedAs(account, name);
  const { zone_id = "" } = (await getZone(testTable(), account.id, id)) ?? {};
  await delegate(testTable(), name, elsewhere);
  await setStored(account, name, { failures: 12, unproved: 12, status: "degraded" });
  await advanceTimes(1, account, name);
  expect(await isFirm(name)).toBe(false);
  await delegated(account, name);
  await workAt(new Date()).dns.changeZone(zone_id, [{ remove: { name, type: "MX" } }]);
  expect(await advance(account, name)).toMatchObject({ status: "degraded", broken_records: ["mx"], unproved: 0 });
  expect(await isFirm(name)).toBe(true);
});

const silent = () => Promise.reject(new Problem("upstream_unavailable", "It is silent.", { retry_after: 1 }));

test("a zone that could not be synced stays due, and is synced by a later run", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  await delegated(account, name);
  const { dns } = workAt(new Date());
  expect(await advance(account, name, { dns: { ...dns, createZone: silent } })).toMatchObject({ status: "active" });
  const pending = await get(account, name);
  expect(pending.dns_records.map((one: { zone_status: string }) => one.zone_status)).toEqual(Array(7).fill("pending"));
  expect(await dig(name, "MX")).toBe("EREFUSED");
  const zoneDue = async () => new Date((await getZone(testTable(), account.id, id))?.due_at ?? Number.NaN);
  const at = await zoneDue();
  await syncZone(account.id, id, workAt(at, { dns: { ...dns, changeZone: silent } }));
  expect(await dig(name, "MX")).toBe("ENODATA");
  expect(await zoneDue()).toEqual(at);
  await sweepDomains(workAt(at));
  expect(await dig(name, "MX")).toHaveLength(2);
  expect((await get(account, name)).dns_records[0]).toMatchObject({ zone_status: "in_sync" });
  expect((await getZone(testTable(), account.id, id))?.due_at).toBeNull();
  expect((await readDue(testTable(), zoneQueue, at)).flat().filter(({ subject }) => subject.includes(id))).toEqual([]);
});

test("records are pending until all nameservers have them", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  await delegated(account, name);
  const { dns } = workAt(new Date());
  let isInSync = false;
  const slow = {
    ...dns,
    changeZone: async (...given: Parameters<typeof dns.changeZone>) => ({
      ...(await dns.changeZone(...given)),
      isInSync,
    }),
    isInSync: async () => isInSync,
  };
  await advance(account, name, { dns: slow });
  for (const expected of ["pending", "pending", "in_sync"]) {
    expect((await get(account, name)).dns_records[0]).toMatchObject({ zone_status: expected });
    const { due_at } = (await getZone(testTable(), account.id, id)) ?? {};
    expect(due_at === null).toBe(expected === "in_sync");
    if (due_at) await syncZone(account.id, id, workAt(new Date(due_at), { dns: slow }));
    isInSync = true;
  }
});

test("after the lease of a dead process has ended, the worker does the work", async () => {
  const account = await newAccount();
  const { id, name } = await quicklyActive(account);
  const key = zoneKey(account.id, id);
  const until = new Date(Date.now() + 2 * minuteMs);
  await write({ update: key, set: { lease_owner: "somebody who died", lease_until: until.toISOString() } });
  const { body } = await domainsRequest(account, "PATCH", `/${name}`, { dmarc_policy: "reject" });
  const dmarcOf = (domain: { dns_records: { name: string }[] }) =>
    domain.dns_records.find((one) => one.name === "_dmarc");
  expect(dmarcOf(body)).toMatchObject({ value: "v=DMARC1; p=reject", zone_status: "pending" });
  const { due_at } = (await getZone(testTable(), account.id, id)) ?? {};
  await syncZone(account.id, id, workAt(new Date(due_at ?? "")));
  expect(await dig(`_dmarc.${name}`, "TXT")).toEqual(["v=DMARC1; p=none"]);
  await syncZone(account.id, id, workAt(until));
  expect(await dig(`_dmarc.${name}`, "TXT")).toEqual(["v=DMARC1; p=reject"]);
  expect(dmarcOf(await get(account, name))).toMatchObject({ zone_status: "in_sync" });
});

/** Makes a domain that is registered at the embedded registrar and not delegated yet. Returns the name. */
async function registered(account: Account): Promise<string> {
  const { name } = await connected(account);
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.register({ name, contact });
  const found = await registrar.registration(name);
  const registration = found && registrationOf(found);
  await setStored(account, name, { source: "purchased", registration });
  return name;
}

test("sets the account's nameservers at the registrar of a purchased domain, and makes the domain active", async () => {
  const account = await newAccount();
  const name = await registered(account);
  expect(await advance(account, name)).toMatchObject({ status: "active" });
  const { nameservers } = await storedAs(account, name);
  const known = await embeddedRegistrar(testTable(), () => new Date()).registration(name);
  expect(known).toMatchObject({ nameservers, autoRenew: false });
});

test("does not change the nameservers at the registrar of a domain with external DNS", async () => {
  const account = await newAccount();
  const name = await registered(account);
  await setStored(account, name, { dns_mode: "external" });
  await workAt(new Date()).registrar.setNameservers(name, elsewhere);
  await advance(account, name);
  expect(await workAt(new Date()).registrar.registration(name)).toMatchObject({ nameservers: elsewhere });
});

test("switches off the automatic renewal of a name at its registrar", async () => {
  const account = await newAccount();
  const name = await registered(account);
  const { registrar } = workAt(new Date());
  const [stopped, found] = [vi.fn<Registrar["stopAutoRenew"]>(), await registrar.registration(name)];
  const renewing = { ...registrar, registration: async () => found && { ...found, autoRenew: true } };
  await advance(account, name, { registrar: { ...renewing, stopAutoRenew: stopped } });
  expect(stopped.mock.calls).toEqual([[name]]);
});

test("a purchased domain is expired while its registrar does not show it, and active once the registrar shows it again", async () => {
  const account = await newAccount();
  const name = await registered(account);
  await advance(account, name);
  const key = await dig(`hm1._domainkey.${name}`, "TXT");
  const { registrar } = workAt(new Date());
  const without = { registrar: { ...registrar, registration: async () => undefined } };
  for (let day = 0; day < 3; day++) {
    expect(await advance(account, name, without)).toMatchObject({
      status: "expired",
      status_reason: "The domain's registration has ended.",
    });
  }
  expect(await eventsOf(account)).toEqual(["created", "verified", "expired"]);
  expect(await isFirm(name)).toBe(false);

  const { id } = await storedAs(account, name);
  expect(await advance(account, name)).toMatchObject({ status: "active", status_reason: null });
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual(key);
  expect(await isFirm(name)).toBe(true);
  expect((await getZone(testTable(), account.id, id))?.due_at).toBeNull();
});

test("if the registrar does not answer, the domain does not change, and stays due", async () => {
  const account = await newAccount();
  const name = await registered(account);
  const before = await storedAs(account, name);
  const { registrar } = workAt(new Date());
  await expect(advance(account, name, { registrar: { ...registrar, registration: silent } })).rejects.toThrow("silent");
  expect(await storedAs(account, name)).toEqual(before);
});

test("a domain that cannot be advanced delays no other domain, and stays due", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [failing, fine] = [await registered(account), (await connected(other)).name];
  await delegated(other, fine);
  const at = new Date(Math.max((await dueAt(account, failing)).getTime(), (await dueAt(other, fine)).getTime()));
  const { registrar } = workAt(at);
  const broken = { ...registrar, registration: () => Promise.reject(new Error("It is broken.")) };
  const swept = await sweepDomains(workAt(at, { registrar: broken }));
  expect(swept.failed).toBeGreaterThanOrEqual(1);
  expect(swept.done).toBe(swept.due - swept.failed);
  expect(await storedAs(other, fine)).toMatchObject({ status: "active" });
  expect(await storedAs(account, failing)).toMatchObject({ status: "pending_delegation" });
  expect(await advance(account, failing)).toMatchObject({ status: "active" });
});

test("removes tasks of domains and zones that do not exist or are due at another time", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const at = (await dueAt(account, name)).toISOString();
  const place = [account.id, (await storedAs(account, name)).id] as const;
  const early = new Date(Date.parse(at) - 1_000).toISOString();
  for (const queue of [domainQueue, zoneQueue]) {
    for (const one of [place, [account.id, account.id] as const]) await write(dueWrite(queue, one, early));
  }
  await sweepDomains(workAt(new Date(early)));
  const left = await Promise.all([domainQueue, zoneQueue].map((queue) => readDue(testTable(), queue, new Date(at))));
  const own = left.flat(2).filter((one) => one.subject[0] === account.id);
  expect(own).toEqual([{ at, subject: [...place] }]);
});

test("one run does no more tasks than its limit", async () => {
  const account = await newAccount();
  const names = [(await connected(account)).name, (await connected(account)).name, (await connected(account)).name];
  const at = await dueAt(account, names[2] ?? "");
  const swept = await sweepDomains(workAt(at), { limit: 2 });
  expect(swept).toMatchObject({ done: 2, failed: 0 });
  expect(swept.due).toBeGreaterThanOrEqual(3);
});

test("three runs for one domain at the same time have the result of one run", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await delegated(account, name);
  const { id, due_at } = await storedAs(account, name);
  const work = workAt(new Date(due_at ?? ""));
  await Promise.all([0, 1, 2].map(() => advanceDomain(account.id, id, due_at ?? "", work)));
  expect(await get(account, name)).toMatchObject({ status: "active", dns_record_count: 7 });
  expect(await eventsOf(account)).toEqual(["created", "verified"]);
});

test("whichever write of a run loses its answer, the next run does the rest", async () => {
  const account = await newAccount();
  const scene = async () => {
    const { name } = await connected(account);
    await delegated(account, name);
    const { id, due_at } = await storedAs(account, name);
    return { id, name, run: () => advanceDomain(account.id, id, due_at ?? "", workAt(new Date(due_at ?? ""))) };
  };
  const { calls } = await withFault(undefined, -1, (await scene()).run);
  const places = calls.flatMap((command, at) => (/^(?:Transact|Put|Update|Delete)/.test(command) ? [at] : []));
  expect(places.length).toBeGreaterThan(3);
  for (const at of places) {
    const { id, name, run } = await scene();
    await withFault("answer lost", at, () => run().catch(() => undefined));
    const zone = await getZone(testTable(), account.id, id);
    const { status, due_at } = await storedAs(account, name);
    // At this time, any lease of the failed run has ended.
    const later = workAt(new Date(Date.parse(due_at ?? "") + 3 * minuteMs));
    if (status !== "active") await advanceDomain(account.id, id, due_at ?? "", later);
    else if (zone?.due_at) await syncZone(account.id, id, later);
    expect(await get(account, name), `dead at call ${at}`).toMatchObject({ status: "active", dns_record_count: 7 });
    expect(await dig(name, "MX"), `dead at call ${at}`).toHaveLength(2);
    expect((await get(account, name)).dns_records[0], `dead at call ${at}`).toMatchObject({ zone_status: "in_sync" });
  }
  expect((await eventsOf(account)).filter((type) => type === "verified")).toHaveLength(places.length + 1);
});
