import { listAuditEntries } from "../../shared/audit/audit.ts";
import { changeJournalOf, recordWrites } from "../../shared/changes/record.ts";
import { chunk } from "../../shared/core/concurrency.ts";
import { idWithOrdinal } from "../../shared/core/ids.ts";
import { deleteWorkspace } from "../../shared/deletion/workspace.ts";
import { indexEntries } from "../../shared/table/journal.ts";
import { appendRows, readList, removeRows } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";
import { addWorkspace, listWorkspaces, workspacesOf } from "../../shared/workspaces/workspace.ts";
import { inTurns, mapValues, median, type Figure, type Options, type Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const deletedShare = 0.1;
/** The number of rows in one transaction. */
const batch = 90;
const pageSize = 25;
const rounds = 5;

/**
 * Measures pages, an addition and a deletion in accounts of up to 100,000 workspaces. Before, about 10 % of the
 * workspaces are deleted at random.
 */
export async function run({ quick }: Options): Promise<Result> {
  const sizes: Awaited<ReturnType<typeof measureSize>>[] = [];
  for (const rows of [1_000, 10_000, ...(quick ? [] : [100_000])]) sizes.push(await measureSize(rows));
  const changes = sizes.at(-1)?.changes ?? [];
  return {
    figures: [...sizes.flatMap(({ figures }) => figures), ...changes, ...(await measureJournal())],
    tables: { "Pages of a list": sizes.flatMap(({ table }) => table) },
  };
}

const entries = 100_000;
const perTransaction = 80;

/**
 * Measures pages of 100 in an audit log with 100,000 entries on one day. Every minute has 80 entries at one instant.
 */
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
    ["a part of the audit log of one day", span, 913],
  ] as const) {
    const page = async (number: number) => {
      const query = { page: number, page_size: 100, order: "desc", ...between } as const;
      return (await measure(() => listAuditEntries(accountId, query, context))).readUnits;
    };
    const first = await page(1);
    const others: number[] = [];
    for (const number of [2, 100, 250, 501, 777, last]) others.push(await page(number));
    figures.push(
      { name: `${name}: page 1`, value: first, unit: "read units" },
      {
        name: `${name}: any page but the first, at most`,
        value: Math.max(...others),
        unit: "read units",
        bar: 1.2 * first + 10,
      },
    );
  }
  return figures;
}

async function measureSize(rows: number) {
  const { accountId, table, plain: context, measure } = await newScene();
  const template = await addWorkspace(accountId, "Workspace number 0", context);
  await fill(table, template, rows);
  const page = (number: number) => listWorkspaces(accountId, { page: number, page_size: pageSize }, context);
  const { total } = await page(1);
  const lastPage = Math.ceil(total / pageSize);
  const readAll = async () => {
    const all = await table.between(`ACCOUNT#${accountId}`, "LIST#workspaces#ROW#", "LIST#workspaces#ROW#~");
    return { items: all.slice((lastPage - 1) * pageSize), total: all.length };
  };
  const [ours, theirs] = [await page(lastPage), await readAll()];
  if (theirs.total !== total || theirs.items.length !== ours.items.length) throw new Error("the two pages differ");
  const reads: Record<string, () => Promise<unknown>> = {
    [`page 1 of ${total} live ones`]: () => page(1),
    "the middle page": () => page(lastPage >> 1),
    "the last page": () => page(lastPage),
    "the last page by brute force": readAll,
  };
  const samples = await inTurns(
    rounds,
    mapValues(reads, (read) => () => measure(read)),
  );
  const costs = Object.entries(samples).map(([name, own]) => {
    const [readUnits = 0] = own.map((one) => one.readUnits);
    const [calls = 0] = own.map((one) => one.calls);
    return { name, readUnits, calls, ms: median(own.map(({ ms }) => ms)) };
  });
  const [first, , last, brute] = costs;
  const ratio = (last?.readUnits ?? 0) / (first?.readUnits ?? 0);
  const { items } = await page(2);
  const added = await measure(() => addWorkspace(accountId, "One more", context));
  const removed = await measure(() => deleteWorkspace(accountId, items[7]?.id ?? "", context));
  return {
    figures: [
      ...costs.map(({ name, readUnits }) => ({ name: `${rows} rows: ${name}`, value: readUnits, unit: "read units" })),
      { name: `${rows} rows: last page / page 1`, value: ratio, unit: "×", bar: 1.2 },
      { name: `${rows} rows: sequential calls of the last page`, value: last?.calls ?? 0, unit: "calls", bar: 4 },
      { name: `${rows} rows: … by brute force`, value: brute?.calls ?? 0, unit: "calls" },
    ],
    changes: [
      { name: "add, with its uniqueness item", value: added.writeUnits, unit: "write units", bar: 8 },
      { name: "delete, with its uniqueness item", value: removed.writeUnits, unit: "write units", bar: 10 },
    ],
    table: costs.map(({ name: Page, readUnits, calls, ms }) => {
      return { "Rows made": rows, Page, "Read units": readUnits, "Calls in a row": calls, ms };
    }),
  };
}

type Template = Awaited<ReturnType<typeof addWorkspace>>;

/** Adds rows like `template` to its list, and deletes some of them. A transaction adds or deletes up to 90 rows. */
async function fill(table: Table, template: Template, rows: number): Promise<void> {
  const list = workspacesOf(template.account_id);
  const ordinals = Array.from({ length: rows - 1 }, (_, index) => index + 1);
  const rowOf = (ordinal: number) => ({ ...template, id: idWithOrdinal(ordinal), name: `Workspace number ${ordinal}` });
  for (const some of chunk(batch, ordinals)) {
    await table.commit(async () => {
      const { state } = await readList(table, list);
      return { value: undefined, writes: appendRows(state, some.map(rowOf)) };
    });
  }
  const deleted = ordinals.filter(() => Math.random() < deletedShare);
  for (const some of chunk(batch, deleted)) {
    await table.commit(async () => {
      const { state } = await readList(table, list, some);
      return { value: undefined, writes: removeRows(state, some) };
    });
  }
}
