import { expect, test } from "vitest";

import { deliveryKey } from "../../../shared/webhooks/delivery.ts";
import { dispatch } from "../../../shared/webhooks/dispatch.ts";
import { readDue } from "../../../shared/webhooks/schedule.ts";
import { sweep } from "../../../shared/webhooks/sweep.ts";
import { deleteWebhook, updateWebhook } from "../../../shared/webhooks/webhook-changes.ts";
import { webhookKey } from "../../../shared/webhooks/webhook.ts";
import { keepingReceiver, newScene, verified } from "../../support/webhooks.ts";

type Scene = Awaited<ReturnType<typeof newScene>>;

/** The number of scheduled attempts of a delivery. */
const attemptLimit = 10;
const farFuture = new Date(Date.now() + 100 * 86_400_000);
const stillDue = async ({ work }: Scene): Promise<number> => (await readDue(work.table, farFuture)).length;

test("a failed delivery is sent again at its time, with the same body and id and the machine's time in its signature, until it is accepted", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver((count) => ({ status: count < 3 ? 503 : 204 }));
  const { id, secret } = await scene.subscribe(url);
  const event = scene.event();
  expect(await dispatch(event, scene.work)).toEqual(["pending"]);
  const sentAt = [scene.work.now().toISOString()];
  for (const turn of ["pending", "succeeded"] as const) {
    const [delivery] = await scene.deliveries(id);
    scene.work.clock.at = new Date(Date.parse(delivery?.next_attempt_at ?? "") - 1);
    expect(await sweep(scene.work)).toEqual({ due: 0 });
    scene.passUntil(delivery?.next_attempt_at);
    expect(await sweep(scene.work)).toEqual({ due: 1, [turn]: 1 });
    sentAt.push(scene.work.now().toISOString());
  }
  expect(new Set(received.map(({ body, headers }) => `${headers["webhook-id"]} ${body}`)).size).toBe(1);
  const now = Math.floor(Date.now() / 1_000);
  for (const { headers } of received) expect(Number(headers["webhook-timestamp"])).toBeLessThanOrEqual(now);
  for (const one of received) expect(verified(secret, one)).toEqual(event);
  const [delivery] = await scene.deliveries(id);
  expect(delivery).toMatchObject({ status: "succeeded", attempt_count: 3, next_attempt_at: null });
  expect(delivery?.attempts.map(({ attempted_at }) => attempted_at)).toEqual(sentAt);
  expect(delivery?.attempts.map(({ status_code }) => status_code)).toEqual([503, 503, 204]);
  expect(await stillDue(scene)).toBe(0);
});

test("a delivery is sent again also if its event is older than the retention, as in a replay", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver((count) => ({ status: count < 2 ? 503 : 204 }));
  await scene.subscribe(url);
  const event = scene.event();
  scene.passMinutes(40 * 24 * 60);
  expect(await dispatch(event, scene.work)).toEqual(["pending"]);
  const [due] = await readDue(scene.work.table, farFuture);
  scene.passUntil(due?.at);
  expect(await sweep(scene.work)).toEqual({ due: 1, succeeded: 1 });
  expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([event.id, event.id]);
});

test("after three days without a success a delivery has failed, and its webhook is disabled as failing", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  const begun = scene.work.now().getTime();
  await dispatch(scene.event(), scene.work);
  for (let count = 1; count < attemptLimit; count++) {
    expect(await scene.find(id)).toMatchObject({ status: "active" });
    const [delivery] = await scene.deliveries(id);
    scene.passUntil(delivery?.next_attempt_at);
    await sweep(scene.work);
  }
  expect(received).toHaveLength(attemptLimit);
  expect(scene.work.now().getTime() - begun).toBeGreaterThan(3 * 86_400_000);
  expect(await scene.deliveries(id)).toMatchObject([{ status: "failed", next_attempt_at: null }]);
  expect(await scene.find(id)).toMatchObject({ status: "disabled", disabled_reason: "failing" });
  expect(await scene.changes("webhook.disabled")).toMatchObject([{ actor_type: "system", resource_id: id }]);
  expect(await stillDue(scene)).toBe(0);
});

test("a webhook that accepts other events is not disabled because of one event that it never accepts", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver((count) => ({ status: count === 2 ? 204 : 500 }));
  const { id } = await scene.subscribe(url);
  const event = scene.event();
  await dispatch(event, scene.work);
  await dispatch(scene.event(), scene.work);
  expect(await sweep(scene.work)).toEqual({ due: 1, succeeded: 1 });
  for (let count = 1; count < attemptLimit; count++) {
    const delivery = (await scene.deliveries(id)).find((one) => one.id === event.id);
    scene.passUntil(delivery?.next_attempt_at);
    await sweep(scene.work);
  }
  expect((await scene.deliveries(id)).map(({ status }) => status).toSorted()).toEqual(["failed", "succeeded"]);
  expect(await scene.find(id)).toMatchObject({ status: "active" });
});

test("a delivery that fails on our side is given up after ten attempts, and its webhook is not disabled", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  const update = webhookKey(scene.accountId, id);
  await scene.work.table.attempt({ update, set: { sealed_secret: "aes1:broken" } });
  await dispatch(scene.event(), scene.work);
  for (let count = 1; count < attemptLimit; count++) {
    const [delivery] = await scene.deliveries(id);
    scene.passUntil(delivery?.next_attempt_at);
    await sweep(scene.work);
  }
  expect(await scene.deliveries(id)).toMatchObject([{ status: "failed", attempt_count: attemptLimit }]);
  expect(await scene.find(id)).toMatchObject({ status: "active" });
  expect(received).toEqual([]);
});

test("a delivery is sent later if the process dies before the first attempt", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id, secret } = await scene.subscribe(url);
  const event = scene.event();
  await scene.dieAfterCreating(id, event);
  expect(await dispatch(event, scene.work)).toEqual([]);
  scene.passMinutes(2);
  expect(await sweep(scene.work)).toEqual({ due: 1, succeeded: 1 });
  expect(received.map((one) => verified(secret, one))).toEqual([event]);
});

test("a delivery that another worker has claimed is not sent, and is taken over once the claim has ended", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  const created = await scene.dieAfterCreating(id);
  scene.passMinutes(2);
  const lease_until = new Date(scene.work.now().getTime() + 60_000).toISOString();
  if (!created) throw new Error("nothing was created");
  const update = deliveryKey(created.delivery);
  await scene.work.table.attempt({ update, set: { lease_until }, add: { version: 1 } });
  expect(await sweep(scene.work)).toEqual({ due: 1, skipped: 1 });
  expect(received).toEqual([]);
  scene.passMinutes(1);
  expect(await sweep(scene.work)).toEqual({ due: 1, succeeded: 1 });
});

test("concurrent sweeps send each delivery once", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  for (let count = 0; count < 8; count++) await scene.dieAfterCreating(id);
  scene.passMinutes(2);
  await Promise.all([sweep(scene.work), sweep(scene.work), sweep(scene.work)]);
  expect(received).toHaveLength(8);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(8);
  expect(await stillDue(scene)).toBe(0);
});

test("deliveries of a webhook that is disabled or deleted meanwhile are given up, and nothing is sent", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const [disabled, deleted] = [await scene.subscribe(url), await scene.subscribe(url)];
  for (const { id } of [disabled, deleted]) await scene.dieAfterCreating(id);
  await updateWebhook(scene.accountId, disabled.id, { active: false }, scene.context);
  await deleteWebhook(scene.accountId, deleted.id, scene.context);
  scene.passMinutes(2);
  expect(await sweep(scene.work)).toEqual({ due: 2, abandoned: 2 });
  expect(received).toEqual([]);
  expect(await scene.deliveries(disabled.id)).toMatchObject([
    { status: "failed", attempts: [{ error: "webhook_disabled" }], attempt_count: 0 },
  ]);
  expect(await scene.find(disabled.id)).toMatchObject({ disabled_reason: "by_user" });
  expect(await stillDue(scene)).toBe(0);
});

test("a retry that was pending when its webhook was disabled is not sent after the webhook is enabled again", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver((count) => ({ status: count === 1 ? 503 : 204 }));
  const { id } = await scene.subscribe(url);
  const before = scene.event();
  expect(await dispatch(before, scene.work)).toEqual(["pending"]);
  await updateWebhook(scene.accountId, id, { active: false }, scene.context);
  scene.passMinutes(10);
  await updateWebhook(scene.accountId, id, { active: true }, scene.context);
  const after = scene.event();
  await scene.dieAfterCreating(id, after);
  scene.passMinutes(2);
  expect(await sweep(scene.work)).toEqual({ due: 2, abandoned: 1, succeeded: 1 });
  expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([before.id, after.id]);
  const abandoned = (await scene.deliveries(id)).find((one) => one.id === before.id);
  expect(abandoned).toMatchObject({
    status: "failed",
    attempts: [{ status_code: 503 }, { error: "webhook_disabled" }],
  });
  expect(await scene.find(id)).toMatchObject({ status: "active" });
});

test("a receiver that asks for two hours with Retry-After gets the next attempt after two hours", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 503, headers: { "retry-after": "7200" } }));
  const { id } = await scene.subscribe(url);
  await dispatch(scene.event(), scene.work);
  const [delivery] = await scene.deliveries(id);
  expect(delivery?.next_attempt_at).toBe(new Date(scene.work.now().getTime() + 7_200_000).toISOString());
});

test("a run has limits, the other deliveries stay due, and a webhook with many deliveries does not delay other webhooks", async () => {
  const scene = await newScene();
  const [busy, quiet] = [await keepingReceiver(), await keepingReceiver()];
  const many = await scene.subscribe(busy.url);
  for (let count = 0; count < 5; count++) await scene.dieAfterCreating(many.id);
  scene.passMinutes(1);
  await scene.dieAfterCreating((await scene.subscribe(quiet.url)).id);
  scene.passMinutes(2);
  expect(await sweep(scene.work, { budgetMs: -1 })).toEqual({ due: 6 });
  expect(await sweep(scene.work, { limit: 2 })).toEqual({ due: 6, succeeded: 2 });
  expect([busy.received.length, quiet.received.length]).toEqual([1, 1]);
  expect(await sweep(scene.work)).toEqual({ due: 4, succeeded: 4 });
});

test("the accounts take turns in a run, even if one account has more webhooks", async () => {
  const scene = await newScene();
  const other = await newScene(scene.work.table);
  const [busy, quiet] = [await keepingReceiver(), await keepingReceiver()];
  for (let count = 0; count < 3; count++) await scene.dieAfterCreating((await scene.subscribe(busy.url)).id);
  await other.dieAfterCreating((await other.subscribe(quiet.url)).id);
  scene.passMinutes(4);
  expect(await sweep(scene.work, { limit: 2 })).toEqual({ due: 4, succeeded: 2 });
  expect([busy.received.length, quiet.received.length]).toEqual([1, 1]);
});
