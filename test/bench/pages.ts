import { chunk } from "../../shared/core/concurrency.ts";
import { idWithOrdinal } from "../../shared/core/ids.ts";
import { deleteWorkspace } from "../../shared/deletion/workspace.ts";
import { appendRows, readList, removeRows } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";
import { addWorkspace, listWorkspaces } from "../../shared/workspaces/workspace.ts";
import { inTurns, median, type Options, type Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const deletedShare = 0.1;
/** Rows in one transaction. */
const batch = 90;
const pageSize = 25;
const rounds = 5;

/** Costs of pages, an addition and a deletion in accounts of up to 100,000 workspaces, 10 % of them deleted at random. */
export async function run({ quick }: Options): Promise<Result> {
  const sizes: Awaited<ReturnType<typeof measureSize>>[] = [];
  for (const rows of [1_000, 10_000, ...(quick ? [] : [100_000])]) sizes.push(await measureSize(rows));
  return {
    figures: [...sizes.flatMap(({ figures }) => figures), ...(sizes.at(-1)?.changes ?? [])],
    tables: { "Pages of a list": sizes.flatMap(({ table }) => table) },
  };
}

async function measureSize(rows: number) {
  const { accountId, table, plain: context, measure } = await newScene();
  await fill(table, accountId, rows);
  const page = (number: number) => listWorkspaces(accountId, { page: number, page_size: pageSize }, context);
  const { total } = await page(1);
  const lastPage = Math.ceil(total / pageSize);
  const readAll = async () => {
    const all = await table.between(`ACCOUNT#${accountId}`, "LIST#workspaces#ROW#", "LIST#workspaces#ROW#~");
    return { items: all.slice((lastPage - 1) * pageSize), total: all.length };
  };
  const [ours, theirs] = [await page(lastPage), await readAll()];
  if (theirs.total !== total || theirs.items.length !== ours.items.length) throw new Error("the two pages differ");
  const costOf = async (read: () => Promise<unknown>) => {
    const { samples } = await inTurns(rounds, { samples: () => measure(read) });
    const { readUnits: units = 0, calls = 0 } = samples[0] ?? {};
    return { units, calls, ms: median(samples.map(({ ms }) => ms)) };
  };
  const [first, middle] = [await costOf(() => page(1)), await costOf(() => page(lastPage >> 1))];
  const [last, brute] = [await costOf(() => page(lastPage)), await costOf(readAll)];
  const { items } = await page(2);
  const added = await measure(() => addWorkspace(accountId, "One more", context));
  const removed = await measure(() => deleteWorkspace(accountId, items[7]?.id ?? "", context));
  const costs = { "page 1": first, "the middle page": middle, "the last page": last, "… by brute force": brute };
  return {
    figures: [
      { name: `${rows} rows: page 1 of ${total} live ones`, value: first.units, unit: "read units" },
      { name: `${rows} rows: the middle page`, value: middle.units, unit: "read units" },
      { name: `${rows} rows: the last page`, value: last.units, unit: "read units" },
      { name: `${rows} rows: the last page by brute force`, value: brute.units, unit: "read units" },
      { name: `${rows} rows: last page / page 1`, value: last.units / first.units, unit: "×", bar: 1.2 },
      { name: `${rows} rows: sequential calls of the last page`, value: last.calls, unit: "calls", bar: 4 },
      { name: `${rows} rows: … by brute force`, value: brute.calls, unit: "calls" },
    ],
    changes: [
      { name: "add, with its uniqueness item", value: added.writeUnits, unit: "write units", bar: 8 },
      { name: "delete, with its uniqueness item", value: removed.writeUnits, unit: "write units", bar: 10 },
    ],
    table: Object.entries(costs).map(([Page, { units, calls, ms }]) => {
      return { "Rows made": rows, Live: total, Page, "Read units": units, "Calls in a row": calls, ms };
    }),
  };
}

/** Adds rows as large as workspaces through the list itself, and deletes some of them, many in one transaction. */
async function fill(table: Table, accountId: string, rows: number): Promise<void> {
  const list = { partition: `ACCOUNT#${accountId}`, name: "workspaces" };
  const at = new Date().toISOString();
  const settings = { account_id: accountId, status: "active", created_at: at, updated_at: at };
  const rowOf = (ordinal: number) => ({
    id: idWithOrdinal(ordinal),
    name: `Workspace number ${ordinal}`,
    ...settings,
    domain_count: 0,
    version: 1,
  });
  const all = Array.from({ length: rows }, (_, ordinal) => ordinal);
  for (const some of chunk(batch, all)) {
    await table.commit(async () => {
      const { state } = await readList(table, list);
      return { value: undefined, writes: appendRows(state, some.map(rowOf)) };
    });
  }
  const deleted = all.filter(() => Math.random() < deletedShare);
  for (const ordinals of chunk(batch, deleted)) {
    await table.commit(async () => {
      const { state } = await readList(table, list, ordinals);
      return { value: undefined, writes: removeRows(state, ordinals) };
    });
  }
}
