import { describe, expect, test } from "vitest";

import { zoneRemovalWrites } from "../../../../shared/deletion/zone.ts";
import { planRecords } from "../../../../shared/domains/records/plan.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import { hasRevision, zoneDueKey, zoneKey } from "../../../../shared/domains/zone.ts";
import type { ZoneChange } from "../../../../shared/providers/dns/dns.ts";
import { addMany, many, newScene, silence, type Scene } from "./scene.ts";

test("a sync writes all records to the provider, and the zone is then up to date and not due", async () => {
  const { add, sync, served, zone } = await newScene();
  await add({ name: "www" }, { name: "www", value: "192.0.2.2" }, { name: "mail", type: "TXT", value: "x" });
  expect((await zone()).due_at).not.toBeNull();
  const synced = await sync();
  expect(synced && hasRevision(synced, 1)).toBe(true);
  expect(await served()).toEqual(["mail TXT", "www A"]);
  expect(await zone()).toMatchObject({ dirty: [], due_at: null, synced_revision: 1, lease_until: "" });
});

test("a change of records during a sync of the zone leaves the zone in the queue", async () => {
  const { add, sync, zone, table, accountId, now } = await newScene();
  await add({ name: "www" });
  const { commit } = systemWriter({ table, now }, accountId);
  const reads: (string | null)[] = [];
  await commit(async () => {
    const read = await zone();
    reads.push(read.due_at);
    if (reads.length === 1) await sync();
    const added = [{ name: "mail", type: "A" as const, value: "192.0.2.2", ttl: 60 }];
    const { sole, changes } = await planRecords(table, accountId, [{ zone: read, added }], now());
    return { value: undefined, writes: [], sole, changes };
  });
  const changed = await zone();
  expect(changed).toMatchObject({ revision: 2, synced_revision: 1, due_at: expect.any(String) });
  expect(await table.getMany([zoneDueKey(changed, changed.due_at ?? "")])).toEqual([expect.anything()]);
  expect(reads).toEqual([expect.any(String), null]);
});

test("a sync that stalls until its zone is removed does not bring the removed zone back", async () => {
  const { add, sync, zone, table, provider, served, wait } = await newScene();
  await add({ name: "www" });
  const removeMeanwhile = async (...args: Parameters<typeof provider.changeZone>) => {
    const changed = await provider.changeZone(...args);
    wait(130_000);
    const { account_id, domain_id, revision } = await zone();
    const update = zoneKey(account_id, domain_id);
    await table.attempt({ update, set: { wanted: false }, if: { revision } });
    await provider.deleteZone(args[0]);
    const writes = zoneRemovalWrites(await zone());
    await table.commit(async () => ({ value: undefined, writes }));
    return changed;
  };
  await sync({ changeZone: removeMeanwhile });
  expect(await zone()).not.toHaveProperty("zone_id");
  await add({ name: "mail" });
  await sync();
  expect(await served()).toEqual(["mail A", "www A"]);
});

test("a sync does not call the provider for a zone that is up to date, or that is not wanted on the nameservers", async () => {
  const scene = await newScene();
  const never = () => Promise.reject(new Error("asked"));
  const asking = { createZone: never, changeZone: never, isInSync: never };
  await scene.sync(asking);
  await scene.add({ name: "www" });
  await scene.sync();
  expect(await scene.sync(asking)).toMatchObject({ synced_revision: 1 });
});

describe("a provider whose servers take a while", () => {
  const pending = (scene: Scene) => ({
    changeZone: async (...args: Parameters<Scene["provider"]["changeZone"]>) => {
      await scene.provider.changeZone(...args);
      return { changeId: `c${(await scene.zone()).revision}`, isInSync: false };
    },
    isInSync: async () => false,
  });

  test("keeps a record pending until it says that all its servers have the change", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    const first = await scene.sync(pending(scene));
    expect(first && hasRevision(first, 1)).toBe(false);
    expect(await scene.zone()).toMatchObject({ change: { id: "c1", revision: 1 }, synced_revision: 0 });
    const due = (await scene.zone()).due_at ?? "";
    expect(Date.parse(due)).toBeGreaterThan(scene.now().getTime());
    scene.wait(60_000);
    await scene.sync(pending(scene));
    expect(Date.parse((await scene.zone()).due_at ?? "")).toBeGreaterThan(Date.parse(due));
    const asked: string[] = [];
    const done = await scene.sync({ isInSync: async (id) => asked.push(id) > 0 });
    expect([asked, done && hasRevision(done, 1)]).toEqual([["c1"], true]);
    const settled = await scene.zone();
    expect(settled).toMatchObject({ due_at: null, dirty: [] });
    expect(settled).not.toHaveProperty("change");
  });

  test("does not make a later change count as done because an earlier change is done", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    await scene.sync(pending(scene));
    await scene.add({ name: "new" });
    const after = await scene.sync({ ...pending(scene), isInSync: async (id) => id === "c1" });
    expect(after && hasRevision(after, 2)).toBe(false);
    expect((await scene.zone()).change).toEqual({ id: "c2", revision: 2 });
    const last = await scene.sync({ isInSync: async (id) => id === "c2" });
    expect(last && hasRevision(last, 2)).toBe(true);
  });

  test("causes no error if it does not answer whether its servers have the change", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    await scene.sync(pending(scene));
    const after = await scene.sync({ isInSync: () => Promise.reject(silence()) });
    expect(after && hasRevision(after, 1)).toBe(false);
    expect(await scene.sync()).toMatchObject({ synced_revision: 1 });
  });
});

describe("more changes than are noted one by one", () => {
  test("are written 100 at a time: 230 records come, then 215 of them go and 15 stay", async () => {
    const scene = await newScene();
    await addMany(scene, many(230));
    expect((await scene.zone()).dirty).toEqual(["*"]);
    const batches: number[] = [];
    const changeZone = (id: string, changes: readonly ZoneChange[]) => {
      batches.push(changes.length);
      return scene.provider.changeZone(id, changes);
    };
    await scene.sync({ changeZone });
    expect([batches, (await scene.served()).length]).toEqual([[100, 100, 30], 230]);
    const names = many(215).map(({ name }) => name);
    for (let from = 0; from < names.length; from += 20) await scene.remove(...names.slice(from, from + 20));
    await scene.sync();
    expect(await scene.served()).toHaveLength(15);
  });
});
