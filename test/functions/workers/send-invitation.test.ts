import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test } from "vitest";

import { handler } from "../../../functions/workers/send-invitation.ts";
import { workers } from "../../../infra/entry-points.ts";
import { callTargets } from "../../../infra/local/events/event-target.ts";
import { invitationKind, type Invitation } from "../../../shared/access/invitations/invitation.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { minuteMs, setClockAhead } from "../../../shared/core/time.ts";
import { asOwner } from "../../support/auth.ts";
import { stranger } from "../../support/forwarding.ts";
import { accepting, inviting, lastInvitation } from "../../support/invitations.ts";
import { newAccount, newUser, testTable } from "../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };
const eventOf = (account_id: string, id: string) => ({
  detail: { account_id, resource: { type: "auth.invitation", id }, data: {} },
});

test("sends the mail of an invitation, with a link by which the recipient can accept the invitation", async () => {
  const account = await newAccount();
  const email = stranger();
  const { body } = await inviting(account, email, viewing);
  await handler(eventOf(account.id, body.id));
  await handler(eventOf(account.id, body.id));
  const { text, token } = await lastInvitation(email);
  expect(text).toContain(`http://127.0.0.1:8080/invitation#${token}`);
  expect((await accepting({ token }, newUser({ email }))).status).toBe(200);
});

test("throws if the mail cannot be sent now, so that the event comes again", async () => {
  const account = await newAccount();
  const { body } = await inviting(account, stranger("silent-ada"), viewing);
  await expect(handler(eventOf(account.id, body.id))).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ mail_status: "queued" });
});

test("an invitation whose account was suspended before the mail stays `queued`, and is mailed when it is sent again", async () => {
  const account = await newAccount();
  const email = stranger();
  const { body } = await inviting(account, email, viewing);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  await handler(eventOf(account.id, body.id));
  await setAccountStatus(testTable(), account.id, "active", new Date());
  const mailStatuses = async () =>
    (await asOwner(account, "GET", "invitations")).items.map((one: Invitation) => one.mail_status);
  expect(await mailStatuses()).toEqual(["queued"]);
  setClockAhead(minuteMs);
  onTestFinished(() => setClockAhead(0));
  expect((await inviting(account, email, viewing)).body.id).toBe(body.id);
  await handler(eventOf(account.id, body.id));
  expect(await mailStatuses()).toEqual(["sent"]);
  expect((await lastInvitation(email)).token).not.toBe("");
});

test("is called only for created and replaced invitations, and also by the local event bus", async () => {
  const { source } = workers.find(({ name }) => name === "workers.send_invitation") ?? {};
  const types = ["created", "replaced"].map((verb) => `${invitationKind.name}.${verb}`);
  expect(source).toEqual({ events: types });
  for (const type of types) {
    const account = await newAccount();
    const email = stranger();
    const { body } = await inviting(account, email, viewing);
    const of = { id: randomUUID(), type, timestamp: new Date().toISOString(), actor: { type: "system", id: "test" } };
    const detail = { ...eventOf(account.id, body.id).detail, ...of };
    await callTargets({ "detail-type": type, detail } as unknown as Parameters<typeof callTargets>[0]);
    expect((await lastInvitation(email)).token).not.toBe("");
  }
});
