import { expect, test } from "vitest";

import { dispatch } from "../../../shared/webhooks/dispatch.ts";
import { deleteWebhook, rotateSecret, updateWebhook } from "../../../shared/webhooks/webhook-changes.ts";
import { webhookKey } from "../../../shared/webhooks/webhook.ts";
import { afterReading } from "../../support/between.ts";
import { holdsFor, keepingReceiver, newScene, verified, type Received } from "../../support/webhooks.ts";

const first = ([one]: Received[]): Received => one ?? { headers: {}, body: "" };

test("an event arrives signed by Standard Webhooks, under its own id, and is logged", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id, secret } = await scene.subscribe(url);
  const event = scene.event();
  expect(await dispatch(event, scene.work)).toEqual(["succeeded"]);
  expect(received).toHaveLength(1);
  expect(verified(secret, first(received))).toEqual(event);
  expect(first(received).headers).toMatchObject({ "webhook-id": event.id, "content-type": "application/json" });
  const at = scene.work.now().toISOString();
  expect(await scene.deliveries(id)).toMatchObject([
    {
      id: event.id,
      webhook_id: id,
      event_type: "workspace.created",
      status: "succeeded",
      attempts: [{ attempted_at: at, status_code: 204, error: null }],
      attempt_count: 1,
      next_attempt_at: null,
    },
  ]);
});

test("each webhook gets only the events that match its patterns", async () => {
  const scene = await newScene();
  const patterns = [["*"], ["auth.*"], ["auth.group.*"], ["workspace.created", "auth.grant.created"], ["webhook.*"]];
  const receivers = await Promise.all(patterns.map(() => keepingReceiver()));
  for (const [index, { url }] of receivers.entries()) await scene.subscribe(url, ...(patterns[index] ?? []));
  const types = ["auth.group.created", "auth.grant.created", "auth.group_member.added", "workspace.created"];
  for (const type of types) await dispatch(scene.event(type), scene.work);
  const got = receivers.map(({ received }) => received.map(({ body }) => JSON.parse(body).type));
  expect(got).toEqual([
    types,
    ["auth.group.created", "auth.grant.created", "auth.group_member.added"],
    ["auth.group.created"],
    ["auth.grant.created", "workspace.created"],
    [],
  ]);
});

test("an event that is dispatched again, or several times at once, makes one delivery and is sent once", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  const event = scene.event();
  await Promise.all([1, 2, 3].map(() => dispatch(event, scene.work)));
  expect(await dispatch(event, scene.work)).toEqual([]);
  expect(received).toHaveLength(1);
  expect(await scene.deliveries(id)).toHaveLength(1);
});

test("nothing is sent to a webhook that is disabled, deleted or of another account", async () => {
  const [scene, other] = [await newScene(), await newScene()];
  const { url, received } = await keepingReceiver();
  const [disabled, deleted] = [await scene.subscribe(url), await scene.subscribe(url)];
  await other.subscribe(url);
  await updateWebhook(scene.accountId, disabled.id, { active: false }, scene.context);
  await deleteWebhook(scene.accountId, deleted.id, scene.context);
  expect(await dispatch(scene.event(), scene.work)).toEqual([]);
  expect(received).toEqual([]);
});

test("a receiver that hangs does not delay other receivers", async () => {
  const scene = await newScene();
  const [released, delivered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = await keepingReceiver(() => ({ status: 200, after: released.promise }));
  const fast = await keepingReceiver(() => {
    delivered.resolve();
    return { status: 200 };
  });
  for (let index = 0; index < 4; index++) await scene.subscribe(slow.url);
  const { id } = await scene.subscribe(fast.url);
  const dispatching = dispatch(scene.event(), scene.work);
  await delivered.promise;
  expect(fast.received).toHaveLength(1);
  released.resolve();
  expect(await dispatching).toEqual(Array(5).fill("succeeded"));
  expect(await scene.deliveries(id)).toMatchObject([{ status: "succeeded" }]);
});

test("a receiver that fails and a secret that cannot be opened do not keep an event from other webhooks", async () => {
  const scene = await newScene();
  const [failing, good] = [await keepingReceiver(() => ({ status: 500 })), await keepingReceiver()];
  const [bad, broken] = [await scene.subscribe(failing.url), await scene.subscribe(good.url)];
  await scene.subscribe(good.url);
  const sealed = `${broken.sealed_secret.slice(0, -8)}AAAAAAA=`;
  await scene.work.table.attempt({ update: webhookKey(scene.accountId, broken.id), set: { sealed_secret: sealed } });
  expect(await dispatch(scene.event(), scene.work)).toEqual(["pending", "pending", "succeeded"]);
  expect(good.received).toHaveLength(1);
  const [delivery] = await scene.deliveries(bad.id);
  expect(delivery).toMatchObject({ status: "pending", attempts: [{ status_code: 500, error: "unsuccessful_status" }] });
  expect(delivery?.next_attempt_at).toBe(new Date(scene.work.now().getTime() + 60_000).toISOString());
  expect(await scene.deliveries(broken.id)).toMatchObject([{ attempts: [{ error: "internal_error" }] }]);
});

test("a webhook whose receiver answers 410 is disabled by the system, and another webhook can get the event about this", async () => {
  const scene = await newScene();
  const [gone, good] = [await keepingReceiver(() => ({ status: 410 })), await keepingReceiver()];
  const { id } = await scene.subscribe(gone.url);
  await scene.subscribe(good.url, "webhook.*");
  expect(await dispatch(scene.event(), scene.work)).toEqual(["failed"]);
  const at = scene.work.now().toISOString();
  expect(await scene.find(id)).toMatchObject({ status: "disabled", disabled_reason: "gone", disabled_at: at });
  expect(await scene.deliveries(id)).toMatchObject([{ status: "failed", next_attempt_at: null }]);
  const [change, ...more] = await scene.changes("webhook.disabled");
  expect(change).toMatchObject({ actor_type: "system", actor_id: "webhooks", resource_id: id });
  expect(more).toEqual([]);
  expect(JSON.stringify(change)).not.toMatch(/whsec_|sealed/);
  expect(await dispatch(scene.event("webhook.disabled"), scene.work)).toEqual(["succeeded"]);
  expect([gone.received.length, good.received.length]).toEqual([1, 1]);
});

test("a webhook that a caller changes while it is being disabled is disabled after this change", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 410 }));
  await scene.subscribe(url, "auth.*");
  const { id } = await scene.subscribe(url, "workspace.*");
  const { SK } = webhookKey(scene.accountId, id);
  const change = () => {
    scene.passMinutes(1);
    return updateWebhook(scene.accountId, id, { description: "Ours" }, scene.context);
  };
  const run = () => dispatch(scene.event(), scene.work);
  expect(await afterReading((key) => key.SK === SK, change, run)).toEqual(["failed"]);
  const at = scene.work.now().toISOString();
  expect(await scene.find(id)).toMatchObject({ description: "Ours", disabled_at: at, updated_at: at });
  expect(await scene.changes("webhook.disabled")).toMatchObject([{ at }]);
});

test("a webhook that fails for several events at once is disabled once", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 410 }));
  const { id } = await scene.subscribe(url);
  const turns = await Promise.all([1, 2, 3, 4].map(() => dispatch(scene.event(), scene.work)));
  expect(turns.flat()).toContain("failed");
  expect(await scene.find(id)).toMatchObject({ status: "disabled" });
  expect(await scene.changes("webhook.disabled")).toHaveLength(1);
  expect((await scene.deliveries(id)).every(({ status }) => status === "failed")).toBe(true);
});

test("a private address in a webhook is refused when an event is sent", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  await dispatch(scene.event(), { ...scene.work, allowLoopback: false });
  expect(received).toEqual([]);
  expect(await scene.deliveries(id)).toMatchObject([{ attempts: [{ status_code: null, error: "blocked_address" }] }]);
});

test("during the rotation of a secret both secrets verify a delivery, and afterwards only the new secret", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id, secret: old } = await scene.subscribe(url);
  const { secret } = await rotateSecret(scene.accountId, id, 3_600, scene.context, scene.work);
  const end = scene.work.now().getTime() + 3_600_000;
  for (const at of [end - 3_600_000, end - 1, end]) {
    scene.work.clock.at = new Date(at);
    await dispatch(scene.event(), scene.work);
  }
  expect(received.map((one) => [holdsFor(old, one), holdsFor(secret, one)])).toEqual([
    [true, true],
    [true, true],
    [false, true],
  ]);
  const { secret: newest } = await rotateSecret(scene.accountId, id, 0, scene.context, scene.work);
  await dispatch(scene.event(), scene.work);
  const last = received.at(-1) ?? first([]);
  expect([holdsFor(secret, last), holdsFor(newest, last)]).toEqual([false, true]);
  expect(await scene.find(id)).toMatchObject({ previous_sealed_secret: null, previous_secret_expires_at: null });
});

test("a webhook gets the events since its creation, and no earlier events", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id, created_at } = await scene.subscribe(url);
  const at = (ms: number) => ({ timestamp: new Date(Date.parse(created_at) + ms).toISOString() });
  expect(await dispatch(scene.event("workspace.created", at(-1)), scene.work)).toEqual([]);
  expect([await scene.deliveries(id), received]).toEqual([[], []]);
  expect(await dispatch(scene.event("workspace.created", at(0)), scene.work)).toEqual(["succeeded"]);
  expect(received).toHaveLength(1);
});

test("a webhook that is enabled again gets the events since then, and no events of the time when it was disabled", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  await updateWebhook(scene.accountId, id, { active: false }, scene.context);
  scene.passMinutes(1);
  const missed = scene.event();
  scene.passMinutes(1);
  await updateWebhook(scene.accountId, id, { active: true }, scene.context);
  const [enabling] = await scene.changes("webhook.updated");
  expect(await dispatch(missed, scene.work)).toEqual([]);
  expect(await scene.deliveries(id)).toEqual([]);
  expect(await dispatch(scene.event("webhook.updated", { timestamp: enabling?.["at"] }), scene.work)).toEqual([
    "succeeded",
  ]);
  expect(received).toHaveLength(1);
});
