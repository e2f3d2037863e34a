import { expect, test } from "vitest";

import { send } from "../../support/mailboxes.ts";
import { accountWithAddress } from "../../support/notices.ts";
import { grant, newUser } from "../../support/world.ts";

test("by default the owners get all mails, and an owner without a known address is shown with null as the email", async () => {
  const { account, address } = await accountWithAddress();
  const { id } = newUser();
  const other = { id };
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
