import { describe, expect, test } from "vitest";

import { hasRevision } from "../../../../shared/domains/zone.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { newScene, silence } from "./scene.ts";

describe("several syncs at once:", () => {
  test("one process syncs the zone, and the other processes leave the zone to this process", async () => {
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

  test("a sync also writes the changes that are made during the sync", async () => {
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

  test("if each change of the provider is followed by a new record, the sync ends, and the last record is due", async () => {
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

  test("changes right after a sync are synced by the process that makes them", async () => {
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

  test("a process that dies during a sync keeps other processes out for two minutes, and no longer", async () => {
    const { add, sync, served, wait } = await newScene();
    await add({ name: "www" });
    let die: (reason: Error) => void = () => undefined;
    const dead = sync({ changeZone: () => new Promise((_, reject) => (die = reject)) });
    // Waits until the first process has the lease.
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

  test("a process that has lost its lease does not undo the state that another process stored", async () => {
    const { add, sync, served, wait, zone, provider } = await newScene();
    await add({ name: "www" });
    let resume: () => void = () => undefined;
    const slow = sync({
      changeZone: async (...args) => {
        await new Promise<void>((settle) => (resume = settle));
        return provider.changeZone(...args);
      },
    });
    // Waits until the first process has the lease.
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
