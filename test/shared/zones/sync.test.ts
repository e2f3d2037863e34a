import { describe, expect, test } from "vitest";

import { ZoneExists, type ZoneChange } from "../../../shared/providers/dns.ts";
import type { Table } from "../../../shared/table/table.ts";
import { hasRevision } from "../../../shared/zones/zone.ts";
import { many, newScene, silence } from "./scene.ts";

type Scene = Awaited<ReturnType<typeof newScene>>;

/** So many that a transaction has room for them. */
async function addMany({ add }: Scene, names: { name: string }[]): Promise<void> {
  for (let from = 0; from < names.length; from += 25) await add(...names.slice(from, from + 25));
}

test("brings in what there is, and is then up to date and not due", async () => {
  const { add, sync, served, zone } = await newScene();
  await add({ name: "www" }, { name: "www", value: "192.0.2.2" }, { name: "mail", type: "TXT", value: "x" });
  expect((await zone()).due_at).not.toBeNull();
  const synced = await sync();
  expect(synced && hasRevision(synced, 1)).toBe(true);
  expect(await served()).toEqual(["mail TXT", "www A"]);
  expect(await zone()).toMatchObject({ dirty: [], due_at: null, synced_revision: 1, lease_until: "" });
});

test("asks nothing of the provider for a zone that is up to date, or that nobody delegated", async () => {
  const scene = await newScene();
  const never = () => Promise.reject(new Error("asked"));
  const asking = { createZone: never, changeZone: never, isInSync: never };
  await scene.sync(asking);
  await scene.add({ name: "www" });
  await scene.sync();
  expect(await scene.sync(asking)).toMatchObject({ synced_revision: 1 });
});

describe("a provider that fails", () => {
  test.each([
    ["does not answer for the zone", { createZone: () => Promise.reject(silence()) }],
    ["has an older zone of the name still", { createZone: () => Promise.reject(new ZoneExists("another")) }],
    ["does not answer for the change", { changeZone: () => Promise.reject(silence()) }],
  ])("that %s is no error: the record is pending and due, and the next round brings it in", async (_, failing) => {
    const { add, sync, zone, served } = await newScene();
    await add({ name: "www" });
    const before = await zone();
    const after = await sync(failing);
    expect(after && hasRevision(after, 1)).toBe(false);
    expect(await zone()).toMatchObject({ dirty: ["www A"], due_at: before.due_at, lease_until: "" });
    expect(await served()).toEqual([]);
    await sync();
    expect(await served()).toEqual(["www A"]);
  });

  test("makes the zone once, whatever fails after it", async () => {
    const { add, sync, zone, provider } = await newScene();
    await add({ name: "www" });
    const ids: string[] = [];
    const createZone: typeof provider.createZone = async (input) => {
      const made = await provider.createZone(input);
      ids.push(made.zoneId);
      return made;
    };
    await sync({ createZone, changeZone: () => Promise.reject(silence()) });
    await sync({ createZone });
    expect(new Set(ids)).toEqual(new Set([(await zone()).zone_id]));
  });

  test("by a mistake of ours is told, and the zone is free for the next round", async () => {
    const { add, sync, zone } = await newScene();
    await add({ name: "www" });
    await expect(sync({ changeZone: () => Promise.reject(new Error("InvalidChangeBatch")) })).rejects.toThrow(
      "Invalid",
    );
    expect(await zone()).toMatchObject({ dirty: ["www A"], lease_until: "" });
    expect(await sync()).toMatchObject({ dirty: [] });
  });

  test("a CNAME that went and an A that came while it failed change in one round", async () => {
    const { add, remove, sync, served } = await newScene();
    await add({ name: "www", type: "CNAME", value: "example.net" });
    await sync();
    await remove("www");
    await sync({ changeZone: () => Promise.reject(silence()) });
    await add({ name: "www" });
    await sync();
    expect(await served()).toEqual(["www A"]);
  });
});

describe("several at once", () => {
  test("one brings the zone up to date, the others leave it to that one", async () => {
    const { add, sync, provider, served } = await newScene();
    await add({ name: "www" });
    let asked = 0;
    const changeZone: typeof provider.changeZone = (...args) => {
      asked += 1;
      return provider.changeZone(...args);
    };
    const after = await Promise.all(Array.from({ length: 5 }, () => sync({ changeZone })));
    expect(asked).toBe(1);
    expect(after.filter((zone) => zone && hasRevision(zone, 1)).length).toBeGreaterThanOrEqual(1);
    expect(await served()).toEqual(["www A"]);
  });

  test("what changes while the zone is brought up to date comes with it", async () => {
    const { add, remove, sync, provider, served, zone } = await newScene();
    await add({ name: "www" }, { name: "old" });
    let times = 0;
    const changeZone: typeof provider.changeZone = async (...args) => {
      const done = await provider.changeZone(...args);
      if (times++ === 0) {
        await add({ name: "new" });
        await remove("old");
        expect(await sync()).toMatchObject({ dirty: ["www A", "old A", "new A"] });
      }
      return done;
    };
    const after = await sync({ changeZone });
    expect(after && hasRevision(after, 3)).toBe(true);
    expect(await served()).toEqual(["new A", "www A"]);
    expect(await zone()).toMatchObject({ dirty: [], due_at: null });
  });

  test("changes that come faster than they are brought in are each in sync once they are, and the last are due", async () => {
    const { add, sync, provider, served, zone } = await newScene();
    await add({ name: "n0" });
    let count = 0;
    const changeZone: typeof provider.changeZone = async (...args) => {
      const done = await provider.changeZone(...args);
      await add({ name: `n${(count += 1)}` });
      return done;
    };
    await sync({ changeZone });
    const { revision, synced_revision, due_at } = await zone();
    expect(count).toBeGreaterThan(1);
    expect([revision, synced_revision]).toEqual([count + 1, count]);
    expect(due_at).not.toBeNull();
    expect(await served()).toHaveLength(count);
    await sync();
    expect(await served()).toHaveLength(count + 1);
  });

  test("what changes right after it was brought up to date is brought in by whoever changed it", async () => {
    const { table, add, sync, served, zone } = await newScene();
    await add({ name: "www" });
    let isLater = false;
    const over: Table = {
      ...table,
      commit: async (plan) => {
        const value = await table.commit(plan);
        if (isLater) return value;
        isLater = true;
        await add({ name: "new" });
        await sync();
        return value;
      },
    };
    await sync({}, over);
    expect(await served()).toEqual(["new A", "www A"]);
    expect(await zone()).toMatchObject({ dirty: [], due_at: null });
  });

  test("who died while at it keeps others out for two minutes, and no longer", async () => {
    const { add, sync, served, wait } = await newScene();
    await add({ name: "www" });
    let die: (reason: Error) => void = () => undefined;
    const dead = sync({ changeZone: () => new Promise((_, reject) => (die = reject)) });
    while ((await sync())?.lease_until === "") continue;
    wait(119_000);
    await sync();
    expect(await served()).toEqual([]);
    wait(1_000);
    await sync();
    expect(await served()).toEqual(["www A"]);
    die(silence());
    await dead;
  });

  test("who comes back after somebody else took over does not undo what that one noted", async () => {
    const { add, sync, served, wait, zone, provider } = await newScene();
    await add({ name: "www" });
    let resume: () => void = () => undefined;
    const slow = sync({
      changeZone: async (...args) => {
        await new Promise<void>((settle) => (resume = settle));
        return provider.changeZone(...args);
      },
    });
    while ((await sync())?.lease_until === "") continue;
    wait(120_000);
    await sync();
    const noted = await zone();
    resume();
    await slow;
    expect(await zone()).toEqual(noted);
    expect(await served()).toEqual(["www A"]);
  });
});

describe("a provider whose servers take a while", () => {
  const pending = (scene: Scene) => ({
    changeZone: async (...args: Parameters<Scene["provider"]["changeZone"]>) => {
      await scene.provider.changeZone(...args);
      return { changeId: `c${(await scene.zone()).revision}`, isInSync: false };
    },
    isInSync: async () => false,
  });

  test("the record is pending until it says that all have it", async () => {
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

  test("does not take the servers to have a later change because they have an earlier one", async () => {
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

  test("not answering whether they have it is no error", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    await scene.sync(pending(scene));
    const after = await scene.sync({ isInSync: () => Promise.reject(silence()) });
    expect(after && hasRevision(after, 1)).toBe(false);
    expect(await scene.sync()).toMatchObject({ synced_revision: 1 });
  });
});

describe("more changes than are noted one by one", () => {
  test("all come, a hundred at a time, and all go", async () => {
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

describe("nothing stays that was removed", () => {
  const lost = (scene: Scene, batches = 1) => {
    let left = batches;
    return {
      changeZone: async (...args: Parameters<Scene["provider"]["changeZone"]>) => {
        const done = await scene.provider.changeZone(...args);
        if (--left <= 0) throw silence();
        return done;
      },
    };
  };

  test("though it came with the first change, whose answer was lost", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" }, { name: "old" });
    await scene.sync(lost(scene));
    expect(await scene.served()).toEqual(["old A", "www A"]);
    await scene.remove("old");
    await scene.sync();
    expect(await scene.served()).toEqual(["www A"]);
  });

  test("though it came with a change whose answer was lost, before so much changed that all is looked at", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    await scene.sync();
    await scene.add({ name: "old" });
    await scene.sync(lost(scene));
    await scene.remove("old");
    await addMany(scene, many(210));
    await scene.sync();
    expect(await scene.served()).toHaveLength(211);
  });

  test("though it came with one of many changes, a later one of which failed", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" });
    await scene.sync();
    await addMany(scene, many(230));
    await scene.sync(lost(scene, 2));
    const names = many(20).map(({ name }) => name);
    await scene.remove(...names);
    await scene.sync();
    expect(await scene.served()).toHaveLength(211);
  });
});
