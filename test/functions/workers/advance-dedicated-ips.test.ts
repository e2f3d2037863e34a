import { randomUUID } from "node:crypto";

import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

import { handler } from "../../../functions/workers/advance-dedicated-ips.ts";
import { accountKey } from "../../../shared/accounts/account.ts";
import { getAccount } from "../../../shared/accounts/visible.ts";
import { closeAccount } from "../../../shared/billing/close.ts";
import { advanceIp } from "../../../shared/dedicated-ips/advance.ts";
import { ipQueue, operationQueue } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { holderKey } from "../../../shared/dedicated-ips/holder.ts";
import { suspendIp } from "../../../shared/dedicated-ips/operate.ts";
import { beginWrites, operationKey } from "../../../shared/dedicated-ips/operation.ts";
import { openResolver } from "../../../shared/dns/resolver.ts";
import { dueWrite, readDue } from "../../../shared/table/due.ts";
import { afterReading } from "../../support/between.ts";
import {
  activeHost,
  activeIp,
  advance,
  assignmentFaults,
  claimed,
  firstOf,
  holderOf,
  newOption,
  published,
  readyHost,
  send,
  storedIp,
  workAt,
} from "../../support/dedicated-ips.ts";
import { dnsNetwork } from "../../support/dns-network.ts";
import { storedAs, write } from "../../support/domain-work.ts";
import { active, connected, funded } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { happened, transactions, wallet } from "../../support/purchases.ts";
import { publicIp, reverseDns } from "../../support/reverse-dns.ts";
import { openTableAt } from "../../support/table-at.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

let stopDns: () => Promise<void>;

// The worker reads the due tasks of the whole table. So these tests have a table of their own, and nameservers that
// answer from it.
beforeAll(async () => {
  const name = `dedicated-ips-${randomUUID()}`;
  process.env["TABLE_NAME"] = name;
  ({ stopDns } = await openTableAt(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", name));
});
afterAll(() => stopDns());
afterEach(() => void vi.useRealTimers());

const eventsOf = async (account: Account): Promise<string[]> =>
  (await happened(account))
    .filter((type) => type.startsWith("dedicated_ip."))
    .map((type) => type.replace("dedicated_ip.", ""));

const dueAt = async (account: Account, id: string): Promise<number> =>
  Date.parse((await storedIp(account, id))?.due_at ?? "");

const dueOf = async (id: string): Promise<string[]> => {
  const shards = await readDue(testTable(), ipQueue, new Date(Date.now() + 100 * dayMs));
  return shards.flat().flatMap(({ at, subject }) => (subject.includes(id) ? [at] : []));
};

test("a managed IP becomes active, and is paid, without a request", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const { id } = await claimed(account, option_id);
  await handler();
  const { body } = await send(account, "GET", `/${id}`);
  expect(body).toMatchObject({ status: "active", status_reason: null });
  expect(body.ip_addresses[0]).toMatchObject({ ip: ips[0], fcrdns_confirmed: true, healthy: true, setup_record: null });
  expect(await wallet(account)).toEqual({ posted: 97_500, available: 97_500 });
  expect(await transactions(account)).toContain(`purchase settled 25.00 Dedicated IP ${ips[0]}, the first 30 days`);
  expect(await eventsOf(account)).toEqual(["created", "activated"]);
  const { paid_until = "" } = (await storedIp(account, id)) ?? {};
  expect(Math.abs(Date.parse(paid_until) - Date.now() - 30 * dayMs)).toBeLessThan(minuteMs);
  expect(await dueOf(id)).toHaveLength(1);
});

test("an IP without the right reverse DNS after a day is deleted, its hold is released, and its address is faulty", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const [ip = ""] = ips;
  await reverseDns(ip, "somebody.else.example", { forward: true });
  const { id, created_at } = await claimed(account, option_id);
  const waits: number[] = [];
  for (let time = 0; time < 9; time++) {
    const before = await dueAt(account, id);
    const after = await advance(account, id);
    expect(after).toMatchObject({ status: "provisioning" });
    waits.push(((await dueAt(account, id)) - before) / minuteMs);
  }
  expect(waits).toEqual([1, 2, 5, 10, 30, 60, 180, 360, 720]);
  expect((await storedIp(account, id))?.status_reason).toContain("is somebody.else.example. It must be");
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 97_500 });
  await advance(account, id);
  expect(await dueAt(account, id)).toBe(Date.parse(created_at) + dayMs);
  expect(await advance(account, id)).toBeUndefined();
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
  expect(await holderOf(ip)).toMatchObject({ state: "faulty" });
  expect(await dueOf(id)).toEqual([]);
  expect(new Set(await eventsOf(account))).toEqual(new Set(["created", "updated", "failed"]));
});

test("a managed IP that is not ready when its account is closed is not paid, and its address is free", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const { id } = await claimed(account, option_id);
  await write({ set: { status: "closed" }, update: accountKey(account.id) });
  expect(await advance(account, id)).toBeUndefined();
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ state: "free" });
  expect(await dueOf(id)).toEqual([]);
});

test("a managed IP of a closed account is removed at its next check, even if the check fails and runs again; its address rests", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const { id } = await activeIp(account, option_id);
  const domains = [(await active(account)).name, (await active(account)).name];
  expect((await send(account, "POST", `/${id}/domains/assign`, { domains })).status).toBe(200);
  const paid = await wallet(account);
  await write({ set: { status: "closed" }, update: accountKey(account.id) });
  // The worker is started again and again, and dies at a later call each time.
  for (let at = 0; (await storedIp(account, id)) !== undefined && at < 40; at++)
    await withFault("lost before", at, () => advance(account, id).catch(() => undefined));
  expect(await storedIp(account, id)).toBeUndefined();
  for (const name of domains) expect(await storedAs(account, name)).toMatchObject({ dedicated_ip_id: null });
  expect(await assignmentFaults(account)).toEqual([]);
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ state: "resting" });
  expect(await holderOf(ips[0] ?? "")).not.toHaveProperty("account_id");
  expect(await wallet(account)).toEqual(paid);
  expect(await eventsOf(account)).toContain("deleted");
  expect(await dueOf(id)).toEqual([]);
});

test("the closing of an account makes its managed IPs due, so that the next run takes back even a suspended one", async () => {
  const account = await funded(await newAccount());
  const ids = [(await activeIp(account)).id, (await activeIp(account)).id, (await claimed(account)).id];
  await suspendIp(testTable(), { accountId: account.id, id: ids[1] ?? "" }, "Spam", new Date());
  const host = await activeHost(account);
  await closeAccount(testTable(), account.id, new Date());
  await handler();
  expect(await Promise.all(ids.map((id) => storedIp(account, id)))).toEqual([undefined, undefined, undefined]);
  expect(await storedIp(account, host.id)).toMatchObject({ status: "active" });
});

test("a closing that dies is completed by another closing: all managed IPs are taken back", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  await suspendIp(testTable(), { accountId: account.id, id }, "Spam", new Date());
  const close = () => closeAccount(testTable(), account.id, new Date());
  // The closing dies at a later call each time, at last directly after the account is closed.
  for (let at = 0; (await getAccount(testTable(), account.id)).status !== "closed"; at++)
    await withFault("death", at, () => close().catch(() => undefined));
  expect(await storedIp(account, id)).toMatchObject({ status: "suspended", due_at: null });
  await close();
  await handler();
  expect(await storedIp(account, id)).toBeUndefined();
});

test("an assignment that began before the account was closed does not keep its managed IP for ever", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const [assigned, other] = [await active(account), await connected(account)];
  expect((await send(account, "POST", `/${id}/domains/assign`, { domains: [assigned.name] })).status).toBe(200);
  await write({ set: { status: "closed" }, update: accountKey(account.id) });
  const begin = async () => {
    const ids = { id: randomUUID(), account_id: account.id, dedicated_ip_id: id };
    const { writes } = beginWrites({ ...ids, kind: "assign", left: [other.id], domain_count: 1 }, new Date());
    await testTable().commit(async () => ({ value: undefined, writes }));
  };
  await afterReading(
    ({ SK }) => SK === operationKey(account.id, id).SK,
    begin,
    () => advance(account, id),
  );
  expect(await storedAs(account, assigned.name)).toMatchObject({ dedicated_ip_id: id });
  expect(await advance(account, id)).toBeUndefined();
  expect(await assignmentFaults(account)).toEqual([]);
});

test("a managed IP is activated and paid once, whichever transaction fails and however many workers run", async () => {
  const account = await funded(await newAccount(), 1_000_000);
  const { option_id } = await newOption(40);
  const probe = await claimed(account, option_id);
  const { calls } = await withFault(undefined, -1, () => advance(account, probe.id));
  const places = calls.flatMap((command, at) => (command === "TransactWriteItems" ? [at] : []));
  expect(places.length).toBeGreaterThan(0);
  let claims = 1;
  for (const at of places) {
    for (const fault of ["answer lost", "lost before", "in conflict"] as const) {
      const { id } = await claimed(account, option_id);
      claims += 1;
      await withFault(fault, at, () => advance(account, id).catch(() => undefined));
      if ((await storedIp(account, id))?.status === "provisioning") await advance(account, id);
      expect(await storedIp(account, id), fault).toMatchObject({ status: "active" });
    }
  }
  const { id } = await claimed(account, option_id);
  await Promise.all(Array.from({ length: 5 }, () => advance(account, id)));
  expect(await wallet(account)).toMatchObject({ posted: 1_000_000 - (claims + 1) * 2_500 });
  expect((await eventsOf(account)).filter((verb) => verb === "activated")).toHaveLength(claims + 1);
});

test("a host is checked less and less often, and needs a new authorization after 30 days", async () => {
  const account = await newAccount();
  const own = await readyHost(account);
  const { id } = own;
  const { ip, rdns } = firstOf(own);
  await reverseDns(ip, rdns, { forward: true, txt: null });
  const waits: number[] = [];
  for (let time = 0; time < 12; time++) {
    const before = await dueAt(account, id);
    await advance(account, id);
    waits.push(((await dueAt(account, id)) - before) / minuteMs);
  }
  expect(waits).toEqual([1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440, 1_440, 1_440]);
  for (let time = 0; time < 30 && (await storedIp(account, id))?.status === "verifying"; time++)
    await advance(account, id);
  const after = await storedIp(account, id);
  expect(after).toMatchObject({ status: "pending_authorization", due_at: null });
  expect(after?.status_reason).toContain("30 days");
  expect(after?.key_hash).toBeUndefined();
  expect(await dueOf(id)).toEqual([]);
  expect((await eventsOf(account)).at(-1)).toBe("failed");
  expect((await send(account, "POST", `/${id}/authorize`, {})).body.setup_key).toMatch(/^sk_/);
});

test("a host that publishes its record becomes active without a request", async () => {
  const account = await newAccount();
  const { id } = await readyHost(account);
  expect(await advance(account, id)).toMatchObject({ status: "active", failures: 0 });
  expect(await eventsOf(account)).toEqual(["created", "key_issued", "activated"]);
});

test("an IP is degraded after two failed checks in a row, and active again after a good check", async () => {
  const account = await funded(await newAccount());
  const [managed, own] = [await activeIp(account), await activeHost(account)];
  for (const one of [managed, own]) {
    const { id } = one;
    const { ip, rdns, setup_record } = firstOf(one);
    await reverseDns(ip, "elsewhere.example");
    expect(await advance(account, id)).toMatchObject({ status: "active", failures: 1 });
    expect(await advance(account, id)).toMatchObject({ status: "degraded", failures: 2 });
    expect((await send(account, "GET", `/${id}`)).body).toMatchObject({
      status: "degraded",
      status_reason: expect.stringMatching(/elsewhere\.example.* Meanwhile, mail leaves from the shared addresses\.$/),
      ip_addresses: [{ healthy: false }],
    });
    expect(await advance(account, id)).toMatchObject({ status: "degraded", failures: 3 });
    await reverseDns(ip, rdns, { forward: true, txt: setup_record?.value ?? null });
    expect(await advance(account, id)).toMatchObject({ status: "active", failures: 0, status_reason: null });
  }
  expect(await holderOf(firstOf(own).ip)).toMatchObject({ firm: true });
  const events = await eventsOf(account);
  expect([
    events.filter((one) => one === "degraded").length,
    events.filter((one) => one === "recovered").length,
  ]).toEqual([2, 2]);
});

test("an IP with one failed check and then a good one stays active, and is checked a day later", async () => {
  const account = await newAccount();
  const own = await activeHost(account);
  const { id } = own;
  const { ip, rdns, setup_record } = firstOf(own);
  await reverseDns(ip, null);
  expect(await advance(account, id)).toMatchObject({ status: "active", failures: 1 });
  await reverseDns(ip, rdns, { forward: true, txt: setup_record?.value ?? null });
  const before = await dueAt(account, id);
  expect(await advance(account, id)).toMatchObject({ status: "active", failures: 0 });
  expect(Math.abs(((await dueAt(account, id)) - before) / dayMs - 1)).toBeLessThanOrEqual(0.101);
});

test("a check without a result changes nothing of an active IP, and is repeated in an hour", async () => {
  const account = await newAccount();
  const { endpoint } = await dnsNetwork().addAsLiked({});
  const resolver = openResolver({ roots: [endpoint], tryTimeoutMs: 20, timeoutMs: 40 });
  const { id } = await activeHost(account);
  const before = await storedIp(account, id);
  const due_at = new Date((await dueAt(account, id)) + 60 * minuteMs).toISOString();
  expect(await advance(account, id, { resolver })).toEqual({ ...before, due_at, version: (before?.version ?? 0) + 1 });
});

test("a degraded host stays degraded if its address was put into stock meanwhile", async () => {
  const account = await newAccount();
  const own = await activeHost(account);
  const { id } = own;
  const { ip, rdns, setup_record } = firstOf(own);
  await reverseDns(ip, null);
  await advance(account, id);
  await advance(account, id);
  const stock = { ip, option_id: "any", country_code: "DE", asn: 1, rdns: "mail.any.example", relay: "10.0.0.1:25" };
  await write({ put: { ...holderKey(ip), ...stock, state: "free" } });
  await reverseDns(ip, rdns, { forward: true, txt: setup_record?.value ?? null });
  expect(await advance(account, id)).toMatchObject({ status: "degraded", status_reason: expect.stringContaining(ip) });
  expect(await holderOf(ip)).toMatchObject({ option_id: "any" });
});

test("removes tasks of deleted IPs, of IPs that are due at another time, and of completed assignments", async () => {
  const account = await newAccount();
  const { id } = await activeHost(account);
  const due_at = (await storedIp(account, id))?.due_at ?? "";
  const gone = randomUUID();
  const past = new Date(Date.now() - 1_000).toISOString();
  for (const place of [id, gone]) await write(dueWrite(ipQueue, [account.id, place], past));
  await write(dueWrite(operationQueue, [account.id, id], past));
  await handler();
  expect(await dueOf(id)).toEqual([due_at]);
  expect(await dueOf(gone)).toEqual([]);
  expect((await readDue(testTable(), operationQueue, new Date())).flat()).toEqual([]);
});

test("the record of an old key does not activate a host whose key was reissued", async () => {
  const account = await newAccount();
  const { id } = await readyHost(account, [publicIp()]);
  const before = await storedIp(account, id);
  const { body } = await send(account, "POST", `/${id}/authorize`, { reissue: true });
  await advanceIp(account.id, id, before?.due_at ?? "", workAt(new Date(before?.due_at ?? "")));
  expect(await storedIp(account, id)).toMatchObject({ status: "verifying" });
  await published(body);
  expect(await advance(account, id)).toMatchObject({ status: "active" });
});
