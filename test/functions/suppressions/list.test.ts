import { expect, test } from "vitest";

import { send } from "../../support/mailboxes.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("finds an address in any spelling, and no suppression of another account", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const email of ["a@far.example", "b@far.example"]) await send(account, "POST", "suppressions", { email });
  const find = async (one: typeof account, email: string, more = "") =>
    (await send(one, "GET", `suppressions?email=${encodeURIComponent(email)}${more}`)).body;
  expect(await find(account, " B@FAR.example")).toMatchObject({ total: 1, items: [{ email: "b@far.example" }] });
  expect(await find(account, "b@far.example", "&page=2")).toMatchObject({ total: 1, items: [] });
  expect(await find(account, "c@far.example")).toMatchObject({ total: 0, items: [] });
  expect(await find(other, "b@far.example")).toMatchObject({ total: 0, items: [] });
  const { status, body } = await send(account, "GET", "suppressions?email=b");
  expect([status, body.detail[0].loc]).toEqual([422, ["query", "email"]]);
});

test("lists in the order of addition, or in reverse", async () => {
  const account = await newAccount();
  const emails = ["c@far.example", "a@far.example", "b@far.example"];
  for (const email of emails) await send(account, "POST", "suppressions", { email });
  const list = async (query: string): Promise<string[]> =>
    (await send(account, "GET", `suppressions?${query}`)).body.items.map(({ email }: { email: string }) => email);
  expect(await list("")).toEqual(emails);
  expect(await list("order=desc&page_size=2")).toEqual(emails.toReversed().slice(0, 2));
});

test("needs suppression.view", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "mailbox.view" });
  expect((await send(account, "GET", "suppressions", undefined, { as: member })).status).toBe(403);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await send(account, "GET", "suppressions", undefined, { as: viewer })).status).toBe(200);
});
