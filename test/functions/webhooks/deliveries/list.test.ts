import { expect, test } from "vitest";

import { createDelivery, dispatch } from "../../../../shared/webhooks/dispatch.ts";
import { getWebhook } from "../../../../shared/webhooks/webhook.ts";
import { call, eventIn, keepingReceiver, workOn } from "../../../support/webhooks.ts";
import { newAccount, testTable } from "../../../support/world.ts";

test("lists deliveries newest first with an exact total, by status and time, without bodies and secrets", async () => {
  const account = await newAccount();
  const { url } = await keepingReceiver();
  const { id } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const work = workOn(testTable());
  const webhook = await getWebhook(work.table, account.id, id);
  const now = work.now().getTime();
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    work.clock.at = new Date(now + index);
    const event = eventIn(account.id, "workspace.created", work.now(), { data: { name: "Confidential" } });
    if (index % 2 === 0) await dispatch(event, work);
    else await createDelivery(event, webhook, work);
    ids.push(event.id);
  }
  const page = async (query: string) => (await call(account, "GET", `/${id}/deliveries?${query}`)).body;
  const all = await page("page_size=3");
  expect(all).toMatchObject({ items: [{ id: ids[4] }, { id: ids[3] }, { id: ids[2] }], total: 5 });
  expect(JSON.stringify(all)).not.toMatch(/Confidential|sealed|whsec_|lease|version/);
  expect(await page("status=pending&page_size=1&page=2")).toMatchObject({ items: [{ id: ids[1] }], total: 2 });
  expect(await page("status=failed")).toMatchObject({ items: [], total: 0 });
  const third = new Date(now + 2).toISOString();
  expect(await page(`since=${third}`)).toMatchObject({ total: 3 });
  expect(await page(`until=${third}&status=succeeded`)).toMatchObject({ items: [{ id: ids[0] }], total: 1 });
});

test("a retry is shown as failed as soon as its webhook is disabled, and after the webhook is enabled again", async () => {
  const account = await newAccount();
  const { url } = await keepingReceiver(() => ({ status: 503 }));
  const { id } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const work = workOn(testTable());
  const event = eventIn(account.id, "workspace.created", work.now());
  await dispatch(event, work);
  const page = async (query: string) => (await call(account, "GET", `/${id}/deliveries?${query}`)).body;
  expect(await page("status=pending")).toMatchObject({ items: [{ id: event.id, status: "pending" }], total: 1 });
  const { disabled_at } = (await call(account, "PATCH", `/${id}`, { active: false })).body;
  const cancelled = {
    id: event.id,
    status: "failed",
    attempts: [{ status_code: 503 }, { error: "webhook_disabled", attempted_at: disabled_at }],
    attempt_count: 1,
    next_attempt_at: null,
    updated_at: disabled_at,
  };
  const whileDisabled = await Promise.all(["", "status=failed", "status=pending"].map(page));
  expect(whileDisabled).toMatchObject([{ items: [cancelled], total: 1 }, { items: [cancelled] }, { total: 0 }]);
  const again = await call(account, "POST", `/${id}/deliveries/${event.id}/redeliver`);
  expect(again.body).toMatchObject({ status: "failed", attempt_count: 2, next_attempt_at: null });
  await call(account, "PATCH", `/${id}`, { active: true });
  const enabledAgain = { id: event.id, status: "failed", attempt_count: 2, next_attempt_at: null };
  expect(await Promise.all(["", "status=failed", "status=pending"].map(page))).toMatchObject([
    { items: [enabledAgain], total: 1 },
    { items: [enabledAgain] },
    { total: 0 },
  ]);
});

const backwards = "until=2026-03-01T00:00:00Z&since=2026-03-02T00:00:00Z";

test.each(["status=lost", "page_size=101", "since=yesterday", "event_type=x", backwards])(
  "refuses ?%s",
  async (query) => {
    const account = await newAccount();
    const { id } = (await call(account, "POST", "", { url: "https://example.com/", event_types: ["*"] })).body;
    const { status, body } = await call(account, "GET", `/${id}/deliveries?${query}`);
    expect([status, body.detail[0].loc]).toEqual([422, ["query", query.split("=")[0]]]);
  },
);
