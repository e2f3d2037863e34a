import { describe, expect, test } from "vitest";

import { recordView } from "../../../../shared/domains/records/stored-record.ts";
import { hasRevision } from "../../../../shared/domains/zone.ts";
import { ZoneExists, type Dns, type ZoneChange } from "../../../../shared/providers/dns/dns.ts";
import { addMany, many, newScene, silence, type Scene } from "./scene.ts";

test("a sync whose lease is written twice, because an answer was lost, writes the records at once", async () => {
  const { add, sync, served, table } = await newScene();
  await add({ name: "www" });
  let isFirst = true;
  const attempt: typeof table.attempt = async (write) => {
    if (isFirst) await table.attempt(write);
    isFirst = false;
    return table.attempt(write);
  };
  await sync({}, { ...table, attempt });
  expect(await served()).toEqual(["www A"]);
});

describe("a provider", () => {
  test.each([
    ["does not answer to the creation of the zone", { createZone: () => Promise.reject(silence()) }],
    ["still has an older zone of the name", { createZone: () => Promise.reject(new ZoneExists("another")) }],
    ["does not answer to the change", { changeZone: () => Promise.reject(silence()) }],
  ])("that %s causes no error: the record stays pending and due, and the next sync writes it", async (_, failing) => {
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

  test("creates only one zone, even if the first change of the zone fails", async () => {
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

  test("that refuses a wrong request causes an error, and the next sync can take the zone", async () => {
    const { add, sync, zone } = await newScene();
    await add({ name: "www" });
    await expect(sync({ changeZone: () => Promise.reject(new Error("InvalidChangeBatch")) })).rejects.toThrow(
      "Invalid",
    );
    expect(await zone()).toMatchObject({ dirty: ["www A"], lease_until: "" });
    expect(await sync()).toMatchObject({ dirty: [] });
  });

  test("that failed gets a removed CNAME and a new A of the same name in one later sync", async () => {
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

describe("a removed record leaves the nameservers", () => {
  /** Makes every change at the provider, but loses the answer to change number `batches` and to all later changes. */
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

  test("even if the record came with the first change, whose answer was lost", async () => {
    const scene = await newScene();
    await scene.add({ name: "www" }, { name: "old" });
    await scene.sync(lost(scene));
    expect(await scene.served()).toEqual(["old A", "www A"]);
    await scene.remove("old");
    await scene.sync();
    expect(await scene.served()).toEqual(["www A"]);
  });

  test("even if the record came with a change whose answer was lost, and then more records changed than a zone notes one by one", async () => {
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

  test("even if the record came with one of several changes, and a later change failed", async () => {
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

test("a record that the provider cannot hold stays pending, and delays no other record", async () => {
  const { add, remove, records, sync, zone, provider } = await newScene();
  const isLong = (one: ZoneChange): boolean => "put" in one && one.put.name.startsWith("long.");
  const changeZone: Dns["changeZone"] = async (zoneId, changes) => {
    const refused = changes.flatMap((one) => ("put" in one && isLong(one) ? [one.put] : []));
    return {
      ...(await provider.changeZone(
        zoneId,
        changes.filter((one) => !isLong(one)),
      )),
      refused,
    };
  };
  const shown = async () => {
    const views = (await records()).map(async (record) => recordView(record, await zone()));
    return Object.fromEntries((await Promise.all(views)).map(({ name, zone_status }) => [name, zone_status]));
  };
  await add({ name: "long", type: "TXT", value: "é" }, { name: "www" });
  await sync({ changeZone });
  expect(await shown()).toEqual({ long: "pending", www: "in_sync" });
  await add({ name: "other" });
  await sync({ changeZone });
  expect(await shown()).toEqual({ long: "pending", www: "in_sync", other: "in_sync" });
  await remove("long");
  await sync({ changeZone });
  expect((await zone()).refused).toEqual([]);
});
