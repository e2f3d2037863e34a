import { expect, test } from "vitest";

import { getBatch } from "../../../../shared/domains/purchase/batch.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused } from "../../../../shared/providers/registrar/registrar.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { remove } from "../../../support/domain-deletions.ts";
import { advance, setStored, storedAs, workAt } from "../../../support/domain-work.ts";
import { domainsRequest, purchase, readDomain, uniqueName } from "../../../support/domains.ts";
import { added } from "../../../support/mailboxes.ts";
import { batchesDue, continued, happened, pay, registered, wallet } from "../../../support/purchases.ts";
import { advanceAt, daysFrom, ownedName } from "../../../support/renewals.ts";
import { testTable, type Account } from "../../../support/world.ts";

/**
 * A domain with a mailbox. Its account lost the name at the end of the redemption, and the registry sells it again.
 * `left` is the money in the wallet, in minor units.
 */
async function lostName(left = 10_000) {
  const { account, name } = await ownedName("", left);
  await advance(account, name);
  const mailbox = await added(account, name);
  const { id, registration } = await storedAs(account, name);
  await setStored(account, name, { auto_renew: false });
  await advanceAt(account, name, daysFrom(registration?.expires_at, 60));
  await embeddedRegistrar(testTable(), () => new Date()).release(name);
  return { account, name, id, mailbox };
}

/** A lost name whose zone is removed from the nameservers. */
async function keptName(left?: number) {
  const scene = await lostName(left);
  await advance(scene.account, scene.name);
  return scene;
}

/** Advances the registration of a name until it fails, because the registrar refuses it. */
async function refusedByRegistrar(account: Account, name: string) {
  const plain = workAt(new Date()).registrar;
  const register = () => Promise.reject(new Refused("Not today."));
  // Hides the operation of the former registration, which ended minutes ago in this test.
  const findOperation = async () => undefined;
  return registered(account, name, { registrar: { ...plain, register, findOperation } });
}

test("a purchase of the name of a lost domain restores the domain with everything in it, in the given workspace", async () => {
  const { account, name, id, mailbox } = await keptName();
  const workspace_id = await newWorkspace(account, "Again");
  const pending = { status: "pending_registration" };
  const { body } = await purchase(account, [uniqueName(), name, uniqueName()], { workspace_id });
  expect(body.results).toMatchObject([pending, pending, pending]);
  expect(body.results[1]).toMatchObject({ domain_name: name, id });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 5_800 });
  expect(await registered(account, name)).toMatchObject({ id, status: "pending_delegation" });
  expect(await readDomain(account, name)).toMatchObject({
    workspace_id,
    source: "purchased",
    auto_renew: true,
    deletes_at: null,
    verified_at: null,
    registration: { status: "active", locked: true },
    mailboxes: [{ id: mailbox.id }],
  });
  await advance(account, name);
  expect(await storedAs(account, name)).toMatchObject({ status: "active" });
  expect(await happened(account)).toEqual(expect.arrayContaining(["domain.released", "domain.registered"]));
});

test("if the registration fails, the lost domain is kept until the same `deletes_at`, and the purchase costs nothing", async () => {
  const { account, name, id } = await keptName();
  const { deletes_at } = await storedAs(account, name);
  await purchase(account, [name]);
  await refusedByRegistrar(account, name);
  expect(await readDomain(account, name)).toMatchObject({
    id,
    status: "releasing",
    status_reason: "Not today.",
    deletes_at,
    mailbox_count: 1,
  });
  expect(await storedAs(account, name)).toMatchObject({ due_at: deletes_at, is_open: false, was_verified: true });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 10_000 });
  const external = { dns_mode: "external", sending_ready: true, seen_right: ["spf"], handover: { gone_at: null } };
  await setStored(account, name, external);
  expect((await purchase(account, [name])).body.results).toMatchObject([{ status: "pending_registration", id }]);
  // A registered name is delegated to us, so the DNS of the domain is hosted again.
  const hosted = { dns_mode: "hosted", sending_ready: false, seen_right: [], handover: null };
  expect(await storedAs(account, name)).toMatchObject(hosted);
  expect(await registered(account, name)).toMatchObject({ id, status: "pending_delegation" });
  expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
});

test("if a purchase fails, a lost domain keeps its ended registration, and cannot be restored without its name", async () => {
  const { account, name } = await keptName();
  const { registration } = await readDomain(account, name);
  expect(registration.status).toBe("expired");
  await purchase(account, [name]);
  await refusedByRegistrar(account, name);
  expect((await readDomain(account, name)).registration).toEqual(registration);
  const { status, body } = await domainsRequest(account, "POST", `/${name}/restore`);
  expect([status, body.code]).toEqual([409, "domain_not_ready"]);
});

test("a purchase that is paid later also restores a lost domain", async () => {
  const { account, name, id } = await keptName(0);
  const { body } = await purchase(account, [name]);
  expect(body.results).toMatchObject([{ status: "payment_required" }]);
  const { waiting } = (await getBatch(testTable(), account.id, body.purchase_batch_id)) ?? {};
  expect(waiting).toEqual([{ name, price: 1_400 }]);
  await pay(account, body.payment_url);
  expect(await batchesDue(account)).toHaveLength(1);
  await continued(account);
  expect(await registered(account, name)).toMatchObject({ id, status: "pending_delegation", mailbox_count: 1 });
});

test("a lost domain cannot be bought while its zone exists, and a deleted domain with a registration cannot be bought", async () => {
  const lost = await lostName();
  expect((await purchase(lost.account, [lost.name])).body.results).toMatchObject([
    { status: "failed", error_code: "domain_not_ready" },
  ]);
  expect(await wallet(lost.account)).toEqual({ posted: 10_000, available: 10_000 });
  const { account, name } = await ownedName();
  await remove(account, name);
  expect((await purchase(account, [name])).body.results).toMatchObject([
    { status: "failed", error_code: "domain_exists" },
  ]);
});
