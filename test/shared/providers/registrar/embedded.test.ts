import { randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { delegate, delegationOf, registeredNameKey } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { RegistrarEnvironment, registrarOf } from "../../../../shared/providers/registrar/factory.ts";
import { Refused, type Renewing } from "../../../../shared/providers/registrar/registrar.ts";
import { contact } from "../../../support/contact.ts";
import { testTable } from "../../../support/world.ts";

const table = testTable();
const start = new Date("2026-03-01T12:00:00.250Z");
const nameservers = ["a.ns1.example.net", "a.ns2.example.net"];

const newName = (beginning = "n", tld = "com"): string => `${beginning}${randomBytes(8).toString("hex")}.${tld}`;
const after = (ms: number): Date => new Date(start.getTime() + ms);
const at = (now: Date) => embeddedRegistrar(table, () => now);
const register = (name: string, { now = start } = {}) => at(now).register({ name, contact });

test("every top-level domain that is sold has a price and a renewal price", async () => {
  const tlds = await at(start).tlds();
  expect(tlds).toEqual(expect.arrayContaining(["com", "net", "org", "io", "dev", "co.uk", "online"]));
  for (const tld of tlds) {
    const { status, price, renewalPrice } = await at(start).offer(newName("n", tld));
    expect([status, Number.isInteger(price), Number.isInteger(renewalPrice)]).toEqual(["available", true, true]);
  }
});

test.each([
  ["taken-", "unavailable"],
  ["reserved-", "reserved"],
  ["silent-", "unknown"],
  ["refused-", "available"],
  ["fails-", "available"],
  ["slow-", "available"],
  ["lost-", "available"],
])("a name that begins with %s is %s", async (beginning, status) => {
  expect(await at(start).offer(newName(beginning))).toMatchObject({ status });
});

test.each(["premium-abc.com", "abc.com", "a.com", "x1.com"])(
  "%s is a premium name with its own price",
  async (name) => {
    expect(await at(start).offer(name)).toEqual({ name, status: "premium", price: 140_000, renewalPrice: 140_000 });
  },
);

test.each([
  ["localhost", "invalid"],
  ["", "invalid"],
  ["-leading.com", "invalid"],
  ["trailing-.com", "invalid"],
  ["under_score.com", "invalid"],
  ["Upper.com", "invalid"],
  [`${"x".repeat(64)}.com`, "invalid"],
  ["ab--cdef.com", "invalid"],
  ["a#b/c.com", "invalid"],
  ["xn--bcher-kva.com", "available"],
  ["example.test", "unsupported_tld"],
  ["www.example.com", "unsupported_tld"],
  ["example.constructor", "unsupported_tld"],
])("the offer for %j is %s", async (name, status) => {
  expect(await at(start).offer(name)).toMatchObject({ name, status });
});

test("a name is registered at once, for a year", async () => {
  const name = newName();
  const operation = await register(name);
  expect(operation).toEqual({ id: expect.any(String), state: "succeeded" });
  expect(await at(start).operation(operation.id)).toEqual(operation);
  expect(await at(start).findOperation(name, start, "register")).toEqual(operation);
  expect(await at(start).registration(name)).toEqual({
    expiresAt: "2027-03-01T12:00:00.250Z",
    phase: "registered",
    graceEndsAt: "2027-03-31T12:00:00.250Z",
    redemptionEndsAt: "2027-04-30T12:00:00.250Z",
    transferableAt: "2026-04-30T12:00:00.250Z",
    statuses: ["clientTransferProhibited"],
    autoRenew: false,
    privacy: true,
    nameservers: [],
  });
  expect(await at(start).offer(name)).toEqual({ name, status: "unavailable" });
});

test("if a name is registered many times at once, one registration succeeds, and the others are refused", async () => {
  const name = newName();
  const all = await Promise.allSettled(Array.from({ length: 6 }, () => register(name)));
  const refused = all.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  expect(refused).toHaveLength(5);
  for (const error of refused) expect(error).toBeInstanceOf(Refused);
});

test.each(["taken-", "reserved-", "refused-", "premium-"])(
  "a name that begins with %s is refused, and no operation begins",
  async (beginning) => {
    const name = newName(beginning);
    await expect(register(name)).rejects.toThrow(Refused);
    expect(await at(start).findOperation(name, start, "register")).toBeUndefined();
    expect(await at(start).registration(name)).toBeUndefined();
  },
);

test.each(["localhost", "example.test", "a#b/c.com"])("%s cannot be registered", async (name) => {
  await expect(register(name)).rejects.toThrow(Refused);
});

test("a silent registry registers nothing", async () => {
  const name = newName("silent-");
  await expect(register(name)).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(await at(start).findOperation(name, start, "register")).toBeUndefined();
});

test("a slow name is registered after 30 seconds, and a second request before that returns the same operation", async () => {
  const name = newName("slow-");
  const running = await register(name);
  expect(running).toEqual({ id: expect.any(String), state: "running" });
  expect(await register(name, { now: after(29_999) })).toEqual(running);
  expect(await at(after(29_999)).operation(running.id)).toEqual(running);
  expect(await at(after(29_999)).registration(name)).toBeUndefined();
  expect(await at(after(29_999)).offer(name)).toMatchObject({ status: "unavailable" });
  const done = { ...running, state: "succeeded" };
  expect(await at(after(30_000)).operation(running.id)).toEqual(done);
  expect(await at(after(30_000)).findOperation(name, start, "register")).toEqual(done);
  expect(await at(after(30_000)).registration(name)).toMatchObject({ expiresAt: "2027-03-01T12:00:30.250Z" });
  await expect(register(name, { now: after(30_000) })).rejects.toThrow(Refused);
});

test("a failing name is not registered after 30 seconds, and can be tried again", async () => {
  const name = newName("fails-");
  const running = await register(name);
  expect(running.state).toBe("running");
  const failed = { id: running.id, state: "failed", reason: "The registry did not register the name." };
  expect(await at(after(30_000)).operation(running.id)).toEqual(failed);
  expect(await at(after(30_000)).registration(name)).toBeUndefined();
  const again = await register(name, { now: after(60_000) });
  expect(again.state).toBe("running");
  expect(again.id).not.toBe(running.id);
  expect(await at(after(60_000)).findOperation(name, start, "register")).toEqual(again);
});

test("a lost answer is a 503, but the name is registered, and a look-up and a second request return its operation", async () => {
  const name = newName("lost-");
  await expect(register(name)).rejects.toMatchObject({ code: "upstream_unavailable" });
  const operation = await at(start).findOperation(name, start, "register");
  expect(operation).toMatchObject({ state: "succeeded" });
  expect(await register(name)).toEqual(operation);
  expect(await at(start).registration(name)).toMatchObject({ phase: "registered" });
});

test("`findOperation` finds no operation that began before the given time, and none of another name", async () => {
  const name = newName();
  await register(name);
  expect(await at(start).findOperation(name, after(1), "register")).toBeUndefined();
  expect(await at(start).findOperation(newName(), start, "register")).toBeUndefined();
});

test.each(["", "/", "a.com", "a.com/", "a.com/2026#x", "a.com/#", "../a/b"])(
  "%j is not the id of an operation",
  async (id) => {
    await expect(at(start).operation(id)).rejects.toThrow("The operation does not exist");
  },
);

test("after its end a name is in grace, in redemption and in pending deletion, to the millisecond, and is then free", async () => {
  const name = newName();
  await register(name);
  await at(start).setNameservers(name, nameservers);
  const phases: [at: string, phase: string | undefined, isDelegated: boolean, offer: string][] = [
    ["2027-03-01T12:00:00.249Z", "registered", true, "unavailable"],
    ["2027-03-01T12:00:00.250Z", "grace", true, "unavailable"],
    ["2027-03-31T12:00:00.249Z", "grace", true, "unavailable"],
    ["2027-03-31T12:00:00.250Z", "redemption", false, "unavailable"],
    ["2027-04-30T12:00:00.249Z", "redemption", false, "unavailable"],
    ["2027-04-30T12:00:00.250Z", undefined, false, "unavailable"],
    ["2027-05-05T12:00:00.249Z", undefined, false, "unavailable"],
    ["2027-05-05T12:00:00.250Z", undefined, false, "available"],
  ];
  for (const [instant, phase, isDelegated, offer] of phases) {
    const now = new Date(instant);
    expect((await at(now).registration(name))?.phase, instant).toBe(phase);
    expect(await delegationOf(table, name, () => now), instant).toEqual(isDelegated ? nameservers : undefined);
    expect(await at(now).offer(name), instant).toMatchObject({ status: offer });
    if (offer === "available") continue;
    await expect(register(name, { now }), instant).rejects.toThrow(Refused);
    await expect(
      delegate(table, name, [], () => now),
      instant,
    ).rejects.toThrow("already registered");
  }
  expect((await register(name, { now: new Date("2027-05-05T12:00:00.250Z") })).state).toBe("succeeded");
});

test("a name has the statuses of EPP", async () => {
  const name = newName();
  await register(name);
  const statusesAt = async (instant: string) => (await at(new Date(instant)).registration(name))?.statuses;
  expect(await statusesAt("2027-03-01T00:00:00Z")).toEqual(["clientTransferProhibited"]);
  expect(await statusesAt("2027-03-02T00:00:00Z")).toEqual(["clientTransferProhibited", "autoRenewPeriod"]);
  expect(await statusesAt("2027-04-01T00:00:00Z")).toEqual([
    "clientTransferProhibited",
    "redemptionPeriod",
    "pendingDelete",
  ]);
});

test("a name that an earlier version stored with automatic renewal is renewed every year until this is stopped", async () => {
  const name = newName();
  await register(name);
  await table.attempt({ update: registeredNameKey(name), set: { auto_renew: true }, if: { holder: "us" } });
  const end = new Date("2027-03-01T12:00:00.250Z");
  expect(await at(new Date("2027-03-01T12:00:00.249Z")).registration(name)).toMatchObject({
    expiresAt: end.toISOString(),
    autoRenew: true,
  });
  expect(await at(end).registration(name)).toMatchObject({ expiresAt: "2028-03-01T12:00:00.250Z" });
  const muchLater = new Date("2033-12-31T00:00:00Z");
  await at(muchLater).stopAutoRenew(name);
  await at(muchLater).stopAutoRenew(name);
  const ended = { autoRenew: false, expiresAt: "2034-03-01T12:00:00.250Z" };
  expect(await at(muchLater).registration(name)).toMatchObject({ ...ended, phase: "registered" });
  expect(await at(new Date("2034-03-02T00:00:00Z")).registration(name)).toMatchObject({ ...ended, phase: "grace" });
});

describe("a renewal", () => {
  const end = "2027-03-01T12:00:00.250Z";
  const renewal = (name: string, more: Partial<Renewing> = {}): Renewing => ({
    name,
    years: 1,
    expiresAt: end,
    restore: false,
    ...more,
  });
  const endOf = async (name: string, now = start) => (await at(now).registration(name))?.expiresAt;

  test("has a price, and so has a restoration; a name that is not sold has no price", async () => {
    expect(await at(start).fees(newName("n", "org"))).toEqual({ renewal: 1_500, restore: 8_000 });
    expect(await at(start).fees("example.test")).toBeUndefined();
  });

  test("adds years to the end, and a repeated request for the same end is refused", async () => {
    const name = newName();
    await register(name);
    const operation = await at(after(1)).renew(renewal(name, { years: 2 }));
    expect(operation).toEqual({ id: expect.any(String), state: "succeeded" });
    expect(await endOf(name, after(1))).toBe("2029-03-01T12:00:00.250Z");
    await expect(at(after(2)).renew(renewal(name, { years: 2 }))).rejects.toThrow("ends at 2029-03-01T12:00:00.250Z");
    expect(await at(after(2)).findOperation(name, start, "renew")).toEqual(operation);
    expect((await at(after(2)).findOperation(name, start, "register"))?.id).not.toBe(operation.id);
    await at(after(3)).renew(renewal(name, { expiresAt: "2029-03-01T12:00:00.250Z" }));
    expect(await endOf(name, after(3))).toBe("2030-03-01T12:00:00.250Z");
  });

  test("can end at most ten years ahead", async () => {
    const name = newName();
    await register(name);
    await expect(at(start).renew(renewal(name, { years: 10 }))).rejects.toThrow("at most 10 years");
    await at(start).renew(renewal(name, { years: 9 }));
    expect(await endOf(name)).toBe("2036-03-01T12:00:00.250Z");
  });

  test("needs no restoration in grace, and needs one in redemption, after which the name is delegated again", async () => {
    const name = newName();
    await register(name);
    await at(start).setNameservers(name, nameservers);
    const [grace, redemption] = [new Date("2027-03-20T00:00:00Z"), new Date("2027-04-20T00:00:00Z")];
    await expect(at(grace).renew(renewal(name, { restore: true }))).rejects.toThrow("needs no restoration");
    await expect(at(redemption).renew(renewal(name))).rejects.toThrow("has to be restored");
    await at(redemption).renew(renewal(name, { restore: true }));
    expect(await at(redemption).registration(name)).toMatchObject({
      phase: "registered",
      expiresAt: "2028-03-01T12:00:00.250Z",
    });
    expect(await delegationOf(table, name, () => redemption)).toEqual(nameservers);
    const other = newName();
    await register(other);
    await at(grace).renew(renewal(other));
    expect(await endOf(other, grace)).toBe("2028-03-01T12:00:00.250Z");
  });

  test("of a name that is not ours is refused", async () => {
    const name = newName();
    await expect(at(start).renew(renewal(name))).rejects.toThrow(Refused);
    await register(name);
    await expect(at(new Date("2027-05-01T00:00:00Z")).renew(renewal(name))).rejects.toThrow(Refused);
  });

  test("of a slow name takes 30 seconds, and a second request returns the same operation", async () => {
    const name = newName("slow-");
    await register(name);
    const [begun, settled] = [after(60_000), after(90_000)];
    const expiresAt = (await endOf(name, begun)) ?? "";
    const running = await at(begun).renew(renewal(name, { expiresAt }));
    expect(running.state).toBe("running");
    expect(await at(after(89_999)).renew(renewal(name, { expiresAt }))).toEqual(running);
    expect(await endOf(name, after(89_999))).toBe(expiresAt);
    expect(await at(settled).operation(running.id)).toEqual({ ...running, state: "succeeded" });
    expect(await endOf(name, settled)).toBe("2028-03-01T12:00:30.250Z");
  });

  test("whose answer is lost is done, and is found by its name", async () => {
    const name = newName("lost-");
    await expect(register(name)).rejects.toThrow();
    await expect(at(start).renew(renewal(name))).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(await at(start).findOperation(name, start, "renew")).toMatchObject({ state: "succeeded" });
    expect(await endOf(name)).toBe("2028-03-01T12:00:00.250Z");
  });

  test("is refused, fails or gets no answer if the beginning of the name says so, and changes nothing", async () => {
    const [refused, fails, silent] = ["renewal-refused-", "renewal-fails-", "renewal-silent-"].map((one) =>
      newName(one),
    );
    for (const name of [refused, fails, silent]) await register(name ?? "");
    await expect(at(start).renew(renewal(refused ?? ""))).rejects.toThrow(Refused);
    const { id } = await at(start).renew(renewal(fails ?? ""));
    const reason = "The registry did not renew the name.";
    expect(await at(after(30_000)).operation(id)).toEqual({ id, state: "failed", reason });
    await expect(at(start).renew(renewal(silent ?? ""))).rejects.toMatchObject({ code: "upstream_unavailable" });
    for (const name of [refused, fails, silent]) expect(await endOf(name ?? "", after(30_000))).toBe(end);
  });
});

test("new nameservers are in the parent zone at once", async () => {
  const name = newName();
  await register(name);
  expect(await delegationOf(table, name, () => start)).toBeUndefined();
  await at(start).setNameservers(name, nameservers);
  expect(await at(start).registration(name)).toMatchObject({ nameservers });
  expect(await delegationOf(table, name, () => start)).toEqual(nameservers);
});

test("a new name is locked and its contact is hidden, and both can be changed", async () => {
  const name = newName();
  await register(name);
  expect(await at(start).registration(name)).toMatchObject({ statuses: ["clientTransferProhibited"], privacy: true });
  await at(start).setLock(name, false);
  await at(start).setPrivacy(name, false);
  expect(await at(start).registration(name)).toMatchObject({ statuses: [], privacy: false });
  await at(start).setLock(name, true);
  expect(await at(start).registration(name)).toMatchObject({ statuses: ["clientTransferProhibited"], privacy: false });
});

test("a name has the contact of its registration until this contact is replaced", async () => {
  const name = newName();
  await register(name);
  expect(await at(start).contact(name)).toEqual(contact);
  const moved = { ...contact, city: "Oakland", organization: null };
  expect(await at(start).setContact(name, moved)).toMatchObject({ state: "succeeded" });
  expect(await at(start).contact(name)).toEqual(moved);
  expect(await at(start).findOperation(name, start, "renew")).toBeUndefined();
  expect(await at(start).contact(newName())).toBeUndefined();
  await expect(at(start).setContact(newName(), moved)).rejects.toThrow("not registered through this registrar");
  await expect(at(start).setContact(newName("contact-refused-"), moved)).rejects.toThrow(Refused);
});

test("each registered name has its own auth code, which stays the same", async () => {
  const [name, other] = [newName(), newName()];
  await Promise.all([register(name), register(other)]);
  const code = await at(start).authCode(name);
  expect(code).toMatch(/^[\w-]{16}$/);
  expect(await at(after(1)).authCode(name)).toBe(code);
  expect(await at(start).authCode(other)).not.toBe(code);
  await expect(at(start).authCode(newName())).rejects.toThrow("not registered through this registrar");
});

test("a released name is free, and a later registration of the name has nothing of its former holder", async () => {
  const name = newName();
  await register(name);
  await at(start).setNameservers(name, nameservers);
  await at(start).release(name);
  await at(start).release(name);
  expect(await at(start).registration(name)).toBeUndefined();
  expect(await delegationOf(table, name, () => start)).toBeUndefined();
  expect((await register(name, { now: after(1) })).state).toBe("succeeded");
  expect(await at(after(1)).registration(name)).toMatchObject({ nameservers: [] });
});

test("a name of another registrar is not changed, nor a name whose registration is still running", async () => {
  const [elsewhere, slow] = [newName(), newName("slow-")];
  await Promise.all([delegate(table, elsewhere, nameservers, () => start), register(slow)]);
  for (const name of [elsewhere, slow, newName()]) {
    await expect(at(start).setNameservers(name, [])).rejects.toThrow("not registered through this registrar");
    await expect(at(start).stopAutoRenew(name)).rejects.toThrow("not registered through this registrar");
    await expect(at(start).setLock(name, false)).rejects.toThrow("not registered through this registrar");
    await at(start).release(name);
  }
  expect(await delegationOf(table, elsewhere)).toEqual(nameservers);
  expect((await at(after(30_000)).registration(slow))?.autoRenew).toBe(false);
});

test("a name of another holder is unavailable, and has the nameservers that its holder sets", async () => {
  const name = newName("n", "test");
  expect(await delegationOf(table, name)).toBeUndefined();
  await delegate(table, name, ["ns.example.net"]);
  await delegate(table, name, nameservers);
  expect(await delegationOf(table, name)).toEqual(nameservers);
  await delegate(table, name, []);
  expect(await delegationOf(table, name)).toBeUndefined();
  const sold = newName();
  await delegate(table, sold, nameservers);
  expect(await at(start).offer(sold)).toMatchObject({ status: "unavailable" });
  await expect(register(sold)).rejects.toThrow(Refused);
});

test("no other holder can get a name that is registered here, or whose registration is running", async () => {
  const [ours, slow] = [newName(), newName("slow-")];
  await Promise.all([register(ours), register(slow)]);
  for (const name of [ours, slow]) {
    await expect(delegate(table, name, nameservers, () => start)).rejects.toThrow(
      "already registered through this registrar",
    );
  }
});

test("without configuration each use is a 409 that names the feature", async () => {
  const none = registrarOf(RegistrarEnvironment.parse({}))(table, () => start);
  for (const use of [none.tlds(), none.offer("example.com"), none.release("example.com")]) {
    await expect(use).rejects.toMatchObject({ status: 409, code: "registrar_unavailable" });
  }
});

test("`REGISTRAR` selects the registrar, and an unknown registrar is refused", async () => {
  const chosen = registrarOf(RegistrarEnvironment.parse({ REGISTRAR: "embedded" }))(table, () => start);
  const name = newName();
  await chosen.register({ name, contact });
  await chosen.setNameservers(name, nameservers);
  expect(await at(start).registration(name)).toMatchObject({ nameservers });
  expect(() => RegistrarEnvironment.parse({ REGISTRAR: "gandi" })).toThrow();
});
