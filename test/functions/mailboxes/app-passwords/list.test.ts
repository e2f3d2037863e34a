import { expect, test } from "vitest";

import { at, home, send, stocked } from "../../../support/mailboxes.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newMember } from "../../../support/world.ts";

async function scene() {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [id = "", other = ""] = await stocked(account, name, ["ada", "bob"]);
  const add = async (label: string, mailbox = id): Promise<string> =>
    (await send(account, "POST", at(mailbox, "/app-passwords"), { name: label, protocols: ["imap"] })).body.id;
  const list = (query = "", options = {}) => send(account, "GET", at(id, `/app-passwords${query}`), undefined, options);
  return { account, name, id, other, add, list };
}

test("lists the app passwords of only this mailbox, oldest first, page by page, without the passwords", async () => {
  const { other, add, list } = await scene();
  const ids = [await add("One"), await add("Two"), await add("Three")];
  await add("Another's", other);
  const { status, body, text } = await list();
  expect([status, body.total, body.items.map((item: { id: string }) => item.id)]).toEqual([200, 3, ids]);
  expect(text).not.toMatch(/hash|tag|secret/);
  const second = (await list("?page=2&page_size=2")).body;
  expect(second).toMatchObject({ items: [{ id: ids[2] }], page: 2, page_size: 2, total: 3 });
  expect((await list("?page=4&page_size=2")).body).toMatchObject({ items: [], total: 3 });
});

test("accepts the mailbox's address, and gives 404 for an address without a mailbox", async () => {
  const { account, name, add } = await scene();
  await add("One");
  const of = (ref: string) => send(account, "GET", at(ref, "/app-passwords"));
  expect((await of(`ada@${name}`)).body.total).toBe(1);
  expect((await of(`bob@${name}`)).body).toMatchObject({ items: [], total: 0 });
  expect((await of(`nobody@${name}`)).body.code).toBe("not_found");
});

test("needs mailbox.reveal on the mailbox", async () => {
  const { account, id, other, list } = await scene();
  const viewer = await newMember(account, { role: "editor" });
  expect((await list("", { as: viewer })).body).toMatchObject({ status: 403, required_capability: "mailbox.reveal" });
  const scoped = (mailbox: string) => ({ type: "mailbox" as const, id: mailbox });
  const elsewhere = await newMember(account, { capability: "mailbox.reveal", scope: scoped(other) });
  expect((await list("", { as: elsewhere })).status).toBe(404);
  const theirs = await newMember(account, { capability: "mailbox.reveal", scope: scoped(id) });
  expect((await list("", { as: theirs })).status).toBe(200);
});
