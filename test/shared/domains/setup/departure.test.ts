import { expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { yearsAfter } from "../../../../shared/core/time.ts";
import { readHolder } from "../../../../shared/domains/holder.ts";
import { registerElsewhere } from "../../../../shared/providers/registrar/embedded-names.ts";
import { advance, storedAs } from "../../../support/domain-work.ts";
import { domainsRequest, readDomain } from "../../../support/domains.ts";
import { happened, wallet } from "../../../support/purchases.ts";
import { registrationUntil } from "../../../support/registrations.ts";
import { lookWith, ownedName, registeredFor, renew, renewed } from "../../../support/renewals.ts";
import { transfer, transferred } from "../../../support/transfers.ts";
import { testTable, type Account } from "../../../support/world.ts";

const told = async (account: Account): Promise<string[]> =>
  (await happened(account)).filter((type) => /^domain\.(?:transfer|updated|released)/.test(type));

/** A purchased name that can be transferred away, with its auth code. If `isActive`, it is delegated to us. */
async function leaving({ isActive = true } = {}) {
  const { account, name } = await ownedName();
  if (isActive) {
    await advance(account, name);
    await advance(account, name);
  }
  await registeredFor(name, 61);
  await domainsRequest(account, "PATCH", `/${name}`, { locked: false });
  const { body } = await domainsRequest(account, "POST", `/${name}/auth-code`);
  return { account, name, code: String(body.auth_code) };
}

const take = (name: string, auth_code: string) => registerElsewhere(testTable(), name, { auth_code });

test("a name that was transferred away is `connected` from the next check on, and its mail continues", async () => {
  const { account, name, code } = await leaving();
  const { nameservers } = await readDomain(account, name);
  await take(name, code);
  await advance(account, name);
  const left = { status: "active", source: "connected", registration: null, auto_renew: false };
  expect(await readDomain(account, name)).toMatchObject({ ...left, outbound_routing_ready: true, nameservers });
  await advance(account, name);
  expect(await readDomain(account, name)).toMatchObject(left);
  expect((await told(account)).filter((type) => type.startsWith("domain.transfer"))).toEqual([
    "domain.transferred_out",
  ]);
  expect(await readHolder(testTable(), name)).toMatchObject({ firm: true });
});

test("a name that was transferred away cannot be renewed here, and its domain can be deleted", async () => {
  const { account, name, code } = await leaving();
  await take(name, code);
  await advance(account, name);
  expect((await domainsRequest(account, "POST", `/${name}/renew`, { years: 1 })).body).toMatchObject({
    code: "not_registered_here",
  });
  expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
});

test("a name that was transferred away, and was never delegated to us, is not held firmly any more", async () => {
  const { account, name, code } = await leaving({ isActive: false });
  await take(name, code);
  await advance(account, name);
  expect(await readDomain(account, name)).toMatchObject({ status: "pending_delegation", source: "connected" });
  expect(await readHolder(testTable(), name)).toMatchObject({ firm: false });
});

test("a name that the registrar does not show for a moment does not count as transferred away", async () => {
  const { account, name } = await leaving();
  await lookWith(account, name, { registration: async () => undefined });
  expect(await readDomain(account, name)).toMatchObject({ status: "expired", source: "purchased", auto_renew: true });
  await advance(account, name);
  expect(await readDomain(account, name)).toMatchObject({ status: "active", registration: { status: "active" } });
});

test("a name that the registrar shows again is held firmly again, even if it was never delegated to us", async () => {
  const { account, name } = await leaving({ isActive: false });
  await lookWith(account, name, { registration: async () => undefined });
  expect(await readHolder(testTable(), name)).toMatchObject({ firm: false });
  await lookWith(account, name, { setNameservers: async () => undefined });
  expect(await readDomain(account, name)).toMatchObject({ status: "pending_delegation" });
  expect(await readHolder(testTable(), name)).toMatchObject({ firm: true });
});

test("a name that is transferred back gets its former domain, and its earlier departure does not count any more", async () => {
  const { account, name, code } = await leaving();
  const { id } = await readDomain(account, name);
  await take(name, code);
  await advance(account, name);
  await registerElsewhere(testTable(), name, { auth_code: "back", registered_at: "2020-01-01T00:00:00.000Z" });
  const { body } = await transfer(account, [], { domains: [{ name, auth_code: "back" }] });
  expect(body.results[0]).toMatchObject({ id, status: "pending_transfer" });
  await transferred(account, name);
  await lookWith(account, name, { registration: async () => undefined });
  expect(await readDomain(account, name)).toMatchObject({ id, source: "purchased", status: "expired" });
});

test("a renewal that was done before the name was transferred away is paid, and the name is then `connected`", async () => {
  const { account, name } = await leaving();
  await renew(account, name);
  const left = {
    registration: async () => undefined,
    findOperation: async (_name: string, _since: Date, kind: string) =>
      kind === "transfer_out" ? ({ id: "departure", state: "succeeded" } as const) : undefined,
  };
  await renewed(account, name, left);
  await lookWith(account, name, left);
  expect(await readDomain(account, name)).toMatchObject({ source: "connected", renewal: { status: "succeeded" } });
  expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
});

test("a renewal that never arrived is not paid because another account has transferred the name to us since", async () => {
  const { account, name, code } = await leaving();
  await renew(account, name);
  await lookWith(account, name, {
    renew: () => Promise.reject(new Problem("upstream_unavailable", "No answer.", { retry_after: 1 })),
  });
  await take(name, code);
  const { registration } = await storedAs(account, name);
  const end = yearsAfter(new Date(registration?.expires_at ?? ""), 2).toISOString();
  await renewed(account, name, {
    registration: async () => registrationUntil(end),
    findOperation: async (_name, _since, kind) =>
      kind === "transfer_out" ? { id: "departure", state: "succeeded" } : undefined,
  });
  const reason = `Another registrar has taken ${name} over.`;
  expect(await readDomain(account, name)).toMatchObject({ renewal: { status: "failed", reason } });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 10_000 });
});
