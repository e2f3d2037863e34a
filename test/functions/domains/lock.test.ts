import { expect, test } from "vitest";

import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import { advance, setStored, storedAs } from "../../support/domain-work.ts";
import { connected, domainsRequest, readDomain } from "../../support/domains.ts";
import { lookWith, ownedName, registrationAt, renew, renewed } from "../../support/renewals.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const update = (account: Account, name: string, body: unknown, headers: Record<string, string> = {}) =>
  domainsRequest(account, "PATCH", `/${name}`, body, headers);

test("unlocks and locks a purchased name, and shows its contact, at the registrar at once", async () => {
  const { account, name } = await ownedName();
  expect((await readDomain(account, name)).registration).toMatchObject({ locked: true, privacy: true });
  const answer = await update(account, name, { locked: false, privacy: false });
  expect([answer.status, answer.body.registration]).toMatchObject([200, { locked: false, privacy: false }]);
  expect(await registrationAt(name)).toMatchObject({ statuses: [], privacy: false });
  await advance(account, name);
  expect((await readDomain(account, name)).registration).toMatchObject({ locked: false, registrar_status: [] });
  expect((await update(account, name, { locked: true })).body.registration).toMatchObject({
    locked: true,
    privacy: false,
  });
  expect(await registrationAt(name)).toMatchObject({ statuses: ["clientTransferProhibited"], privacy: false });
});

test("a change that did not reach the registrar is sent by the worker within two minutes", async () => {
  const { account, name } = await ownedName();
  await update(account, name, { locked: false });
  // The name is locked at the registrar again, as if the request had died before it told the registrar.
  await embeddedRegistrar(testTable(), () => new Date()).setLock(name, true);
  const { due_at } = await storedAs(account, name);
  expect(Date.parse(due_at ?? "") - Date.now()).toBeLessThanOrEqual(120_000);
  await advance(account, name);
  expect(await registrationAt(name)).toMatchObject({ statuses: [] });
  expect((await readDomain(account, name)).registration).toMatchObject({ locked: false });
});

test("the next check undoes somebody's change at the registrar, and wanted settings survive a renewal", async () => {
  const { account, name } = await ownedName();
  await update(account, name, { privacy: false });
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.setLock(name, false);
  await registrar.setPrivacy(name, true);
  await advance(account, name);
  expect(await registrationAt(name)).toMatchObject({ statuses: ["clientTransferProhibited"], privacy: false });
  await renew(account, name);
  await update(account, name, { locked: false });
  await renewed(account, name);
  expect((await readDomain(account, name)).registration).toMatchObject({ locked: false, privacy: false });
});

test("a change of the lock that arrives during a check is not lost", async () => {
  const { account, name } = await ownedName();
  const plain = embeddedRegistrar(testTable(), () => new Date());
  await lookWith(account, name, {
    registration: async (given) => {
      await update(account, name, { locked: false });
      return plain.registration(given);
    },
  });
  expect((await readDomain(account, name)).registration).toMatchObject({ locked: false });
  await advance(account, name);
  expect(await registrationAt(name)).toMatchObject({ statuses: [] });
});

test("refuses `locked` and `privacy` for a name that is not registered through us, and changes nothing", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const { status, body } = await update(account, name, { locked: false, privacy: true, dmarc_policy: "reject" });
  expect([status, body.detail]).toMatchObject([422, [{ loc: ["body", "locked"] }, { loc: ["body", "privacy"] }]]);
  expect(await readDomain(account, name)).toMatchObject({ dmarc_policy: "none" });
  const owned = await ownedName();
  const { registration } = await storedAs(owned.account, owned.name);
  await setStored(owned.account, owned.name, {
    status: "expired",
    registration: { ...registration, status: "redemption" },
  });
  expect((await update(owned.account, owned.name, { locked: false })).body).toMatchObject({
    status: 409,
    code: "domain_not_ready",
    domain_status: "expired",
  });
});
