import { expect, test } from "vitest";

import { send } from "../../support/mailboxes.ts";
import { accountWithAddress } from "../../support/notices.ts";
import { grant, newUser } from "../../support/world.ts";

test("by default the owners get all mails, and an owner without a known address is shown with null as the email", async () => {
  const { account, address } = await accountWithAddress();
  // The account does not know the address of a user who is given access by id.
  const other = { id: newUser().id };
  await grant(account, other, { owner: true });
  expect((await send(account, "GET", "notices")).body).toEqual({
    muted: [],
    readers: [],
    recipients: [
      { user_id: account.owner.id, email: address, owner: true },
      { user_id: other.id, email: null, owner: true },
    ],
  });
});
