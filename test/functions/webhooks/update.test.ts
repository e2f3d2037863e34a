import { expect, test } from "vitest";

import { call } from "../../support/webhooks.ts";
import { newAccount, newMember } from "../../support/world.ts";

const url = "https://example.com/hooks";

async function scene(...event_types: string[]) {
  const account = await newAccount();
  const { secret: _, ...webhook } = (await call(account, "POST", "", { url, event_types, description: "Ours" })).body;
  return { account, webhook, update: (body: unknown) => call(account, "PATCH", `/${webhook.id}`, body) };
}

test("changes the given members and nothing else", async () => {
  const { account, webhook, update } = await scene("workspace.*");
  const updated_at = expect.stringMatching(/Z$/);
  const elsewhere = { url: "https://example.org/", event_types: ["auth.*", "account.updated"] };
  expect((await update(elsewhere)).body).toEqual({ ...webhook, ...elsewhere, updated_at });
  expect((await update({ description: null })).body).toEqual({
    ...webhook,
    ...elsewhere,
    description: null,
    updated_at,
  });
  expect((await call(account, "GET", `/${webhook.id}`)).body).toMatchObject({ ...elsewhere, description: null });
});

test("disables and enables a webhook, and shows the reason and the time of its disabling", async () => {
  const { update } = await scene("workspace.*");
  const disabled = (await update({ active: false })).body;
  expect(disabled).toMatchObject({ status: "disabled", disabled_reason: "by_user", disabled_at: disabled.updated_at });
  const again = (await update({ active: false })).body;
  expect(again.disabled_at).toBe(disabled.disabled_at);
  expect((await update({ active: true })).body).toMatchObject({
    status: "active",
    disabled_reason: null,
    disabled_at: null,
  });
});

test("without access to all its events, a caller can disable a webhook, but not enable it or change its URL", async () => {
  const { account, webhook } = await scene("*");
  const member = await newMember(account, { role: "manager" });
  const update = (body: unknown) => call(account, "PATCH", `/${webhook.id}`, body, member);
  const narrower = { event_types: ["workspace.*"] };
  const elsewhere = { url: "https://example.net/" };
  for (const body of [
    elsewhere,
    { event_types: ["auth.*"] },
    narrower,
    { ...elsewhere, ...narrower },
    { active: true },
  ]) {
    const refused = (await update(body)).body;
    expect(refused).toMatchObject({ code: "would_escalate" });
    expect(refused.missing).toContain("auth.manage");
  }
  expect((await call(account, "GET", `/${webhook.id}`)).body).toEqual(webhook);
  expect((await update({ active: false, description: "Paused" })).status).toBe(200);
});

test.each([
  [{ url: "http://example.com/" }, ["body", "url"]],
  [{ event_types: ["*", "workspace.exploded"] }, ["body", "event_types", 1]],
  [{ url: null }, ["body", "url"]],
  [{ active: "no" }, ["body", "active"]],
  [{ status: "active" }, ["body", "status"]],
])("refuses %j", async (body, loc) => {
  const { update } = await scene("workspace.*");
  const answer = await update(body);
  expect([answer.status, answer.body.detail[0].loc]).toEqual([422, loc]);
});

test("an event type that is given twice is stored once, in a new webhook and in a change", async () => {
  const { account, webhook, update } = await scene("auth.*", "workspace.*", "auth.*");
  expect(webhook.event_types).toEqual(["auth.*", "workspace.*"]);
  expect((await update({ event_types: ["domain.*", "domain.*"] })).body.event_types).toEqual(["domain.*"]);
  expect((await call(account, "GET", `/${webhook.id}`)).body.event_types).toEqual(["domain.*"]);
});
