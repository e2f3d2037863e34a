import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { issuer, newAccount, newServiceAccount, newSuperAdmin, newUser } from "../../support/world.ts";

const me = async (token: string) => (await request("GET", "/v1/public/me", { token })).body;

test("shows the user's data from the token, and whether the user is a super admin", async () => {
  const plain = newUser();
  expect(await me(plain.token)).toEqual({ id: plain.id, email: `${plain.id}@example.com`, is_super_admin: false });
  const full = newUser({ given_name: "Ada", family_name: "Lovelace", locale: "en-GB" });
  expect(await me(full.token)).toMatchObject({ first_name: "Ada", last_name: "Lovelace", locale: "en-GB" });
});

test("shows that the user is a super admin", async () => {
  expect(await me((await newSuperAdmin()).token)).toMatchObject({ is_super_admin: true });
});

test("gives a service account an address that cannot receive mail", async () => {
  const service = await newServiceAccount(await newAccount(), { role: "viewer" });
  expect(await me(service.token)).toEqual({
    id: service.id,
    email: `${service.publicId}@service-accounts.invalid`,
    is_super_admin: false,
  });
});

test("gives a subject that is no UUID the same UUID every time, and an address when the token has none", async () => {
  const token = () => issuer.mint({ sub: "auth0|ada" });
  const first = await me(token());
  expect(first.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(first.email).toBe(`${first.id}@users.invalid`);
  expect(await me(token())).toEqual(first);
  expect(await me(issuer.mint({ sub: "auth0|bob" }))).not.toMatchObject({ id: first.id });
});
