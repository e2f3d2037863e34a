import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { call, keepingReceiver, verified } from "../../support/webhooks.ts";
import { newAccount } from "../../support/world.ts";

async function scene(status: number) {
  const account = await newAccount();
  const { url, received } = await keepingReceiver(() => ({ status }));
  const { secret, ...webhook } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  return { account, received, secret: secret as string, webhook, path: `/${webhook.id}` };
}

test("sends a signed webhook.test event whatever the webhook's event types, and returns its delivery", async () => {
  const { account, received, secret, webhook, path } = await scene(200);
  const { body: delivery } = await call(account, "POST", `${path}/test`);
  const [sent, ...more] = received;
  if (!sent) throw new Error("nothing came");
  expect(more).toEqual([]);
  expect(verified(secret, sent)).toMatchObject({
    id: delivery.id,
    type: "webhook.test",
    actor: { type: "user", id: account.owner.id },
    data: webhook,
  });
  expect(sent.body).not.toMatch(/sealed|whsec_/);
  expect(delivery).toMatchObject({
    webhook_id: webhook.id,
    event_type: "webhook.test",
    status: "succeeded",
    attempts: [{ status_code: 200, error: null }],
    attempt_count: 1,
    next_attempt_at: null,
  });
  expect((await call(account, "GET", `${path}/deliveries`)).body.items).toEqual([delivery]);
});

test("shows the failure of a receiver, plans no other attempt, and does not disable the webhook", async () => {
  for (const status of [500, 410]) {
    const { account, path } = await scene(status);
    const { status: answered, body } = await call(account, "POST", `${path}/test`);
    expect(answered).toBe(200);
    expect(body).toMatchObject({
      status: "failed",
      attempts: [{ status_code: status, error: "unsuccessful_status" }],
      next_attempt_at: null,
    });
    expect((await call(account, "GET", path)).body.status).toBe("active");
  }
});

test("a disabled webhook can be tested, and the test is recorded with its actor", async () => {
  const { account, received, path } = await scene(204);
  await call(account, "PATCH", path, { active: false });
  expect((await call(account, "POST", `${path}/test`)).body.status).toBe("succeeded");
  expect(received).toHaveLength(1);
  const changes = (await storedOf(account)).filter(({ type }) => type === "webhook.tested");
  expect(changes).toMatchObject([{ actor_id: account.owner.id, action: "webhooks.test" }]);
});
