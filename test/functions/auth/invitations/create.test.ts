import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { sendInvitation } from "../../../../shared/access/invitations/send.ts";
import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { MailRefused } from "../../../../shared/providers/mail/mail.ts";
import { asOwner } from "../../../support/auth.ts";
import { sendWork, stranger } from "../../../support/forwarding.ts";
import { invited, inviting, lastInvitation } from "../../../support/invitations.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, testTable } from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };

describe("the mail", () => {
  test("names the account and the inviter, and has a token that the list of invitations does not show", async () => {
    const account = await newAccount({ name: 'Acme <b>"Mail"</b>' });
    const email = stranger();
    const { id } = await invited(account, { email, ...viewing, message: "Come in & see http://evil.example" });
    const mail = await lastInvitation(email);
    expect(mail.subject).toBe("You are invited to an account at Hosted Mail");
    expect(mail.text).toContain('Acme <b>"Mail"</b>');
    expect(mail.text).toContain(account.owner.email);
    expect(mail.html).not.toContain("<b>");
    expect(mail.html).not.toContain('href="http://evil');
    const list = await request("GET", `/v1/public/accounts/${account.id}/auth/invitations`, {
      token: account.owner.token,
    });
    expect(list.text).not.toContain(mail.token);
    expect(list.body.items[0]).toMatchObject({ id, mail_status: "sent", invited_by_email: account.owner.email });
  });

  test("is sent once, even if its event arrives again", async () => {
    const account = await newAccount();
    const email = stranger();
    const { id, token } = await invited(account, { email, ...viewing });
    await sendInvitation(account.id, id, sendWork());
    expect((await lastInvitation(email)).token).toBe(token);
  });

  test("is not sent if the invitation is already revoked", async () => {
    const account = await newAccount();
    const email = stranger();
    const { body } = await inviting(account, email, viewing);
    await asOwner(account, "DELETE", `invitations/${body.id}`);
    await sendInvitation(account.id, body.id, sendWork());
    await expect(lastInvitation(email)).rejects.toThrow("nothing was sent");
  });

  test.each([
    ["active", "sent"],
    ["past_due", "sent"],
    ["suspended", "queued"],
    ["closed", "queued"],
  ] as const)("of an account that is %s by then has the status `%s`", async (accountStatus, mail_status) => {
    const account = await newAccount();
    const { body } = await inviting(account, stranger(), viewing);
    await setAccountStatus(testTable(), account.id, accountStatus, new Date());
    await sendInvitation(account.id, body.id, sendWork());
    expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ mail_status });
  });

  test("is limited to one per minute and address", async () => {
    const account = await newAccount();
    const email = stranger();
    await inviting(account, email, viewing);
    const path = `/v1/public/accounts/${account.id}/auth/invitations`;
    const again = await request("POST", path, { token: account.owner.token, body: { email, ...viewing } });
    expect(again).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    expect((await asOwner(account, "GET", "invitations")).total).toBe(1);
  });
});

describe("the worker that sends the mail", () => {
  const failing = (error: Error) => ({ mail: { send: () => Promise.reject(error) } });

  test("leaves the mail queued if sending fails, and the next worker sends it", async () => {
    const account = await newAccount();
    const email = stranger();
    const { body } = await inviting(account, email, viewing);
    const dead = sendWork(new Date(), failing(new Error("no answer")));
    await expect(sendInvitation(account.id, body.id, dead)).rejects.toThrow("no answer");
    expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ mail_status: "queued" });
    await sendInvitation(account.id, body.id, sendWork());
    expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ mail_status: "sent" });
  });

  test("keeps other workers from the mail for one minute if it dies", async () => {
    const account = await newAccount();
    const email = stranger();
    const { body } = await inviting(account, email, viewing);
    const start = new Date();
    await new Promise<void>((reached) => {
      // This worker never returns from `send`.
      const send = (): Promise<void> => {
        reached();
        return new Promise(() => {});
      };
      void sendInvitation(account.id, body.id, sendWork(start, { mail: { send } }));
    });
    const workAfter = (seconds: number) => sendWork(new Date(start.getTime() + seconds * 1_000));
    await expect(sendInvitation(account.id, body.id, workAfter(59))).rejects.toThrow("Another worker");
    await sendInvitation(account.id, body.id, workAfter(61));
    expect((await lastInvitation(email)).token).not.toBe("");
  });

  test("records that the recipient's server refused the mail", async () => {
    const account = await newAccount();
    const { body } = await inviting(account, stranger(), viewing);
    await sendInvitation(account.id, body.id, sendWork(new Date(), failing(new MailRefused("no such user"))));
    expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ mail_status: "refused" });
  });
});

test("nobody offers permissions that they do not hold", async () => {
  const account = await newAccount();
  const admin = await newMember(account, { capability: "auth.manage" }, { role: "viewer" });
  const refused = [
    { account_owner: true },
    { roles: [{ role_key: "manager" }] },
    { grants: [{ capability_key: "billing.manage" }] },
  ];
  for (const given of refused) {
    const answer = await inviting(account, stranger(), given, admin);
    expect(answer).toMatchObject({ status: 403, body: { code: "would_escalate" } });
  }
  expect((await inviting(account, stranger(), viewing, admin)).status).toBe(201);
  const plain = await newMember(account, { role: "manager" });
  expect((await inviting(account, stranger(), viewing, plain)).status).toBe(403);
});

describe("bad input changes nothing", () => {
  const wrong: [string, Record<string, unknown>, (string | number)[]][] = [
    ["no access", {}, ["body", "roles"]],
    ["an owner with a role", { account_owner: true, ...viewing }, ["body", "account_owner"]],
    ["no address", { email: "ada", ...viewing }, ["body", "email"]],
    ["an unknown role", { roles: [{ role_key: "king" }] }, ["body", "roles", 0, "role_key"]],
    [
      "a resource that is not there",
      {
        roles: [{ role_key: "viewer" }, { role_key: "viewer", resource_type: "workspace", resource_id: randomUUID() }],
      },
      ["body", "roles", 1, "resource_id"],
    ],
    [
      "an account capability on a workspace",
      { grants: [{ capability_key: "billing.view", resource_type: "workspace", resource_id: randomUUID() }] },
      ["body", "grants", 0, "capability_key"],
    ],
    ["more than ten roles", { roles: Array.from({ length: 11 }, () => ({ role_key: "viewer" })) }, ["body", "roles"]],
  ];
  test.each(wrong)("%s", async (_, given, loc) => {
    const account = await newAccount();
    const answer = await inviting(account, "ada@elsewhere.example.com", given);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
    expect((await asOwner(account, "GET", "invitations")).total).toBe(0);
  });
});
