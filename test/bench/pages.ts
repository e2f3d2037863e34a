import { deleteWorkspace } from "../../shared/deletion/workspace.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { appendRows, readList, removeRows, type List } from "../../shared/table/ranked-list.ts";
import { addWorkspace, listWorkspaces } from "../../shared/workspaces/workspace.ts";
import { meter, plainContext, type BenchContext } from "./context.ts";
import { onOwnEngine } from "./engine.ts";
import { median, type Figure, type Measured, type Options } from "./suite.ts";

const deletedShare = 0.1;
const batch = 90;
const pageSize = 25;
const runs = 5;

/** What one page costs: read units, sequential calls, and the median milliseconds with the embedded engine. */
type PageCost = { units: number; calls: number; ms: number };

/** The same pages of one list, and its last page by reading every row before it, as a query with a counter does. */
type Size = { rows: number; live: number; first: PageCost; middle: PageCost; last: PageCost; brute: PageCost };
export type PagesData = { pageSize: number; sizes: Size[] };

/** What pages, an addition and a deletion cost in accounts of up to 100,000 workspaces, 10 % of them deleted at random. */
export const pageCost = ({ quick }: Options): Promise<Measured> =>
  onOwnEngine(async () => {
    const sizes: Size[] = [];
    const changes: Figure[] = [];
    for (const rows of [1_000, 10_000, ...(quick ? [] : [100_000])]) {
      const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
      // What every change is recorded with has a bench of its own.
      const context = plainContext(usage);
      await fill(context, rows);
      const size = await measure(context, usage, rows);
      sizes.push(size);
      changes.splice(0, changes.length, ...(await changeCost(context, usage)));
    }
    const data: PagesData = { pageSize, sizes };
    return { figures: [...sizes.flatMap(figuresOf), ...changes], data };
  });

async function measure(context: BenchContext, usage: Usage, rows: number): Promise<Size> {
  const { accountId, table } = context;
  const page = (number: number) => () => listWorkspaces(accountId, { page: number, page_size: pageSize }, context);
  const { total } = await page(1)();
  const lastPage = Math.ceil(total / pageSize);
  const { partition, name } = listOf(accountId);
  const brute = async () => {
    const all = await table.between(partition, `LIST#${name}#ROW#`, `LIST#${name}#ROW#~`);
    return { items: all.slice((lastPage - 1) * pageSize), total: all.length };
  };
  const last = await costOf(usage, page(lastPage));
  const [ours, theirs] = [await page(lastPage)(), await brute()];
  if (theirs.total !== total || theirs.items.length !== ours.items.length) throw new Error("the two pages differ");
  return {
    rows,
    live: total,
    first: await costOf(usage, page(1)),
    middle: await costOf(usage, page(lastPage >> 1)),
    last,
    brute: await costOf(usage, brute),
  };
}

async function costOf(usage: Usage, read: () => Promise<unknown>): Promise<PageCost> {
  const ms: number[] = [];
  for (let run = 0; run < runs; run++) {
    Object.assign(usage, { readUnits: 0, writeUnits: 0, calls: 0 });
    const startedAt = performance.now();
    await read();
    ms.push(performance.now() - startedAt);
  }
  return { units: usage.readUnits, calls: usage.calls, ms: median(ms) };
}

function figuresOf({ rows, live, first, middle, last, brute }: Size): Figure[] {
  const title = `${rows} rows`;
  return [
    { name: `${title}: page 1 of ${live} live ones`, value: first.units, unit: "read units" },
    { name: `${title}: the middle page`, value: middle.units, unit: "read units" },
    { name: `${title}: the last page`, value: last.units, unit: "read units" },
    { name: `${title}: the last page by brute force`, value: brute.units, unit: "read units" },
    { name: `${title}: last page / page 1`, value: last.units / first.units, unit: "×", bar: 1.2 },
    { name: `${title}: sequential calls of the last page`, value: last.calls, unit: "calls", bar: 4 },
    { name: `${title}: … by brute force`, value: brute.calls, unit: "calls" },
  ];
}

async function changeCost(context: BenchContext, usage: Usage): Promise<Figure[]> {
  const { accountId } = context;
  const spent = meter(usage);
  const { items } = await listWorkspaces(accountId, { page: 2, page_size: pageSize }, context);
  const added = await spent(() => addWorkspace(accountId, "One more", context));
  const removed = await spent(() => deleteWorkspace(accountId, items[7]?.id ?? "", context));
  return [
    { name: "add, with its uniqueness item", value: added.writeUnits, unit: "write units", bar: 8 },
    { name: "delete, with its uniqueness item", value: removed.writeUnits, unit: "write units", bar: 10 },
  ];
}

const listOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "workspaces" });

/** Rows as large as workspaces are, added and deleted through the list itself, many in one transaction. */
async function fill({ table, accountId }: BenchContext, rows: number): Promise<void> {
  const list = listOf(accountId);
  const at = new Date().toISOString();
  const row = (ordinal: number) => ({
    id: `${ordinal
      .toString(16)
      .padStart(10, "0")
      .replace(/^(.{8})(..)$/, "$1-$2")}00-8000-8000-000000000000`,
    account_id: accountId,
    name: `Workspace number ${ordinal}`,
    status: "active",
    created_at: at,
    updated_at: at,
    domain_count: 0,
    version: 1,
  });
  for (let start = 0; start < rows; start += batch) {
    await table.commit(async () => {
      const { state } = await readList(table, list);
      const many = Array.from({ length: Math.min(batch, rows - start) }, (_, index) => row(start + index));
      return { value: undefined, writes: appendRows(state, many) };
    });
  }
  const doomed = Array.from({ length: rows }, (_, ordinal) => ordinal).filter(() => Math.random() < deletedShare);
  for (let start = 0; start < doomed.length; start += batch) {
    const ordinals = doomed.slice(start, start + batch);
    await table.commit(async () => {
      const { state } = await readList(table, list, ordinals);
      return { value: undefined, writes: removeRows(state, ordinals) };
    });
  }
}
