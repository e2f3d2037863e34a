import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { stranger } from "../../../support/forwarding.ts";
import { accepting, invited } from "../../../support/invitations.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newUser } from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };
const person = (email: string) => newUser({ email });

test("an accepted invitation cannot be revoked, and a revoked one can be revoked again", async () => {
  const account = await newAccount();
  const email = stranger();
  const used = await invited(account, { email, ...viewing });
  await accepting(used, person(email));
  const path = (id: string) => `/v1/public/accounts/${account.id}/auth/invitations/${id}`;
  const { token } = account.owner;
  expect(await request("DELETE", path(used.id), { token })).toMatchObject({
    status: 409,
    body: { code: "invitation_used" },
  });
  const open = await invited(account, { email: stranger(), ...viewing });
  expect((await request("DELETE", path(open.id), { token })).status).toBe(200);
  expect((await request("DELETE", path(open.id), { token })).status).toBe(200);
  expect((await request("DELETE", path(randomUUID()), { token })).status).toBe(404);
});
