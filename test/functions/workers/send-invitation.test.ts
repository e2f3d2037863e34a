import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/send-invitation.ts";
import { workers } from "../../../infra/entry-points.ts";
import { callTargets } from "../../../infra/local/events/event-target.ts";
import { invitationKind } from "../../../shared/access/invitations/invitation.ts";
import { asOwner } from "../../support/auth.ts";
import { stranger } from "../../support/forwarding.ts";
import { accepting, inviting, lastInvitation } from "../../support/invitations.ts";
import { newAccount, newUser } from "../../support/world.ts";

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
