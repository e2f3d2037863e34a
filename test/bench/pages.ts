import { listAuditEntries } from "../../shared/audit/audit.ts";
import { changeJournalOf, recordWrites } from "../../shared/changes/record.ts";
import { idWithOrdinal } from "../../shared/core/ids.ts";
import { deleteWorkspace } from "../../shared/deletion/workspace.ts";
import { indexEntries } from "../../shared/table/journal.ts";
import { appendRows, readList, removeRows } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";
import { addWorkspace, listWorkspaces } from "../../shared/workspaces/workspace.ts";
import { inTurns, median, type Figure, type Options, type Result } from "./harness.ts";
import { shown, table as tableOf } from "./page.ts";
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
  const changes = sizes.at(-1)?.changes ?? [];
  const figures = [...sizes.flatMap(({ figures }) => figures), ...changes, ...(await measureJournal())];
  return { figures, chapter: chapterOf(sizes) };
}

const entries = 100_000;
const perTransaction = 80;

/** Costs of pages of 100 in an audit log with 100,000 entries on one day, as bursts of 80 in a millisecond. */
async function measureJournal(): Promise<Figure[]> {
  const { accountId, table, plain, measure } = await newScene();
  const startMs = Date.parse("2100-03-01T00:00:00Z");
  const timeAt = (place: number) => new Date(startMs + Math.floor(place / perTransaction) * 60_000);
  const context = { ...plain, now: () => timeAt(entries * 2) };
  const author = { action: "workspaces.update", actor: { type: "user" as const, id: "u" }, requestId: "bench" };
  const view = { id: "w", name: "A workspace of the bench", settings: "x".repeat(150) };
  const one = { type: "workspace.updated", resource: { type: "workspace", id: "w" }, before: view, after: view };
  for (let place = 0; place < entries; place += perTransaction) {
    const writes = recordWrites(
      accountId,
      Array.from({ length: perTransaction }, () => one),
      author,
      timeAt(place),
    );
    await table.commit(async () => ({ value: undefined, writes }));
  }
  const indexed = await measure(() =>
    indexEntries(table, changeJournalOf(accountId), { since: timeAt(0) }, context.now()),
  );
  const span = { since: timeAt(4_321).toISOString(), until: timeAt(95_678).toISOString() };
  const figures: Figure[] = [
    { name: `${entries} entries: indexing them`, value: indexed.writeUnits, unit: "write units" },
  ];
  for (const [name, between, last] of [
    ["audit log of one day", { since: timeAt(0).toISOString() }, 1_000],
    ["… cut by a span", span, 913],
  ] as const) {
    const page = async (number: number) => {
      const query = { page: number, page_size: 100, ...between };
      return (await measure(() => listAuditEntries(accountId, query, context))).readUnits;
    };
    const first = await page(1);
    const others: number[] = [];
    for (const number of [2, 100, 250, 501, 777, last]) others.push(await page(number));
    figures.push(
      { name: `${name}: page 1`, value: first, unit: "read units" },
      { name: `${name}: another page at most`, value: Math.max(...others), unit: "read units", bar: 1.2 * first + 10 },
    );
  }
  return figures;
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
    const [samples = []] = await inTurns(rounds, [() => measure(read)]);
    const { readUnits: units = 0, calls = 0 } = samples[0] ?? {};
    return { units, calls, ms: median(samples.map(({ ms }) => ms)) };
  };
  const costs = {
    "page 1": await costOf(() => page(1)),
    "the middle page": await costOf(() => page(lastPage >> 1)),
    "the last page": await costOf(() => page(lastPage)),
    "… by brute force": await costOf(readAll),
  };
  const { items } = await page(2);
  const added = await measure(() => addWorkspace(accountId, "One more", context));
  const removed = await measure(() => deleteWorkspace(accountId, items[7]?.id ?? "", context));
  const changes: Figure[] = [
    { name: "add, with its uniqueness item", value: added.writeUnits, unit: "write units", bar: 8 },
    { name: "delete, with its uniqueness item", value: removed.writeUnits, unit: "write units", bar: 10 },
  ];
  const { "page 1": first, "the middle page": middle, "the last page": last, "… by brute force": brute } = costs;
  const figures: Figure[] = [
    { name: `${rows} rows: page 1 of ${total} live ones`, value: first.units, unit: "read units" },
    { name: `${rows} rows: the middle page`, value: middle.units, unit: "read units" },
    { name: `${rows} rows: the last page`, value: last.units, unit: "read units" },
    { name: `${rows} rows: the last page by brute force`, value: brute.units, unit: "read units" },
    { name: `${rows} rows: last page / page 1`, value: last.units / first.units, unit: "×", bar: 1.2 },
    { name: `${rows} rows: sequential calls of the last page`, value: last.calls, unit: "calls", bar: 4 },
    { name: `${rows} rows: … by brute force`, value: brute.calls, unit: "calls" },
  ];
  return { rows, total, costs, figures, changes };
}

function chapterOf(sizes: readonly Awaited<ReturnType<typeof measureSize>>[]): string {
  const rows = sizes.flatMap(({ rows, total, costs }) =>
    Object.entries(costs).map(([which, { units, calls, ms }]) => [
      shown(rows, 0),
      shown(total, 0),
      which,
      shown(units, 0),
      `${calls}`,
      shown(ms),
    ]),
  );
  return `## Pages

This suite reads pages of ${pageSize} rows of a list with its exact total. A tenth of the rows is deleted at random.

Brute force is a strongly consistent query of all rows, which counts them and keeps the page. In DynamoDB an exact total and a page number
otherwise cost that much. The milliseconds are those of the embedded engine.

${tableOf(["Rows made", "Live", "", "Read units", "Calls in a row", "ms"], rows)}
`;
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
  for (let start = 0; start < rows; start += batch) {
    await table.commit(async () => {
      const { state } = await readList(table, list);
      return { value: undefined, writes: appendRows(state, all.slice(start, start + batch).map(rowOf)) };
    });
  }
  const deleted = all.filter(() => Math.random() < deletedShare);
  for (let start = 0; start < deleted.length; start += batch) {
    const ordinals = deleted.slice(start, start + batch);
    await table.commit(async () => {
      const { state } = await readList(table, list, ordinals);
      return { value: undefined, writes: removeRows(state, ordinals) };
    });
  }
}
