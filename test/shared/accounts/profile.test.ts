import { expect, test } from "vitest";

import { accessKey, AccessRecord } from "../../../shared/accounts/standing.ts";
import { request } from "../../support/request.ts";
import { grant, issuer, newAccount, newServiceAccount, newUser, testTable, type Account } from "../../support/world.ts";

const stored = async (account: Account, id: string, type = "user") =>
  testTable().get(accessKey(account.id, { type, id }), AccessRecord);

/** A member with a grant. The product has not seen a token of the member yet. */
async function memberWithoutProfile(account: Account) {
  const { id, token } = newUser();
  await grant(account, { id }, { role: "manager" });
  return { id, token };
}

const addTag = (account: Account, token: string, name: string) =>
  request("POST", `/v1/public/accounts/${account.id}/tags`, { token, body: { name } });

const tokenOf = (sub: string, claims: Record<string, unknown>) => issuer.mint({ ...claims, sub });

test("the first write of a member stores the name and the address in the token, and later writes do not change them", async () => {
  const account = await newAccount();
  const { id } = await memberWithoutProfile(account);
  const token = tokenOf(id, { email: "ada@example.com", given_name: "Ada", family_name: "Lovelace" });
  expect((await addTag(account, token, "one")).status).toBe(201);
  const first = await stored(account, id);
  expect(first).toMatchObject({ email: "ada@example.com", first_name: "Ada", last_name: "Lovelace" });
  expect((await addTag(account, tokenOf(id, { email: "ada@other.example" }), "two")).status).toBe(201);
  expect(await stored(account, id)).toEqual(first);
});

test("a read stores nothing", async () => {
  const account = await newAccount();
  const { id, token } = await memberWithoutProfile(account);
  expect((await request("GET", `/v1/public/accounts/${account.id}/tags`, { token })).status).toBe(200);
  expect(await stored(account, id)).not.toHaveProperty("email");
});

test.each([
  { email: undefined },
  { email: "eve@example.com", email_verified: false },
  { email: "eve@example.com", email_verified: "false" },
])("an address that the issuer does not vouch for is not stored: %j", async (claims) => {
  const account = await newAccount();
  const { id } = await memberWithoutProfile(account);
  expect((await addTag(account, tokenOf(id, { ...claims, given_name: "Eve" }), "one")).status).toBe(201);
  const record = await stored(account, id);
  expect(record).toMatchObject({ first_name: "Eve" });
  expect(record).not.toHaveProperty("email");
});

test("a service account has no profile, and neither has a stranger", async () => {
  const account = await newAccount();
  const service = await newServiceAccount(account, { role: "manager" });
  expect((await addTag(account, service.token, "one")).status).toBe(201);
  expect(await stored(account, service.id, "service_account")).not.toHaveProperty("email");
  const stranger = newUser();
  expect((await addTag(account, stranger.token, "two")).status).toBe(404);
  expect(await stored(account, stranger.id)).toBeUndefined();
});

test("a profile survives grants and revocations, and is deleted with the last permission", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/auth/role-assignments`;
  const { id } = await memberWithoutProfile(account);
  await addTag(account, tokenOf(id, { email: "ada@example.com" }), "one");
  const owner = { token: account.owner.token };
  const body = { subject_id: id, subject_type: "user", role_key: "billing_viewer" };
  expect((await request("POST", path, { ...owner, body })).status).toBe(201);
  expect(await stored(account, id)).toMatchObject({ email: "ada@example.com" });
  for (const { id: assignment } of (await request("GET", path, owner)).body)
    expect((await request("DELETE", `${path}/${assignment}`, owner)).status).toBe(200);
  expect(await stored(account, id)).toBeUndefined();
});

test("the first owner's address is stored with the account", async () => {
  const account = await newAccount();
  expect(await stored(account, account.owner.id)).toMatchObject({ email: account.owner.email });
});
