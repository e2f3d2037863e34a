import { expect, test } from "vitest";

import { webhookKey } from "../../../shared/webhooks/webhook.ts";
import { afterReading } from "../../support/between.ts";
import { storedOf } from "../../support/entry-points.ts";
import { call, holdsFor, keepingReceiver } from "../../support/webhooks.ts";
import { newAccount, newMember } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { id, secret } = (await call(account, "POST", "", { url, event_types: ["*"] })).body;
  const rotate = (body: unknown) => call(account, "POST", `/${id}/rotate-secret`, body);
  const send = async () => {
    await call(account, "POST", `/${id}/test`);
    const last = received.at(-1);
    if (!last) throw new Error("nothing came");
    return last;
  };
  return { account, first: secret as string, rotate, send };
}

test("shows the new secret once and stores it sealed, and the old secret also signs for a day by default", async () => {
  const { account, first, rotate, send } = await scene();
  const { status, body } = await rotate({});
  expect([status, body.secret === first]).toEqual([200, false]);
  const overlapMs = Date.parse(body.previous_secret_expires_at) - Date.parse(body.updated_at);
  expect(overlapMs).toBe(86_400_000);
  const sent = await send();
  expect([holdsFor(first, sent), holdsFor(body.secret, sent)]).toEqual([true, true]);
  const stored = JSON.stringify(await storedOf(account));
  for (const secret of [first, body.secret]) expect(stored).not.toContain(secret.slice("whsec_".length));
});

test("without overlap only the new secret signs, even if an older secret was still valid", async () => {
  const { first, rotate, send } = await scene();
  const second = (await rotate({ overlap_seconds: 600 })).body.secret;
  const { secret, previous_secret_expires_at } = (await rotate({ overlap_seconds: 0 })).body;
  expect(previous_secret_expires_at).toBeNull();
  const sent = await send();
  expect([first, second, secret].map((one) => holdsFor(one, sent))).toEqual([false, false, true]);
});

test("of many secrets only the last two sign", async () => {
  const { first, rotate, send } = await scene();
  const second = (await rotate({})).body.secret;
  const third = (await rotate({})).body.secret;
  const sent = await send();
  expect([first, second, third].map((one) => holdsFor(one, sent))).toEqual([false, true, true]);
});

test.each([-1, 604_801, 1.5, "60"])("refuses an overlap of %j", async (overlap_seconds) => {
  const { rotate } = await scene();
  const { status, body } = await rotate({ overlap_seconds });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "overlap_seconds"]]);
});

test("a caller who may not see all events of a webhook cannot rotate the webhook's secret", async () => {
  const account = await newAccount();
  const { url } = await keepingReceiver();
  const { id } = (await call(account, "POST", "", { url, event_types: ["*"] })).body;
  const manager = await newMember(account, { role: "manager" });
  const { body } = await call(account, "POST", `/${id}/rotate-secret`, {}, manager);
  expect(body).toMatchObject({ status: 403, code: "would_escalate" });
  expect((await call(account, "GET", `/${id}`)).body.previous_secret_expires_at).toBeNull();
});

test("a rotation is refused if the webhook gets more event types between the check and the rotation", async () => {
  const account = await newAccount();
  const { url } = await keepingReceiver();
  const { id } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const manager = await newMember(account, { role: "manager" });
  const { SK } = webhookKey(account.id, id);
  const { body } = await afterReading(
    (key) => key.SK === SK,
    () => call(account, "PATCH", `/${id}`, { event_types: ["*"] }),
    () => call(account, "POST", `/${id}/rotate-secret`, {}, manager),
  );
  expect(body).toMatchObject({ status: 403, code: "would_escalate" });
});
