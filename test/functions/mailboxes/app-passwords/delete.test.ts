import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { at, home, send, stocked } from "../../../support/mailboxes.ts";
import { recorded } from "../../../support/recorded.ts";
import { statusesOf } from "../../../support/request.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newAccount, newMember } from "../../../support/world.ts";

async function scene() {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [id = "", other = ""] = await stocked(account, name, ["ada", "bob"]);
  const add = async (mailbox = id) =>
    (await send(account, "POST", at(mailbox, "/app-passwords"), { name: "Phone", protocols: ["imap"] })).body;
  const remove = (own: string, options = {}, mailbox = id) =>
    send(account, "DELETE", at(mailbox, `/app-passwords/${own}`), undefined, options);
  const left = async (): Promise<string[]> =>
    (await send(account, "GET", at(id, "/app-passwords"))).body.items.map((item: { id: string }) => item.id);
  return { account, name, id, other, add, remove, left };
}

test("deletes an app password once, and keeps the others", async () => {
  const { account, add, remove, left } = await scene();
  const [{ id: gone, generated_secret: _, ...shown }, { id: kept }] = [await add(), await add()];
  expect((await remove(gone)).body).toEqual({});
  expect((await remove(gone)).body.code).toBe("not_found");
  expect(await left()).toEqual([kept]);
  expect(await recorded(account, "app_password.deleted")).toMatchObject([
    { resource_id: gone, before: { id: gone, ...shown } },
  ]);
});

test("deletions at the same time delete each app password once, and restore none", async () => {
  const { add, remove, left } = await scene();
  const [one, two, three] = [await add(), await add(), await add()];
  const answers = await Promise.all([remove(one.id), remove(one.id), remove(one.id), remove(two.id)]);
  expect(statusesOf(answers)).toEqual([200, 200, 404, 404]);
  expect(await left()).toEqual([three.id]);
});

test("404 for another mailbox's or another account's app password, 422 for an invalid id, and 403 without mailbox.reveal", async () => {
  const { account, id, other, add, remove, left } = await scene();
  const mine = await add();
  const theirs = await add(other);
  for (const wrong of [theirs.id, randomUUID()]) expect((await remove(wrong)).body.code).toBe("not_found");
  expect((await remove("x")).body.detail[0].loc).toEqual(["path", "app_password_id"]);
  const stranger = await newAccount();
  expect((await send(stranger, "DELETE", at(id, `/app-passwords/${mine.id}`))).status).toBe(404);
  expect(await left()).toEqual([mine.id]);
  const editor = await newMember(account, { role: "editor" });
  expect((await remove(mine.id, { as: editor })).body.required_capability).toBe("mailbox.reveal");
});
