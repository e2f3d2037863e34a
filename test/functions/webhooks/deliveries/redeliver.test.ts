import { expect, test } from "vitest";

import { dispatch } from "../../../../shared/webhooks/dispatch.ts";
import { redeliver } from "../../../../shared/webhooks/redeliver.ts";
import { readDue } from "../../../../shared/webhooks/schedule.ts";
import { sweep } from "../../../../shared/webhooks/sweep.ts";
import { runFor } from "../../../support/code-context.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { call, eventIn, keepingReceiver, newScene, verified, workOn } from "../../../support/webhooks.ts";
import { newAccount, newMember, testTable } from "../../../support/world.ts";

/** A webhook that was sent one event. The receiver answers with `statuses` in turn, and then with 204. */
async function scene(...statuses: number[]) {
  const account = await newAccount();
  const { url, received } = await keepingReceiver((count) => ({ status: statuses[count - 1] ?? 204 }));
  const { id, secret } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const work = workOn(testTable());
  const event = eventIn(account.id, "workspace.created", work.now());
  await dispatch(event, work);
  const path = `/${id}/deliveries/${event.id}/redeliver`;
  const dueTimes = async () => {
    const all = await readDue(work.table, new Date(Date.now() + 10 * 86_400_000));
    return all.filter((one) => one.id === event.id).map(({ at }) => at);
  };
  return {
    account,
    id,
    received,
    secret: secret as string,
    event,
    path,
    dueTimes,
    again: () => call(account, "POST", path),
  };
}

test("sends the same body with the same id again, and plans no further attempt after a success", async () => {
  const { received, secret, event, dueTimes, again } = await scene(500);
  expect(await dueTimes()).toHaveLength(1);
  const { status, body } = await again();
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: event.id,
    status: "succeeded",
    attempts: [{ status_code: 500 }, { status_code: 204, error: null }],
    attempt_count: 2,
    next_attempt_at: null,
  });
  expect(received.map((one) => verified(secret, one))).toEqual([event, event]);
  expect(received[1]?.body).toBe(received[0]?.body);
  expect(await dueTimes()).toEqual([]);
});

test("a dry run of a program sends nothing", async () => {
  const { account, id, event, received } = await scene();
  const code = `webhooks.deliveries.redeliver(account_id="${account.id}", webhook_id="${id}", delivery_id="${event.id}")`;
  const { dry_run } = await runFor(account.owner, code, { dryRun: true });
  expect(dry_run?.calls).toMatchObject([{ planned: [{ allowed: true }] }]);
  expect(received).toHaveLength(1);
});

test("after a failed attempt the delivery keeps its status and its schedule", async () => {
  const { dueTimes, again } = await scene(500, 503);
  const due = await dueTimes();
  const { body } = await again();
  expect(body).toMatchObject({ status: "pending", attempt_count: 2, next_attempt_at: due[0] });
  expect(await dueTimes()).toEqual(due);
});

test("a succeeded delivery can be sent again, stays succeeded, and the audit log has the caller", async () => {
  const { account, received, again } = await scene(204, 410);
  expect((await again()).body).toMatchObject({ status: "succeeded", attempts: [{}, { status_code: 410 }] });
  expect(received).toHaveLength(2);
  const changes = (await storedOf(account)).filter(({ type }) => type === "webhook.redelivered");
  expect(changes).toMatchObject([{ actor_id: account.owner.id, action: "webhooks.deliveries.redeliver" }]);
  expect((await call(account, "GET", "")).body.items).toMatchObject([{ status: "active" }]);
});

test("shows the last twenty attempts and counts all", async () => {
  const { accountId, context, work, ...on } = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 500 }));
  const webhook = await on.subscribe(url);
  const event = on.event();
  await on.dieAfterCreating(webhook.id, event);
  const place = { account_id: accountId, webhook_id: webhook.id, id: event.id };
  for (let count = 0; count < 22; count++) await redeliver(place, context, work);
  const [delivery] = await on.deliveries(webhook.id);
  expect([delivery?.attempts.length, delivery?.attempt_count, delivery?.status]).toEqual([20, 22, "pending"]);
});

/** Redelivers an event by hand while its second scheduled attempt is running. The first attempt has failed. */
async function redeliveredMeanwhile({ scheduled, manual }: Record<"scheduled" | "manual", number>) {
  const { accountId, context, work, ...on } = await newScene();
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { url, received } = await keepingReceiver((count) => {
    if (count !== 2) return { status: count === 1 ? 503 : manual };
    arrived.resolve();
    return { status: scheduled, after: released.promise };
  });
  const { id: webhook_id } = await on.subscribe(url);
  const event = on.event();
  await dispatch(event, work);
  on.passUntil((await on.deliveries(webhook_id))[0]?.next_attempt_at);
  const sweeping = sweep(work);
  await arrived.promise;
  const byHand = await redeliver({ account_id: accountId, webhook_id, id: event.id }, context, work);
  const others = await sweep(work);
  released.resolve();
  const swept = await sweeping;
  const [delivery] = await on.deliveries(webhook_id);
  const due = await readDue(work.table, new Date(Date.now() + 10 * 86_400_000));
  const next = delivery?.next_attempt_at ?? undefined;
  expect(received).toHaveLength(3);
  expect(due.map(({ at }) => at)).toEqual(next === undefined ? [] : [next]);
  const { status } = await on.find(webhook_id);
  return { byHand: byHand.status, others, swept, delivery, webhook: status, now: work.now() };
}

test.each([204, 500, 410])(
  "a delivery that succeeded by hand stays succeeded after a running attempt that is answered %d, which counts too",
  async (scheduled) => {
    const { byHand, others, swept, delivery, webhook } = await redeliveredMeanwhile({ scheduled, manual: 204 });
    expect([byHand, others, swept, webhook]).toEqual(["succeeded", { due: 0 }, { due: 1, succeeded: 1 }, "active"]);
    const attempts = [{ status_code: 503 }, { status_code: 204 }, { status_code: scheduled }];
    expect(delivery).toMatchObject({ status: "succeeded", attempt_count: 3, attempts, next_attempt_at: null });
  },
);

test.each([
  [204, { status: "succeeded", next_attempt_at: null }],
  [500, { status: "pending", tries: 2 }],
])(
  "an attempt by hand that fails does not end the claim of a running attempt, whose answer %d counts",
  async (scheduled, expected) => {
    const { byHand, others, swept, delivery, now } = await redeliveredMeanwhile({ scheduled, manual: 502 });
    expect([byHand, others, swept]).toEqual(["pending", { due: 1, skipped: 1 }, { due: 1, [expected.status]: 1 }]);
    const attempts = [{ status_code: 503 }, { status_code: 502 }, { status_code: scheduled }];
    const fiveMinutes = new Date(now.getTime() + 300_000).toISOString();
    expect(delivery).toMatchObject({ next_attempt_at: fiveMinutes, ...expected, attempt_count: 3, attempts });
  },
);

test("a caller who may not see an event cannot send it again, even if the webhook's event types changed", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { id } = (await call(account, "POST", "", { url, event_types: ["auth.*", "workspace.*"] })).body;
  const work = workOn(testTable());
  const [secretOne, plainOne] = ["auth.grant.created", "workspace.created"].map((type) =>
    eventIn(account.id, type, work.now()),
  );
  for (const event of [secretOne, plainOne]) if (event) await dispatch(event, work);
  await call(account, "PATCH", `/${id}`, { event_types: ["workspace.*"] });
  const manager = await newMember(account, { role: "manager" });
  const again = (event = secretOne) =>
    call(account, "POST", `/${id}/deliveries/${event?.id}/redeliver`, undefined, manager);
  const sent = received.length;
  expect((await again()).body).toMatchObject({ status: 403, code: "would_escalate", missing: ["auth.manage"] });
  expect(received).toHaveLength(sent);
  expect((await again(plainOne)).status).toBe(200);
});

test("answers 404 for a delivery that is not there or is another webhook's", async () => {
  const { account, event } = await scene();
  const other = (await call(account, "POST", "", { url: "https://example.com/", event_types: ["*"] })).body.id;
  expect((await call(account, "POST", `/${other}/deliveries/${event.id}/redeliver`)).status).toBe(404);
  expect((await call(account, "POST", `/${other}/deliveries/${account.id}/redeliver`)).status).toBe(404);
});
