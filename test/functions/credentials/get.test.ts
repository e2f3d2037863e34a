import { expect, test } from "vitest";

import { credentials } from "../../../shared/mail/credentials/credential.ts";
import { scopedKey } from "../../../shared/mail/scoped/family.ts";
import { send } from "../../support/mailboxes.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const made = await send(account, "POST", "credentials", { name: "Relay", generate: true });
  const { generated_secret: secret, ...credential } = made.body;
  const read = (options = {}) => send(account, "GET", `credentials/${credential.id}`, undefined, options);
  return { account, made, secret, credential, read };
}

test("shows a master password without its secret, and Location leads to it", async () => {
  const { account, made, secret, credential, read } = await scene();
  const { status, body, text } = await read();
  expect([status, body]).toEqual([200, credential]);
  expect(text).not.toContain(secret);
  expect(made.headers["location"]).toBe(`/v1/public/accounts/${account.id}/credentials/${credential.id}`);
});

test("keeps its ETag when somebody logs in with the master password", async () => {
  const { account, credential, read } = await scene();
  const { etag } = (await read()).headers;
  const last_used_at = new Date().toISOString();
  await testTable().attempt({ update: scopedKey(credentials, account.id, credential.id), set: { last_used_at } });
  const later = await read();
  expect([later.body.last_used_at, later.headers["etag"]]).toEqual([last_used_at, etag]);
});

test("is refused for a caller who can see only other things of the account", async () => {
  const { account, read } = await scene();
  expect((await read({ as: await newMember(account, { capability: "mailbox.view" }) })).status).toBe(403);
  expect((await read({ as: await newMember(account, { capability: "credential.view" }) })).status).toBe(200);
});
