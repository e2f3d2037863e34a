import type { Usage } from "../../shared/table/connection.ts";
import { appendRows, readList, removeRows, type List } from "../../shared/table/ranked-list.ts";
import { deleteWorkspace } from "../../shared/workspace-deletion.ts";
import { addWorkspace, listWorkspaces } from "../../shared/workspaces.ts";
import { meter, plainContext, type BenchContext } from "./context.ts";
import { onOwnEngine } from "./engine.ts";
import type { Figure } from "./suite.ts";

const rows = 100_000;
const deletedShare = 0.1;
const batch = 90;

/** What a page, an addition and a deletion cost in an account of 100,000 workspaces, 10 % of them deleted at random. */
export const pageCost = (): Promise<Figure[]> => onOwnEngine(measure);

async function measure(): Promise<Figure[]> {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  // What every change is recorded with has a bench of its own.
  const context = plainContext(usage);
  const { accountId } = context;
  await fill(context);

  const spent = meter(usage);
  const page = (number: number) => spent(() => listWorkspaces(accountId, { page: number, page_size: 25 }, context));
  const first = await page(1);
  const lastPage = Math.floor(first.value.total / 25);
  const [middle, last] = [await page(lastPage >> 1), await page(lastPage)];
  const added = await spent(() => addWorkspace(accountId, "One more", context));
  const removed = await spent(() => deleteWorkspace(accountId, middle.value.items[7]?.id ?? "", context));
  return [
    { name: `page 1 of ${lastPage}, ${first.value.total} live rows`, value: first.readUnits, unit: "read units" },
    { name: `page ${lastPage >> 1}`, value: middle.readUnits, unit: "read units" },
    { name: `page ${lastPage}`, value: last.readUnits, unit: "read units" },
    { name: "last page / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
    { name: "sequential calls of the last page", value: last.calls, unit: "calls", bar: 4 },
    { name: "add, with its uniqueness item", value: added.writeUnits, unit: "write units", bar: 8 },
    { name: "delete, with its uniqueness item", value: removed.writeUnits, unit: "write units", bar: 10 },
  ];
}

/** Rows as large as workspaces are, added and deleted through the list itself, many in one transaction. */
async function fill({ table, accountId }: BenchContext): Promise<void> {
  const list: List = { partition: `ACCOUNT#${accountId}`, name: "workspaces" };
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
