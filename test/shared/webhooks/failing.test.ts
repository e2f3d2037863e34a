import { expect, test } from "vitest";

import { dispatch } from "../../../shared/webhooks/dispatch.ts";
import { noteSuccess, outcomeKey } from "../../../shared/webhooks/outcome.ts";
import { sweep } from "../../../shared/webhooks/sweep.ts";
import { updateWebhook } from "../../../shared/webhooks/webhook-changes.ts";
import { webhookKey } from "../../../shared/webhooks/webhook.ts";
import { keepingReceiver, newScene } from "../../support/webhooks.ts";

test("new deliveries of a failing webhook wait for the sweep, which tries one in each run, and all once one is accepted", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver((count) => ({ status: count < 4 ? 500 : 204 }));
  const { id } = await scene.subscribe(url);
  expect(await dispatch(scene.event(), scene.work)).toEqual(["pending"]);
  for (let count = 0; count < 6; count++) expect(await dispatch(scene.event(), scene.work)).toEqual(["pending"]);
  expect(received).toHaveLength(1);
  expect((await scene.deliveries(id)).filter(({ attempt_count }) => attempt_count === 0)).toHaveLength(6);
  expect(await sweep(scene.work)).toEqual({ due: 6, pending: 1 });
  expect(await sweep(scene.work)).toEqual({ due: 5, pending: 1 });
  expect(await sweep(scene.work)).toEqual({ due: 4, succeeded: 4 });
  expect(received).toHaveLength(7);
  expect(await dispatch(scene.event(), scene.work)).toEqual(["succeeded"]);
});

test("if a failing webhook accepts a delivery and fails again in the same run, its other deliveries wait for the next run", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver((count) => ({ status: count === 2 ? 204 : 500 }));
  const { id } = await scene.subscribe(url);
  for (let count = 0; count < 7; count++) await dispatch(scene.event(), scene.work);
  expect(await sweep(scene.work)).toEqual({ due: 6, succeeded: 1, pending: 1 });
  expect(received).toHaveLength(3);
  expect((await scene.deliveries(id)).filter(({ attempt_count }) => attempt_count === 0)).toHaveLength(4);
});

test("the whole backlog of a webhook is sent in one run once its receiver accepts again, and counts as 200 due deliveries", async () => {
  const scene = await newScene();
  let isDown = true;
  const { url, received } = await keepingReceiver(() => ({ status: isDown ? 500 : 204 }));
  await scene.subscribe(url);
  await dispatch(scene.event(), scene.work);
  await Promise.all(Array.from({ length: 230 }, () => dispatch(scene.event(), scene.work)));
  expect(await sweep(scene.work)).toEqual({ due: 200, pending: 1 });
  isDown = false;
  expect(await sweep(scene.work)).toEqual({ due: 200, succeeded: 229 });
  expect(new Set(received.slice(2).map(({ headers }) => headers["webhook-id"])).size).toBe(229);
});

test("if a webhook fails in a run, its other deliveries wait for the next run", async () => {
  const scene = await newScene();
  const { url, received } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  for (let count = 0; count < 6; count++) await scene.dieAfterCreating(id);
  scene.passMinutes(2);
  expect(await sweep(scene.work, { atOnce: 1 })).toEqual({ due: 6, pending: 1 });
  expect(received).toHaveLength(1);
});

test("the time at which a webhook began to fail is written once, and is removed by a success", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver((count) => ({ status: count === 2 || count === 5 ? 204 : 500 }));
  const { id } = await scene.subscribe(url);
  const since = async () =>
    (await scene.work.table.getMany([outcomeKey(scene.accountId, id)])).map((row) => row?.["failing_since"]);
  const begun = scene.work.now().toISOString();
  await dispatch(scene.event(), scene.work);
  expect(await since()).toEqual([begun]);
  await dispatch(scene.event(), scene.work);
  await sweep(scene.work);
  expect(await since()).toEqual([undefined]);
  scene.passMinutes(0.1);
  const again = scene.work.now().toISOString();
  await dispatch(scene.event(), scene.work);
  scene.passMinutes(0.1);
  await dispatch(scene.event(), scene.work);
  await sweep(scene.work);
  expect(await since()).toEqual([again]);
  await dispatch(scene.event(), scene.work);
  await sweep(scene.work);
  expect(await since()).toEqual([undefined]);
});

test("the time of the last success of a webhook is written once a minute", async () => {
  const scene = await newScene();
  const { id } = await scene.subscribe((await keepingReceiver()).url);
  const written: unknown[] = [];
  const begun = scene.work.now();
  for (let count = 0; count < 5; count++) {
    expect(await dispatch(scene.event(), scene.work)).toEqual(["succeeded"]);
    const [row] = await scene.work.table.getMany([outcomeKey(scene.accountId, id)]);
    written.push(row?.["last_success_at"]);
    scene.passMinutes(0.5);
  }
  const after = (minutes: number) => new Date(begun.getTime() + minutes * 60_000).toISOString();
  expect(written).toEqual([after(0), after(0), after(1), after(1), after(2)]);
});

test("a failure on our side does not make a webhook count as failing", async () => {
  const scene = await newScene();
  const { id } = await scene.subscribe((await keepingReceiver()).url);
  const update = webhookKey(scene.accountId, id);
  await scene.work.table.attempt({ update, set: { sealed_secret: "aes1:broken" } });
  for (let count = 0; count < 2; count++) await dispatch(scene.event(), scene.work);
  expect((await scene.deliveries(id)).map(({ attempt_count }) => attempt_count)).toEqual([1, 1]);
});

test("a webhook that accepts nothing for three days is disabled, and has as long again after it is enabled again", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  await dispatch(scene.event(), scene.work);
  for (let hours = 0; hours < 75; hours += 3) {
    await dispatch(scene.event(), scene.work);
    expect(await sweep(scene.work)).toMatchObject({ pending: 1 });
    scene.passMinutes(180);
  }
  expect(await scene.find(id)).toMatchObject({ status: "active" });
  scene.passMinutes(60);
  await sweep(scene.work);
  expect(await scene.find(id)).toMatchObject({ status: "disabled", disabled_reason: "failing" });
  expect(await scene.changes("webhook.disabled")).toHaveLength(1);
  scene.passMinutes(24 * 60);
  await sweep(scene.work);
  expect((await scene.deliveries(id)).every(({ status }) => status === "failed")).toBe(true);
  await updateWebhook(scene.accountId, id, { active: true }, scene.context);
  scene.passMinutes(5 * 24 * 60);
  await dispatch(scene.event(), scene.work);
  expect(await sweep(scene.work)).toEqual({ due: 1, pending: 1 });
  scene.passMinutes(60);
  expect(await sweep(scene.work)).toEqual({ due: 1, pending: 1 });
  expect(await scene.find(id)).toMatchObject({ status: "active" });
  scene.passMinutes(76 * 60);
  await sweep(scene.work);
  expect(await scene.find(id)).toMatchObject({ status: "disabled", disabled_reason: "failing" });
});

test("a failing webhook that version 0.1.0 enabled again has three days too", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  await dispatch(scene.event(), scene.work);
  scene.passMinutes(5 * 24 * 60);
  await updateWebhook(scene.accountId, id, { active: false }, scene.context);
  await sweep(scene.work);
  await updateWebhook(scene.accountId, id, { active: true }, scene.context);
  // Version 0.1.0 did not store this member.
  await scene.work.table.attempt({ update: webhookKey(scene.accountId, id), remove: ["enabled_at"] });
  scene.passMinutes(60);
  await dispatch(scene.event(), scene.work);
  await sweep(scene.work);
  scene.passMinutes(60);
  await sweep(scene.work);
  expect(await scene.find(id)).toMatchObject({ status: "active" });
  scene.passMinutes(76 * 60);
  await sweep(scene.work);
  expect(await scene.find(id)).toMatchObject({ status: "disabled", disabled_reason: "failing" });
});

test("a webhook whose receiver accepts a delivery while another one fails for the last time stays active", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  await dispatch(scene.event(), scene.work);
  scene.passMinutes(77 * 60);
  const { table, now } = scene.work;
  const key = outcomeKey(scene.accountId, id);
  let isAccepted = false;
  const get: typeof table.get = async (wanted, schema) => {
    const item = await table.get(wanted, schema);
    if (wanted.SK === key.SK && !isAccepted) {
      isAccepted = true;
      await noteSuccess(table, { account_id: scene.accountId, webhook_id: id }, now());
    }
    return item;
  };
  await sweep({ ...scene.work, table: { ...table, get } });
  expect([isAccepted, (await scene.find(id)).status]).toEqual([true, "active"]);
});

test("the due deliveries of a disabled webhook are given up in one run", async () => {
  const scene = await newScene();
  const { url } = await keepingReceiver(() => ({ status: 500 }));
  const { id } = await scene.subscribe(url);
  for (let count = 0; count < 6; count++) await dispatch(scene.event(), scene.work);
  await updateWebhook(scene.accountId, id, { active: false }, scene.context);
  expect(await sweep(scene.work)).toEqual({ due: 5, abandoned: 5 });
});

test("a failing webhook that hangs does not delay other webhooks, even if one delivery is tried at a time", async () => {
  const scene = await newScene();
  const [released, delivered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hanging = await keepingReceiver((count) =>
    count === 1 ? { status: 500 } : { status: 500, after: released.promise },
  );
  const good = await keepingReceiver((count) => {
    if (count === 5) delivered.resolve();
    return { status: 204 };
  });
  await scene.subscribe(hanging.url, "thing.hangs");
  const { id } = await scene.subscribe(good.url, "thing.works");
  for (let count = 0; count < 3; count++) await dispatch(scene.event("thing.hangs"), scene.work);
  scene.passMinutes(1);
  for (let count = 0; count < 5; count++) await scene.dieAfterCreating(id);
  scene.passMinutes(3);
  const sweeping = sweep(scene.work, { atOnce: 1 });
  await delivered.promise;
  released.resolve();
  expect(await sweeping).toEqual({ due: 8, pending: 1, succeeded: 5 });
});
