import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { added, at, home, isOwnPassword, send, setPassword, stocked, storedMailbox } from "../../support/mailboxes.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { name } = await home(account);
  const [id = ""] = await stocked(account, name, ["ada"]);
  const call = (what: string, options = {}) => send(account, "POST", at(id, `/${what}`), undefined, options);
  return {
    account,
    name,
    id,
    rotate: (options = {}) => call("rotate-password", options),
    reveal: () => call("reveal-credentials"),
  };
}

test("makes a new password that can be revealed once, and the old password is not valid any more", async () => {
  const { account, name, id, rotate, reveal } = await scene();
  await setPassword(account, id, "the old password");
  expect((await reveal()).status).toBe(409);
  const old = await storedMailbox(account, id);
  const rotated = await rotate();
  expect([rotated.status, rotated.body]).toEqual([
    200,
    { mailbox_id: id, rotated_at: expect.stringMatching(/\.\d{3}Z$/) },
  ]);
  const { login, updated_at } = await storedMailbox(account, id);
  expect(await isOwnPassword(account, "the old password", login.hash)).toBe(false);
  expect([login.tag === old.login.tag, updated_at]).toEqual([false, rotated.body.rotated_at]);
  const shown = await reveal();
  expect(shown.body).toMatchObject({ mailbox_id: id, email: `ada@${name}` });
  expect(await isOwnPassword(account, shown.body.password, login.hash)).toBe(true);
  expect((await reveal()).body.code).toBe("secret_already_shown");
});

test("a rotation replaces a password that was never revealed", async () => {
  const { account, name, rotate } = await scene();
  const { id } = await added(account, name, "bob");
  const first = (await storedMailbox(account, id)).login;
  await send(account, "POST", at(id, "/rotate-password"));
  const second = (await storedMailbox(account, id)).login;
  expect([second.sealed === first.sealed, second.tag === first.tag]).toEqual([false, false]);
  expect((await rotate()).status).toBe(200);
});

test("after several concurrent rotations, the revealed password is the valid one", async () => {
  const { account, id, rotate, reveal } = await scene();
  expect(statusesOf(await Promise.all([rotate(), rotate(), rotate()]))).toEqual([200, 200, 200]);
  const { password } = (await reveal()).body;
  expect(await isOwnPassword(account, password, (await storedMailbox(account, id)).login.hash)).toBe(true);
});

test("a request that is sent again with its idempotency key does not make another password", async () => {
  const { account, id, rotate } = await scene();
  const headers = { "idempotency-key": randomUUID() };
  const first = await rotate({ headers });
  const { login } = await storedMailbox(account, id);
  const again = await rotate({ headers });
  expect([again.headers["idempotency-replayed"], again.body]).toEqual(["true", first.body]);
  expect((await storedMailbox(account, id)).login).toEqual(login);
});

test("needs mailbox.reveal on the mailbox", async () => {
  const { account, id, rotate } = await scene();
  const scope = { type: "mailbox" as const, id };
  const editor = await newMember(account, { role: "viewer" }, { capability: "mailbox.update" });
  expect((await rotate({ as: editor })).body).toMatchObject({ status: 403, required_capability: "mailbox.reveal" });
  expect((await rotate({ as: await newMember(account, { capability: "mailbox.reveal", scope }) })).status).toBe(200);
});
