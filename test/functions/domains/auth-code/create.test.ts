import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { createAuthCode } from "../../../../shared/domains/registration/auth-code.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import type { Context } from "../../../../shared/http/route.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import type { Registrar, Registration } from "../../../../shared/providers/registrar/registrar.ts";
import { setStored, storedAs } from "../../../support/domain-work.ts";
import { connected, domainsRequest } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { happened } from "../../../support/purchases.ts";
import { ownedName, registeredFor, registrationAt } from "../../../support/renewals.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../../support/world.ts";

const authCode = (account: Account, name: string, headers: Record<string, string> = {}) =>
  domainsRequest(account, "POST", `/${name}/auth-code`, undefined, headers);

const unlock = (account: Account, name: string) => domainsRequest(account, "PATCH", `/${name}`, { locked: false });

/** A name that was registered 60 days ago, and is unlocked. */
async function transferable() {
  const { account, name } = await ownedName();
  await registeredFor(name, 60);
  await unlock(account, name);
  return { account, name };
}

test("shows the registrar's code, which is stored nowhere in the account, and records that it was shown", async () => {
  const { account, name } = await transferable();
  const { status, body, headers } = await authCode(account, name);
  const code = await embeddedRegistrar(testTable(), () => new Date()).authCode(name);
  const { transferableAt } = await registrationAt(name);
  expect([status, body]).toEqual([200, { auth_code: code, transferable_at: transferableAt }]);
  expect(headers["cache-control"]).toBe("no-store");
  expect(JSON.stringify(await storedOf(account))).not.toContain(code);
  expect(await happened(account)).toContain("domain.auth_code_created");
  expect((await authCode(account, name)).body.auth_code).toBe(code);
});

test("a repeated request with the same idempotency key does not get the code again", async () => {
  const { account, name } = await transferable();
  const key = { "idempotency-key": randomUUID() };
  expect((await authCode(account, name, key)).status).toBe(200);
  expect((await authCode(account, name, key)).body).toMatchObject({ status: 409, code: "secret_already_shown" });
});

test("refuses a locked name, a name that is being unlocked, and a too new name, each with its own reason", async () => {
  const { account, name } = await ownedName();
  expect((await authCode(account, name)).body).toMatchObject({
    status: 409,
    code: "transfer_locked",
    detail: expect.stringContaining("locked: false"),
  });
  await unlock(account, name);
  const { transferableAt } = await registrationAt(name);
  expect((await authCode(account, name)).body).toMatchObject({
    status: 409,
    code: "transfer_too_soon",
    transferable_at: transferableAt,
  });
  await registeredFor(name, 59.9);
  expect((await authCode(account, name)).body.code).toBe("transfer_too_soon");
  await embeddedRegistrar(testTable(), () => new Date()).setLock(name, true);
  expect((await authCode(account, name)).body).toMatchObject({
    code: "transfer_locked",
    detail: expect.stringContaining("still being unlocked"),
  });
  expect(await happened(account)).not.toContain("domain.auth_code_created");
});

test.each(["serverTransferProhibited", "pendingTransfer"])("refuses a name with the status %s", async (status) => {
  const { account, name } = await transferable();
  const plain = embeddedRegistrar(testTable(), () => new Date());
  const registrar: Registrar = {
    ...plain,
    registration: async (given) => ({ ...((await plain.registration(given)) as Registration), statuses: [status] }),
  };
  const context = systemWriter({ table: testTable(), now: () => new Date() }, account.id) as Context;
  const asked = createAuthCode(await storedAs(account, name), context, registrar);
  await expect(asked).rejects.toMatchObject({ code: "transfer_locked", message: expect.stringContaining(status) });
  expect(await happened(account)).not.toContain("domain.auth_code_created");
});

test("refuses a name that was not purchased here, or is not registered any more", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  expect((await authCode(account, name)).body).toMatchObject({ status: 409, code: "not_registered_here" });
  const lost = await transferable();
  await embeddedRegistrar(testTable(), () => new Date()).release(lost.name);
  expect((await authCode(lost.account, lost.name)).body).toMatchObject({ status: 409, code: "domain_not_ready" });
  const { registration } = await storedAs(lost.account, lost.name);
  await setStored(lost.account, lost.name, { registration: { ...registration, status: "expired" }, status: "expired" });
  expect((await authCode(lost.account, lost.name)).body).toMatchObject({ code: "domain_not_ready" });
});

test("needs the capability to purchase domains: to update the domain is not enough", async () => {
  const { account, name } = await transferable();
  const { token } = await newMember(account, { role: "domain_manager" });
  const { status, body } = await request("POST", `/v1/public/accounts/${account.id}/domains/${name}/auth-code`, {
    token,
  });
  expect([status, body.required_capability]).toEqual([403, "domain.purchase"]);
});
