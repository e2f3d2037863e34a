import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { newAccount, newMember, newServiceAccount, newSuperAdmin, newUser } from "../../support/world.ts";

test("shows the account with its client to its owner", async () => {
  const account = await newAccount({ name: "Acme" });
  const { status, body } = await request("GET", `/v1/public/accounts/${account.id}`, { token: account.owner.token });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: account.id,
    name: "Acme",
    client: { id: account.clientId, name: "Test client" },
    status: "active",
    currency: "USD",
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updated_at: body.created_at,
  });
});

test("shows the account to every member, to its service account and to a super admin, and to nobody else", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}`;
  const member = await newMember(account, { capability: "dns.view" });
  const service = await newServiceAccount(account, { role: "billing_viewer" });
  const admin = await newSuperAdmin();
  for (const { token } of [member, service, admin]) expect((await request("GET", path, { token })).status).toBe(200);
  expect((await request("GET", path, { token: newUser().token })).status).toBe(404);
  const stranger = await newServiceAccount(await newAccount(), { role: "manager" });
  expect((await request("GET", path, { token: stranger.token })).status).toBe(404);
});

test("answers a super admin 404 for an account that does not exist", async () => {
  const { token } = await newSuperAdmin();
  expect((await request("GET", "/v1/public/accounts/99999999-9999-4999-8999-999999999999", { token })).status).toBe(
    404,
  );
});

test("accepts the id of the account in upper case", async () => {
  const { id, owner } = await newAccount();
  const { status, body } = await request("GET", `/v1/public/accounts/${id.toUpperCase()}`, { token: owner.token });
  expect(status).toBe(200);
  expect(body.id).toBe(id);
});
