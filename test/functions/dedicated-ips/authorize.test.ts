import { createHash, randomUUID } from "node:crypto";

import { expect, onTestFinished, test, vi } from "vitest";

import { ipKey } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { resumeIp, suspendIp } from "../../../shared/dedicated-ips/operate.ts";
import { hostAccess } from "../../../shared/dedicated-ips/relay.ts";
import type { Resolver } from "../../../shared/dns/answer.ts";
import { resolverHere } from "../../../shared/dns/services.ts";
import { afterReading } from "../../support/between.ts";
import {
  activeHost,
  activeIp,
  advance,
  firstOf,
  holderOf,
  host,
  named,
  published,
  readyHost,
  send,
  storedIp,
} from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { funded, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { happened } from "../../support/purchases.ts";
import { publicIp, reverseDns } from "../../support/reverse-dns.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const authorize = (account: Account, id: string, body: object = {}, options = {}) =>
  send(account, "POST", `/${id}/authorize`, body, options);

const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");

test("makes a setup key, shows it once, stores only its hash, and shows which records to publish", async () => {
  const account = await newAccount();
  const added = await host(account, [publicIp(), publicIp(6)]);
  await named(added);
  const { status, body, headers } = await authorize(account, added.id);
  expect([status, body.status, headers["cache-control"]]).toEqual([200, "verifying", "no-store"]);
  expect(body.setup_key).toMatch(/^sk_[0-9A-Za-z]{27}$/);
  for (const { ip, rdns, fcrdns_confirmed, healthy, setup_record } of body.ip_addresses) {
    expect([fcrdns_confirmed, healthy], ip).toEqual([true, false]);
    expect(setup_record).toEqual({ name: `_setup.${rdns}`, type: "TXT", value: hashOf(body.setup_key) });
  }
  expect(body.relay_login).toEqual({ user: body.id, password: expect.stringMatching(/^[0-9A-Za-z]{27}$/) });
  expect(JSON.stringify(await storedOf(account))).not.toContain(body.setup_key);
  expect(JSON.stringify(await storedOf(account))).not.toContain(body.relay_login.password);
  const again = await authorize(account, added.id);
  expect([again.body.status, again.body.setup_key]).toEqual(["verifying", undefined]);
  expect(await happened(account)).toEqual(expect.arrayContaining(["dedicated_ip.key_issued"]));
});

test("if two first calls come at the same time, one issues the key, and the other gets the answer of a later call", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  const { PK, SK } = ipKey(account.id, id);
  const first: Awaited<ReturnType<typeof authorize>>[] = [];
  const second = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    async () => first.push(await authorize(account, id)),
    () => authorize(account, id),
  );
  expect(second).toMatchObject({ status: 200, body: { status: "verifying" } });
  expect([second.body.setup_key, second.body.relay_login]).toEqual([undefined, undefined]);
  expect((await storedIp(account, id))?.key_hash).toBe(hashOf(first[0]?.body.setup_key));
});

test("a host is active and holds its addresses once all their names are confirmed and publish the hash", async () => {
  const account = await newAccount();
  const ips = [publicIp(), publicIp(6), publicIp()];
  const { id } = await readyHost(account, ips);
  const { status, body } = await authorize(account, id);
  expect([status, body.status, body.status_reason]).toEqual([200, "active", null]);
  for (const { fcrdns_confirmed, healthy } of body.ip_addresses)
    expect([fcrdns_confirmed, healthy]).toEqual([true, true]);
  for (const ip of ips) expect(await holderOf(ip)).toEqual({ account_id: account.id, dedicated_ip_id: id, firm: true });
  expect(await happened(account)).toContain("dedicated_ip.activated");
  // The next check is in a day, give or take a tenth.
  const waitMs = Date.parse((await storedIp(account, id))?.due_at ?? "") - Date.now();
  expect(Math.abs(waitMs / 86_400_000 - 1)).toBeLessThan(0.11);
});

test("accepts the hash with the prefix `sha256=`, and the hash in upper case", async () => {
  const account = await newAccount();
  for (const spelled of [(hash: string) => `sha256=${hash}`, (hash: string) => hash.toUpperCase()]) {
    const ready = await readyHost(account);
    const { id } = ready;
    const { ip, rdns, setup_record } = firstOf(ready);
    await reverseDns(ip, rdns, { forward: true, txt: spelled(setup_record?.value ?? "") });
    expect((await authorize(account, id)).body.status).toBe("active");
  }
});

test("stays `verifying` and names the next missing part, until nothing is missing", async () => {
  const account = await newAccount();
  const [first, second] = [publicIp(), publicIp()];
  const { id } = await host(account, [first, second]);
  const rdns = `mail.${uniqueName("host")}`;
  const messages: string[] = [];
  const look = async () => {
    const { body } = await authorize(account, id);
    messages.push(body.status_reason);
    return body;
  };
  const { setup_key } = await look();
  const txt = hashOf(setup_key);
  await reverseDns(first, rdns, { forward: false });
  await look();
  await reverseDns(first, rdns, { forward: true });
  await look();
  await reverseDns(first, rdns, { forward: true, txt: setup_key });
  await look();
  await reverseDns(first, rdns, { forward: true, txt });
  expect((await look()).ip_addresses.map(({ healthy }: { healthy: boolean }) => healthy)).toEqual([true, false]);
  await reverseDns(second, rdns, { forward: true });
  expect((await look()).status).toBe("active");
  expect(messages).toEqual([
    `${first} has no name. Ask its provider to set its PTR record to the host's name. Then publish the setup record of each address, and authorize the host again.`,
    `The PTR record names ${rdns}, but this name has no A record with ${first}. Add this record.`,
    `There is no TXT record at _setup.${rdns}. Publish the setup record there.`,
    `The TXT record at _setup.${rdns} has another value. Publish the setup record there.`,
    `${second} has no name. Ask its provider to set its PTR record to the host's name.`,
    null,
  ]);
});

test("a new key ends the old key: an active host must prove its addresses again", async () => {
  const account = await newAccount();
  const { id, ip_addresses } = await activeHost(account);
  const ip = ip_addresses[0]?.ip ?? "";
  const { body } = await authorize(account, id, { reissue: true });
  expect(body).toMatchObject({
    status_reason: "Publish the setup record of each address, and authorize the host again.",
    ip_addresses: [{ healthy: false, message: "Publish the setup record of the new key." }],
  });
  expect([body.status, typeof body.setup_key]).toEqual(["verifying", "string"]);
  expect(await holderOf(ip)).toMatchObject({ account_id: account.id, firm: false });
  expect((await authorize(account, id)).body.status).toBe("verifying");
  await published(body);
  expect((await authorize(account, id)).body.status).toBe("active");
  expect(await holderOf(ip)).toMatchObject({ account_id: account.id, firm: true });
});

test("if the reverse DNS of an address changes, the old setup record proves nothing at the new name, and the host needs a new key", async () => {
  const account = await newAccount();
  const active = await activeHost(account);
  const { ip, rdns, setup_record } = firstOf(active);
  const other = `mail.${uniqueName("recycled")}`;
  await reverseDns(ip, other, { forward: true, txt: setup_record?.value ?? null });
  const message = `The reverse DNS of ${ip} is ${other}, but the host proved the address as ${rdns}. Restore this name, or authorize the host with \`reissue\`.`;
  const { body } = await authorize(account, active.id);
  expect(firstOf(body)).toMatchObject({ rdns: other, healthy: false, message });
  const nameOfRelay = async () => {
    const ipNow = await storedIp(account, active.id);
    return ipNow && (await hostAccess(ipNow, undefined)).relay_name;
  };
  expect(await nameOfRelay()).toBe(rdns);
  await advance(account, active.id);
  expect(await advance(account, active.id)).toMatchObject({ status: "degraded" });
  expect((await authorize(account, active.id)).body.status).toBe("degraded");
  const reissued = await authorize(account, active.id, { reissue: true });
  await published(reissued.body);
  expect((await authorize(account, active.id)).body.status).toBe("active");
  expect(await nameOfRelay()).toBe(other);
});

test("a host that was stored without a proved name gets the name that its next check finds", async () => {
  const account = await newAccount();
  const { id, ip_addresses } = await activeHost(account);
  const [rdns, ip] = [ip_addresses[0]?.rdns ?? "", ip_addresses[0]?.ip ?? ""];
  const before = await storedIp(account, id);
  const addresses = before?.addresses.map(({ proved_name: _, ...address }) => address);
  await write({ update: ipKey(account.id, id), set: { addresses } });
  expect((await advance(account, id))?.addresses).toMatchObject([{ proved_name: rdns }]);
  const hash = before?.key_hash ?? "";
  await reverseDns(ip, `mail.${uniqueName("recycled")}`, { forward: true, txt: hash });
  expect((await advance(account, id))?.failures).toBe(1);
  await reverseDns(ip, rdns, { forward: true, txt: hash });
  expect(await advance(account, id)).toMatchObject({ status: "active", failures: 0 });
});

test("two keys made at the same time differ, and the stored hash belongs to one of them", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  const answers = await Promise.all([
    authorize(account, id, { reissue: true }),
    authorize(account, id, { reissue: true }),
  ]);
  const keys = answers.map(({ body }) => body.setup_key as string);
  expect(new Set(keys).size).toBe(2);
  const hash = (await storedIp(account, id))?.key_hash;
  expect(keys.map(hashOf)).toContain(hash);
});

test("if two accounts prove an address, the first account keeps it, and the other account gets a reason", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const ip = publicIp();
  const { id } = await activeHost(account, [ip]);
  const late = await readyHost(other, [ip]);
  const hashes = [(await storedIp(account, id))?.key_hash, (await storedIp(other, late.id))?.key_hash];
  const resolver = provingDns([ip], ...hashes.map(String));
  const after = await advance(other, late.id, { resolver });
  expect(after).toMatchObject({
    status: "verifying",
    status_reason: expect.stringContaining("belongs to another account or to us"),
  });
  expect(await holderOf(ip)).toEqual({ account_id: account.id, dedicated_ip_id: id, firm: true });
  expect((await storedIp(account, id))?.status).toBe("active");
});

test("an active host that no longer proves an address loses it at once to an account that proves it", async () => {
  const [account, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const [shared, own] = [publicIp(), publicIp()];
  const { id } = await activeHost(account, [shared, own]);
  const late = await readyHost(other, [shared]);
  const { status, body } = await authorize(other, late.id);
  expect([status, body.status]).toEqual([200, "active"]);
  expect(await holderOf(shared)).toEqual({ account_id: other.id, dedicated_ip_id: late.id, firm: true });
  expect(await holderOf(own)).toBeUndefined();
  expect(await storedIp(account, id)).toMatchObject({ status: "pending_authorization", due_at: null });
  expect(await happened(account)).toContain("dedicated_ip.taken_over");
  const later = await readyHost(third, [shared]);
  expect((await advance(third, later.id))?.status).toBe("active");
  expect((await storedIp(other, late.id))?.status).toBe("pending_authorization");
});

test("a host that proves only some addresses, or whose DNS is silent, takes no address from another host", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [shared, own] = [publicIp(), publicIp()];
  const { id } = await activeHost(account, [shared]);
  const late = await readyHost(other, [shared, own]);
  await reverseDns(own, null);
  expect((await authorize(other, late.id)).body.status).toBe("verifying");
  const dead: Resolver = { ...resolverHere(), resolve: async () => ({ status: "unknown", reason: "nobody answers" }) };
  expect((await advance(other, late.id, { resolver: dead }))?.status).toBe("verifying");
  expect(await holderOf(shared)).toEqual({ account_id: account.id, dedicated_ip_id: id, firm: true });
  expect((await storedIp(account, id))?.status).toBe("active");
});

test("a suspended host keeps its address: another account that proves the address gets 409 `ip_taken`", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const ip = publicIp();
  const { id } = await activeHost(account, [ip]);
  await suspendIp(testTable(), { accountId: account.id, id }, "Spam was sent from it.", new Date());
  const late = await readyHost(other, [ip]);
  const refused = await authorize(other, late.id);
  expect([refused.status, refused.body.code, refused.body.ip]).toEqual([409, "ip_taken", ip]);
  expect(await holderOf(ip)).toEqual({ account_id: account.id, dedicated_ip_id: id, firm: true });
  expect((await storedIp(other, late.id))?.status).toBe("verifying");
});

test("a degraded host loses its address to an account that proves it, and must be authorized anew", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [shared, own] = [publicIp(), publicIp()];
  const { id } = await activeHost(account, [shared, own]);
  await reverseDns(shared, null);
  await advance(account, id);
  expect((await advance(account, id))?.status).toBe("degraded");
  expect(await holderOf(shared)).toMatchObject({ firm: false });
  const rival = await activeHost(other, [shared]);
  expect(await holderOf(shared)).toEqual({ account_id: other.id, dedicated_ip_id: rival.id, firm: true });
  expect(await holderOf(own)).toBeUndefined();
  const loser = await storedIp(account, id);
  expect(loser).toMatchObject({ status: "pending_authorization", due_at: null });
  expect(loser?.status_reason).toContain(shared);
  expect(loser?.key_hash).toBeUndefined();
  expect(await happened(account)).toContain("dedicated_ip.taken_over");
  expect(await happened(other)).not.toContain("dedicated_ip.taken_over");
});

/** A DNS in which each of `ips` has a confirmed name, and every name publishes all `hashes`. */
const provingDns = (ips: readonly string[], ...hashes: string[]): Resolver => ({
  ...resolverHere(),
  resolve: async (name, type) => {
    const about = { name, ttl: 60 };
    if (type === "PTR") return { status: "found", records: [{ ...about, type, host: "mail.example.com" }] };
    if (type === "TXT") return { status: "found", records: hashes.map((text) => ({ ...about, type, text })) };
    return { status: "found", records: ips.map((address) => ({ ...about, type: "A", address })) };
  },
});

test("if many accounts prove one address at the same time, one account gets it", async () => {
  const ip = publicIp();
  const accounts = await Promise.all(Array.from({ length: 6 }, () => newAccount()));
  const hosts = await Promise.all(
    accounts.map(async (account) => {
      const { id } = await host(account, [ip, publicIp()]);
      await authorize(account, id);
      return { account, id };
    }),
  );
  const before = await Promise.all(hosts.map(({ account, id }) => storedIp(account, id)));
  const hashes = before.map((stored) => stored?.key_hash ?? "");
  await Promise.all(
    hosts.map(({ account, id }, index) => {
      const ips = (before[index]?.addresses ?? []).map((one) => one.ip);
      return advance(account, id, { resolver: provingDns(ips, ...hashes) });
    }),
  );
  const after = await Promise.all(hosts.map(({ account, id }) => storedIp(account, id)));
  const active = after.filter((one) => one?.status === "active");
  expect(active).toHaveLength(1);
  expect(await holderOf(ip)).toMatchObject({ account_id: active[0]?.account_id, dedicated_ip_id: active[0]?.id });
  for (const one of after.filter((other) => other?.status !== "active")) {
    expect(one?.status).toBe("verifying");
    expect(await holderOf(one?.addresses[1]?.ip ?? "")).toBeUndefined();
  }
});

test("a managed dedicated IP and a suspended host cannot be authorized", async () => {
  const account = await funded(await newAccount());
  const managed = await activeIp(account);
  expect((await authorize(account, managed.id)).body).toMatchObject({ code: "ip_not_ready", ip_status: "active" });
  const { id } = await activeHost(account);
  const which = { accountId: account.id, id };
  await suspendIp(testTable(), which, "Spam was sent from it.", new Date());
  expect((await send(account, "GET", `/${id}`)).body).toMatchObject({
    status: "suspended",
    status_reason: "Spam was sent from it.",
  });
  expect((await authorize(account, id, { reissue: true })).body).toMatchObject({ code: "ip_not_ready" });
  await resumeIp(testTable(), which, new Date());
  expect((await authorize(account, id)).body.status).toBe("active");
  expect(await happened(account)).toEqual(expect.arrayContaining(["dedicated_ip.suspended", "dedicated_ip.resumed"]));
});

test("a repeated request with the same key makes no second setup key, and does not show the first again", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  const headers = { "idempotency-key": randomUUID() };
  expect((await authorize(account, id, {}, { headers })).status).toBe(200);
  const hash = (await storedIp(account, id))?.key_hash;
  expect((await authorize(account, id, {}, { headers })).body.code).toBe("secret_already_shown");
  expect((await storedIp(account, id))?.key_hash).toBe(hash);
});

test("an answer without a setup key is replayed, and the host is not checked again", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  expect((await authorize(account, id)).body.setup_key).toEqual(expect.any(String));
  const headers = { "idempotency-key": randomUUID() };
  const first = await authorize(account, id, {}, { headers });
  const before = await happened(account);
  const again = await authorize(account, id, {}, { headers });
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
  expect(first.body).not.toHaveProperty("setup_key");
  expect(again.headers["idempotency-replayed"]).toBe("true");
  expect(await happened(account)).toEqual(before);
});

test("a check ends after five seconds if the DNS is silent, and keeps the names that it found before", async () => {
  const account = await newAccount();
  const { id } = await readyHost(account, [publicIp(), publicIp()]);
  const before = await storedIp(account, id);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = Promise.withResolvers<void>();
  const resolve = () => {
    asked.resolve();
    return new Promise<never>(() => undefined);
  };
  const advanced = advance(account, id, { resolver: { ...resolverHere(), resolve } });
  await asked.promise;
  vi.advanceTimersByTime(5_000);
  const after = await advanced;
  expect(after).toMatchObject({ status: "verifying", failures: 1 });
  expect(after?.addresses.map(({ rdns }) => rdns)).toEqual(before?.addresses.map(({ rdns }) => rdns));
});
