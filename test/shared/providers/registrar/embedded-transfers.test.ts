import { randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  delegationOf,
  registerElsewhere,
  registeredNameKey,
} from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused } from "../../../../shared/providers/registrar/registrar.ts";
import { contact } from "../../../support/contact.ts";
import { testTable } from "../../../support/world.ts";

const table = testTable();
const start = new Date("2026-03-01T12:00:00.250Z");
const nameservers = ["ns1.example.net", "ns2.example.net"];
const authCode = "right-code";

const at = (now: Date) => embeddedRegistrar(table, () => now);
const afterDays = (days: number): Date => new Date(start.getTime() + days * 86_400_000);
const newName = (beginning = "n"): string => `${beginning}${randomBytes(8).toString("hex")}.com`;

/** A name that is registered at another registrar until March 2027. */
async function elsewhere(beginning?: string, given: Parameters<typeof registerElsewhere>[2] = {}): Promise<string> {
  const name = newName(beginning);
  const registration = { auth_code: authCode, nameservers, expires_at: "2027-03-05T00:00:00.000Z" };
  await registerElsewhere(table, name, { ...registration, ...given }, () => start);
  return name;
}

const transfer = (name: string, now = start, code = authCode) => at(now).transfer({ name, authCode: code, contact });

test("a name of another registrar is transferred by its auth code, for a further year, with its nameservers", async () => {
  const name = await elsewhere();
  expect(await at(start).transferOffer(name, authCode)).toEqual({ name, status: "transferable", price: 1_400 });
  const operation = await transfer(name);
  expect(operation).toEqual({ id: expect.any(String), state: "succeeded" });
  expect(await at(start).operation(operation.id)).toEqual(operation);
  expect(await at(start).findOperation(name, start, "transfer")).toEqual(operation);
  expect(await at(start).findOperation(name, start, "register")).toBeUndefined();
  expect(await at(start).registration(name)).toMatchObject({
    expiresAt: "2028-03-05T00:00:00.000Z",
    phase: "registered",
    transferableAt: "2026-04-30T12:00:00.250Z",
    nameservers,
  });
  expect(await delegationOf(table, name, () => start)).toEqual(nameservers);
  expect(await at(start).transferOffer(name, authCode)).toEqual({ name, status: "ours" });
  await at(start).setNameservers(name, ["other.example.net"]);
  expect(await at(start).registration(name)).toMatchObject({ nameservers: ["other.example.net"] });
});

test.each<[string, Parameters<typeof registerElsewhere>[2], object]>([
  ["with another auth code", { auth_code: "other" }, { status: "auth_code_wrong" }],
  ["that is locked", { locked: true }, { status: "locked" }],
  [
    "that was registered less than 60 days ago",
    { registered_at: "2026-01-01T00:00:00.000Z" },
    { status: "too_soon", transferableAt: "2026-03-02T00:00:00.000Z" },
  ],
  [
    "that is registered for more than nine years",
    { expires_at: "2035-03-02T00:00:00.000Z" },
    { status: "too_many_years" },
  ],
])("a name %s is not transferred", async (_, given, offer) => {
  const name = await elsewhere("n", given);
  expect(await at(start).transferOffer(name, authCode)).toEqual({ name, ...offer });
  await expect(transfer(name)).rejects.toThrow(Refused);
  expect(await at(start).findOperation(name, start, "transfer")).toBeUndefined();
  expect(await delegationOf(table, name, () => start)).toEqual(nameservers);
});

test("a name that is free, ours, invalid or under an unsupported top-level domain is not transferred", async () => {
  const ours = newName();
  await at(start).register({ name: ours, contact });
  for (const [name, status] of [
    [newName(), "not_registered"],
    [ours, "ours"],
    ["-a.com", "invalid"],
    ["example.test", "unsupported_tld"],
  ] as const) {
    expect(await at(start).transferOffer(name, authCode)).toEqual({ name, status });
    await expect(transfer(name)).rejects.toThrow(Refused);
  }
});

test("a slow transfer takes five days, and the present registrar keeps the name until then", async () => {
  const name = await elsewhere("slow-");
  const running = await transfer(name);
  expect(running.state).toBe("running");
  expect(await transfer(name, afterDays(4), "any")).toEqual(running);
  expect(await at(afterDays(4)).registration(name)).toBeUndefined();
  expect(await at(afterDays(4)).offer(name)).toMatchObject({ status: "unavailable" });
  expect(await at(afterDays(4)).transferOffer(name, authCode)).toEqual({ name, status: "ours" });
  expect(await delegationOf(table, name, () => afterDays(4))).toEqual(nameservers);
  await expect(registerElsewhere(table, name, { locked: true }, () => afterDays(4))).rejects.toThrow(
    "is being transferred",
  );
  expect(await at(afterDays(5)).operation(running.id)).toEqual({ ...running, state: "succeeded" });
  expect(await at(afterDays(5)).registration(name)).toMatchObject({ expiresAt: "2028-03-05T00:00:00.000Z" });
});

test.each([
  ["transfer-refused-", "The present registrar refused the transfer."],
  ["transfer-fails-", "The registry did not transfer the name."],
])("a name that begins with %s stays unchanged at the other registrar", async (beginning, reason) => {
  const name = await elsewhere(beginning);
  const { id } = await transfer(name);
  expect(await at(afterDays(1)).operation(id)).toEqual({ id, state: "failed", reason });
  expect(await at(afterDays(1)).registration(name)).toBeUndefined();
  expect(await delegationOf(table, name, () => afterDays(1))).toEqual(nameservers);
  expect(await at(afterDays(1)).transferOffer(name, authCode)).toMatchObject({ status: "transferable" });
});

test("a transfer whose answer is lost is done, and is found by its name", async () => {
  const name = await elsewhere("lost-");
  await expect(transfer(name)).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(await at(start).findOperation(name, start, "transfer")).toMatchObject({ state: "succeeded" });
  expect(await at(start).registration(name)).toBeDefined();
});

test("a silent registry transfers nothing", async () => {
  const name = await elsewhere("transfer-silent-");
  expect(await at(start).transferOffer(name, authCode)).toEqual({ name, status: "unknown" });
  await expect(transfer(name)).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(await at(start).findOperation(name, start, "transfer")).toBeUndefined();
});

test("a name that an earlier version stored for another registrar has no code, and can be transferred once it has a code", async () => {
  const name = newName();
  await table.attempt({ put: { ...registeredNameKey(name), holder: "elsewhere", version: 1, nameservers } });
  expect(await at(start).transferOffer(name, "")).toEqual({ name, status: "auth_code_wrong" });
  await registerElsewhere(table, name, { auth_code: authCode });
  await transfer(name);
  expect(await at(start).registration(name)).toMatchObject({ expiresAt: "2028-03-01T12:00:00.250Z", nameservers });
});

describe("another registrar takes over a name", () => {
  const inTime = afterDays(60);

  /** An unlocked name that was registered here at `start`, and its auth code. */
  async function ours(beginning?: string): Promise<{ name: string; code: string }> {
    const name = newName(beginning);
    await at(start).register({ name, contact });
    const registrar = at(afterDays(1));
    await registrar.setNameservers(name, nameservers);
    await registrar.setLock(name, false);
    return { name, code: await registrar.authCode(name) };
  }

  const take = (name: string, auth_code: string, now = inTime) =>
    registerElsewhere(table, name, { auth_code }, () => now);

  test("with its auth code, for a further year and with its nameservers, and an operation shows this", async () => {
    const { name, code } = await ours();
    expect(await take(name, code)).toBe(inTime.toISOString());
    expect(await at(inTime).registration(name)).toBeUndefined();
    expect(await at(inTime).findOperation(name, inTime, "transfer_out")).toMatchObject({ state: "succeeded" });
    expect(await at(inTime).offer(name)).toMatchObject({ status: "unavailable" });
    expect(await delegationOf(table, name, () => inTime)).toEqual(nameservers);
    const transferableAt = afterDays(120).toISOString();
    expect(await at(inTime).transferOffer(name, code)).toEqual({ name, status: "too_soon", transferableAt });
    await transfer(name, afterDays(120), code);
    expect((await at(afterDays(120)).registration(name))?.expiresAt).toBe("2029-03-01T12:00:00.250Z");
  });

  test("after five days if the name is slow, and the name is ours until then", async () => {
    const { name, code } = await ours("slow-");
    const from = afterDays(61);
    expect(await take(name, code, from)).toBe(afterDays(66).toISOString());
    expect(await at(afterDays(65)).registration(name)).toMatchObject({ statuses: ["pendingTransfer"] });
    expect(await at(afterDays(65)).findOperation(name, from, "transfer_out")).toMatchObject({ state: "running" });
    expect(await at(afterDays(66)).registration(name)).toBeUndefined();
  });

  test("but not with a wrong code, while the name is locked, in its first 60 days, or in redemption", async () => {
    const { name, code } = await ours();
    await expect(take(name, "another")).rejects.toThrow("The auth code is wrong.");
    await expect(take(name, code, afterDays(59))).rejects.toThrow("cannot be transferred before");
    await expect(take(name, code, afterDays(396))).rejects.toThrow("in redemption");
    await at(inTime).setLock(name, true);
    await expect(take(name, code)).rejects.toThrow("locked");
    expect(await at(inTime).registration(name)).toBeDefined();
    expect(await at(inTime).findOperation(name, start, "transfer_out")).toBeUndefined();
  });
});
