import { randomUUID } from "node:crypto";

import { createLog } from "../../shared/core/log.ts";
import { hourMs, minuteMs } from "../../shared/core/time.ts";
import { migrations } from "../../shared/migrations/migration.ts";
import { forgetProgress } from "../../shared/migrations/progress.ts";
import { type MigrationsSwept, sweepMigrations } from "../../shared/migrations/sweep.ts";
import type { Table } from "../../shared/table/table.ts";
import { type Item, keyText } from "../../shared/table/writes.ts";
import { createMemoryStore, everything, openMemoryTable } from "../support/memory-table.ts";
import { mortal } from "../support/mortal.ts";

type Migrated = {
  /** All rows afterwards, without the progress of the migrations. */
  rows: Item[];
  /** The rows that the migrations added or changed. */
  changed: Item[];
  /** How many runs died before the migrations were finished. */
  deaths: number;
  /**
   * The results of a run after all migrations, and of a run after all migrations were done a second time. Both runs
   * must write nothing.
   */
  repeated: MigrationsSwept[];
};

/** The largest number of table calls before a run dies. A run that migrates one account makes fewer calls. */
const longestLife = 40;

/**
 * Migrates the rows of an edition in memory. `from` is the time of the first run. The runs die after one call of the
 * table, after two calls and so on, up to `longestLife`. Each run continues where the run before it died.
 */
export async function migrate(items: readonly Item[], from: Date): Promise<Migrated> {
  const store = createMemoryStore();
  for (const item of items) {
    const partition = store.partitions.get(item.PK) ?? new Map<string, Item>();
    store.partitions.set(item.PK, partition.set(item.SK, item));
  }
  let at = from.getTime();
  const table = openMemoryTable(store);
  const sweep = (by: Table): Promise<MigrationsSwept> => {
    // After seven minutes, the claim of a process that died has ended.
    at += 7 * minuteMs;
    const context = { table: by, now: () => new Date(at), log: createLog("silent", {}), requestId: randomUUID() };
    return sweepMigrations(context, { pageSize: 1, atOnce: 1, most: 100_000 });
  };
  await sweep(table);
  at += hourMs;
  let deaths = 0;
  let isFinished = false;
  while (!isFinished) {
    const life = 1 + (deaths % longestLife);
    isFinished = await sweep(mortal(table, life)).then(
      ({ unfinished }) => unfinished === 0,
      () => false,
    );
    if (!isFinished) deaths += 1;
  }
  const before = new Map(items.map((item) => [keyText(item), item]));
  const rows = everything(store).filter(({ PK }) => PK !== "MIGRATIONS");
  const changed = rows.filter((item) => before.get(keyText(item)) !== item);
  const repeated = [await sweep(table)];
  for (const { name } of migrations) await forgetProgress(table, name);
  await sweep(table);
  at += hourMs;
  repeated.push(await sweep(table));
  return { rows, changed, deaths, repeated };
}
