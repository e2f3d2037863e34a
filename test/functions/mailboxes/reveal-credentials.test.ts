import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { mailboxKey } from "../../../shared/mail/mailboxes/mailbox.ts";
import { added, at, home, isOwnPassword, send, storedMailbox } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { statusesOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newMember, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const { id } = await added(account, name);
  const reveal = (options = {}, ref = id) => send(account, "POST", at(ref, "/reveal-credentials"), undefined, options);
  return { account, name, id, reveal };
}

test("shows the login data once, and then only the hash and the tag of the password are stored", async () => {
  const { account, name, id, reveal } = await scene();
  const before = await storedMailbox(account, id);
  const shown = await reveal();
  expect(shown.status).toBe(200);
  expect(shown.body).toEqual({
    mailbox_id: id,
    email: `ada@${name}`,
    username: `ada@${name}`,
    password: expect.stringMatching(/^[a-km-zA-HJ-NP-Z2-9]{20}$/),
    smtp: { host: expect.stringMatching(/\./), ports: [465, 587] },
    imap: { host: expect.stringMatching(/\./), ports: [993] },
    pop: { host: expect.stringMatching(/\./), ports: [995] },
    revealed_at: expect.stringMatching(/\.\d{3}Z$/),
  });
  expect(shown.headers["cache-control"]).toBe("no-store");
  const after = await storedMailbox(account, id);
  expect(before.login.sealed).toBeDefined();
  expect(after.login).toEqual({ hash: before.login.hash, tag: before.login.tag });
  expect(await isOwnPassword(account, shown.body.password, after.login.hash)).toBe(true);
  expect((await reveal()).body).toMatchObject({ status: 409, code: "secret_already_shown" });
  const changes = await recorded(account);
  expect(changes[0]).toMatchObject({ type: "mailbox.credentials_revealed", resource_id: id });
  expect(JSON.stringify(changes)).not.toContain(shown.body.password);
});

test("of fifty calls at the same time, one gets the password", async () => {
  const { reveal, name } = await scene();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => reveal({}, index % 2 ? `ADA@${name}` : undefined)),
  );
  expect(statusesOf(answers)).toEqual([200, ...Array(49).fill(409)]);
  const refused = answers.filter(({ status }) => status === 409).map(({ body }) => body.code);
  expect(new Set(refused)).toEqual(new Set(["secret_already_shown"]));
});

test("a repeat with the same idempotency key gets `secret_already_shown`, and not the password", async () => {
  const { reveal } = await scene();
  const headers = { "idempotency-key": randomUUID() };
  const shown = await reveal({ headers });
  const again = await reveal({ headers });
  expect(again.body).toMatchObject({ status: 409, code: "secret_already_shown" });
  expect(again.text).not.toContain(shown.body.password);
});

test("a reveal during a rotation shows the old or the new password, or is refused and the new one can still be revealed", async () => {
  const { account, id, reveal } = await scene();
  const [shown, rotated] = await Promise.all([reveal(), send(account, "POST", at(id, "/rotate-password"))]);
  expect(rotated.status).toBe(200);
  const { login } = await storedMailbox(account, id);
  if (shown.status === 200) {
    expect(await isOwnPassword(account, shown.body.password, login.hash)).toBe(login.sealed === undefined);
  } else {
    expect([shown.status, login.sealed === undefined]).toEqual([409, false]);
  }
});

test("a sealed password that cannot be decrypted stays stored after the failed reveal", async () => {
  const { account, id, reveal } = await scene();
  const { login } = await storedMailbox(account, id);
  const broken = { ...login, sealed: `${login.sealed?.slice(0, -8)}AAAAAAAA` };
  await testTable().attempt({ update: mailboxKey(account.id, id), set: { login: broken } });
  expect((await reveal()).status).toBeGreaterThanOrEqual(500);
  expect((await storedMailbox(account, id)).login.sealed).toBe(broken.sealed);
  await testTable().attempt({ update: mailboxKey(account.id, id), set: { login } });
  expect((await reveal()).status).toBe(200);
});

test("the sealed password of one mailbox cannot be decrypted in another mailbox of the account", async () => {
  const { account, name, id, reveal } = await scene();
  const other = await added(account, name, "bob");
  const { login } = await storedMailbox(account, id);
  const { login: theirs } = await storedMailbox(account, other.id);
  const swapped = { ...theirs, sealed: login.sealed };
  await testTable().attempt({ update: mailboxKey(account.id, other.id), set: { login: swapped } });
  expect((await reveal({}, other.id)).status).toBeGreaterThanOrEqual(500);
  expect((await reveal()).status).toBe(200);
});

test("needs mailbox.reveal on the mailbox; other capabilities are not enough", async () => {
  const { account, name, id, reveal } = await scene();
  const other = await added(account, name, "bob");
  const scope = { type: "mailbox" as const, id };
  const editor = await newMember(
    account,
    { role: "viewer" },
    { capability: "mailbox.update" },
    { capability: "mailbox.create" },
  );
  expect((await reveal({ as: editor })).body).toMatchObject({ status: 403, required_capability: "mailbox.reveal" });
  const revealer = await newMember(account, { capability: "mailbox.reveal", scope });
  expect((await reveal({ as: revealer }, other.id)).status).toBe(404);
  expect((await reveal({ as: revealer })).status).toBe(200);
});

test("shows the login data of a paused mailbox, but not in a suspended account", async () => {
  const { account, id, reveal } = await scene();
  await send(account, "PATCH", at(id, "/active"), { active: false });
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await reveal()).body.code).toBe("account_suspended");
  await setAccountStatus(testTable(), account.id, "active", new Date());
  expect((await reveal()).status).toBe(200);
});
