import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { timeOrderedId } from "../../../shared/core/ids.ts";
import { dueKey, dueWrite, readDue } from "../../../shared/webhooks/schedule.ts";
import { keepingReceiver, newScene } from "../../support/webhooks.ts";

const shardOf = (account_id: string): string =>
  dueKey({ account_id, webhook_id: randomUUID(), id: randomUUID() }, "2026-07-01T12:00:00.000Z").PK;

test("the due deliveries of an account are in one shard of 64, so that its backlog delays no other shard", () => {
  const account = randomUUID();
  expect(new Set(Array.from({ length: 100 }, () => shardOf(account))).size).toBe(1);
  expect(new Set(Array.from({ length: 5_000 }, () => shardOf(randomUUID()))).size).toBe(64);
});

test("1,500 waiting deliveries of one webhook do not hide a due delivery of another webhook of the same account", async () => {
  const scene = await newScene();
  const early = new Date(scene.work.now().getTime() - 60_000);
  for (let batch = 0; batch < 15; batch++) {
    const writes = Array.from({ length: 100 }, () =>
      dueWrite({ account_id: scene.accountId, webhook_id: "many", id: timeOrderedId(early) }, early.toISOString()),
    );
    await scene.work.table.commit(async () => ({ value: undefined, writes }));
  }
  const { url } = await keepingReceiver();
  const { id } = await scene.subscribe(url);
  await scene.dieAfterCreating(id);
  scene.passMinutes(2);
  const due = await readDue(scene.work.table, scene.work.now(), 200);
  expect(due.filter(({ webhook_id }) => webhook_id === id)).toHaveLength(1);
  expect(due).toHaveLength(201);
});
