import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { tablesOf, type Table } from "../../../infra/mail-server/adapter/maps.ts";
import { agreedRule } from "../../support/forwarding.ts";
import { serveMailRoutes } from "../../support/mail-server.ts";
import { added, home } from "../../support/mailboxes.ts";
import { newAccount, type Account } from "../../support/world.ts";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
});
afterAll(() => mailRoutes.stop());

/** A table of Postfix, by an adapter that has no answers yet. */
const table = (name: string): Table =>
  tablesOf(openApi({ api: mailRoutes.base, mail_key: process.env["MAIL_SECRET"] ?? "" }))[name] as Table;

/** A domain of a new account with one mailbox. `user` is the name of the mailbox for Dovecot. */
async function place(
  local: string,
): Promise<{ account: Account; name: string; address: string; id: string; user: string }> {
  const account = await newAccount();
  const { name } = await home(account);
  const { id } = await added(account, name, local);
  return { account, name, address: `${local}@${name}`, id, user: `${id}@${account.id}` };
}

/** Where Postfix sends the mail to an address. Looks each result up again, as Postfix does. */
async function expanded(address: string): Promise<string[]> {
  const route = table("route");
  const once = (await route(address))?.split(", ") ?? [];
  const again = await Promise.all(once.map(async (one) => (await route(one)) ?? one));
  expect(again).toEqual(once);
  return once.toSorted();
}

describe("the route of mail that is forwarded between accounts", () => {
  test("reaches each mailbox once if both keep their mail", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id });
    await agreedRule(bob.account, ada.address, { mailbox: bob.id });
    const both = [ada.user, bob.user].toSorted();
    expect(await expanded(ada.address)).toEqual(both);
    expect(await expanded(bob.address)).toEqual(both);
  });

  test("ends at the other mailbox if neither keeps its mail", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, ada.address, { mailbox: bob.id, keep_copy: false });
    expect(await expanded(ada.address)).toEqual([bob.user]);
    expect(await expanded(bob.address)).toEqual([ada.user]);
  });

  test("ends at one mailbox if the way back is by an address with a tag", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, `ada+lists@${ada.name}`, { mailbox: bob.id, keep_copy: false });
    for (const to of [ada, bob]) expect(await expanded(to.address)).toHaveLength(1);
  });

  test("ends at a mailbox, also through an address that no mailbox has", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, `sales@${bob.name}`, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, ada.address, { address: "sales", domain: bob.name });
    expect(await expanded(ada.address)).toEqual([ada.user]);
    expect(await expanded(`sales@${bob.name}`)).toEqual([ada.user]);
  });

  test("leaves for an address elsewhere through both accounts", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, "carol@elsewhere.example.org", { mailbox: bob.id, keep_copy: false });
    expect(await expanded(ada.address)).toEqual(["carol@elsewhere.example.org"]);
  });
});
