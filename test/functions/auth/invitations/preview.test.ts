import { expect, test } from "vitest";

import { stranger } from "../../../support/forwarding.ts";
import { invited, previewing } from "../../../support/invitations.ts";
import { newAccount } from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };

test("the holder of a link sees the account, the inviter and the message, and only a part of the invited address", async () => {
  const account = await newAccount({ name: "Acme" });
  const email = stranger("ada");
  const invitation = await invited(account, { email, ...viewing, message: "Welcome" });
  const { status, body, text } = await previewing(invitation);
  expect([status, body]).toMatchObject([
    200,
    {
      account_name: "Acme",
      email: "a***@e***.com",
      invited_by: account.owner.email,
      message: "Welcome",
      status: "pending",
    },
  ]);
  expect(text).not.toContain(email);
  expect((await previewing({ token: "nothing" })).status).toBe(422);
});
