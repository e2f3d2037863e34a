import * as z from "zod";

import { planOperations, type Ledger } from "../../shared/ledger/ledger.ts";
import { Overdrawn, type Operation } from "../../shared/ledger/movement.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Write } from "../../shared/table/writes.ts";
import { type MemoryStore, openMemoryTable } from "../support/memory-table.ts";
import type { Random } from "./random.ts";

/*
 * How a process serves a caller, and how a region takes over, as docs/multi-region.md describes it. The ledger is the
 * product's own. The order of steps is the order in top-ups and purchases: first a row, then the provider, then the
 * ledger.
 */
const partition = "ACCOUNT#a";
export const ledger: Ledger = { partition, limited: ["wallet"] };
const requestKey = (id: string) => ({ PK: partition, SK: `REQUEST#${id}` });
const Request = z.object({ status: z.enum(["asked", "done", "refused"]) });

/** The mistakes that can be planted in a fail-over. */
export const failoverBugs = ["no-fencing", "not-asking", "no-wait", "torn-ledger", "new-ids"] as const;
export type FailoverBug = (typeof failoverBugs)[number];

export type Region = "west" | "east";

/** The state that the processes of both regions share: the providers, the directory, and turns. */
export type Planet = {
  stores: Record<Region, MemoryStore>;
  /** The region that writes the account; undefined during a fail-over. */
  writer: () => Region | undefined;
  /** Waits for the next turn of the process. This turn may never come. */
  turn: (point: string) => Promise<void>;
  /** Throws if the region may not act for the account. */
  requireLease: (region: Region) => void;
  /** Sends a request to a provider. Its effect comes later, even if the caller is dead by then. */
  call: (effect: () => void) => Promise<void>;
  /** The charges at the payment provider, by the ids of the callers' requests. */
  charges: Map<string, number>;
  /** The operations at the registrar, by the ids of the callers' requests. */
  operations: Map<string, { name: string; price: number; isDone: boolean }>;
  bug: FailoverBug | undefined;
  note: (line: string) => void;
};

/** Thrown in a process that may not act any more. Its caller gets 503, and tries again. */
export class NotWriter extends Error {}

/** The table of a region, with a turn before each call. */
const tableIn = ({ stores, turn }: Planet, region: Region) =>
  openMemoryTable(stores[region], {
    step: async (point) => {
      await turn(`${region} ${point}`);
      return undefined;
    },
  });

/** A wish of a caller, with the id that the caller chose. */
export type Intent = { kind: "topup" | "purchase"; id: string; amount: number; isPossible?: boolean };

const now = new Date(0);

const posting = ({ kind, id, amount }: Pick<Intent, "kind" | "id" | "amount">): Operation =>
  kind === "topup"
    ? { kind: "transfer", id, debit: "payments", credit: "wallet", amount, code: "topup" }
    : { kind: "hold", id, debit: "wallet", credit: "registrar", amount, code: "purchase" };

/** Posts operations in one transaction with other writes. Throws if the region may not write. */
const post = (
  planet: Planet,
  region: Region,
  table: Table,
  operations: readonly Operation[],
  others: readonly Write[],
) =>
  table.commit(async () => {
    planet.requireLease(region);
    const { writes } = await planOperations(table, ledger, operations, now);
    return { value: undefined, writes: [...writes, ...others] };
  });

/**
 * Fulfils the wish of a caller in the region that writes the account. After a death or a `NotWriter`, the next call
 * finishes the wish.
 */
export async function perform(planet: Planet, intent: Intent, random: Random): Promise<void> {
  await planet.turn("is routed");
  const region = planet.writer();
  if (region === undefined) throw new NotWriter();
  const table = tableIn(planet, region);
  const id = planet.bug === "new-ids" ? `${intent.id}/${random.below(1e6)}` : intent.id;
  const asked: Write = { put: { ...requestKey(id), status: "asked" } };
  const over = (status: "done" | "refused"): Write => ({ put: { ...requestKey(id), status } });
  const request = await table.get(requestKey(id), Request);
  if (request && request.status !== "asked") return;
  if (intent.kind === "topup") {
    await post(planet, region, table, [], [asked]);
    planet.requireLease(region);
    await planet.call(() => planet.charges.set(id, intent.amount));
    return post(planet, region, table, [posting({ ...intent, id })], [over("done")]);
  }
  try {
    await post(planet, region, table, [posting({ ...intent, id })], [asked]);
  } catch (error) {
    if (!(error instanceof Overdrawn)) throw error;
    return post(planet, region, table, [], [over("refused")]);
  }
  planet.requireLease(region);
  const isDone = intent.isPossible ?? false;
  await planet.call(() => planet.operations.set(id, { name: `${id}.example`, price: intent.amount, isDone }));
  await post(planet, region, table, [{ kind: isDone ? "capture" : "void", id }], [over(isDone ? "done" : "refused")]);
}

/**
 * Makes `east` ready to write the account. The copy in `east` can lack items of the last seconds, and can have half of
 * a transaction. So the ledger is made anew from the records of the providers. If the process dies at any step, another
 * call does all of the work again.
 */
export async function takeOver(planet: Planet): Promise<void> {
  if (planet.bug === "torn-ledger") return;
  const table = tableIn(planet, "east");
  const copied = await table.between(partition, "LEDGER#", "LEDGER#~");
  const ids = new Set(copied.map(({ SK }) => /^LEDGER#MOVEMENT#(.+)$/.exec(SK)?.[1] ?? ""));
  const isKnown = (id: string) => planet.bug !== "not-asking" || ids.has(id);
  const charges = [...planet.charges].filter(([id]) => isKnown(id));
  const operations = [...planet.operations].filter(([id]) => isKnown(id));
  // The new ledger replaces the copied one in one transaction. A longer ledger would first go to a partition of its
  // own.
  await table.commit(async () => {
    const empty: Table = {
      ...table,
      getMany: async (keys) => keys.map(() => undefined),
      between: async () => [],
      get: async () => undefined,
    };
    const posted = [
      ...charges.map(([id, amount]) => posting({ kind: "topup", id, amount })),
      ...operations.flatMap(([id, { price, isDone }]): Operation[] =>
        isDone ? [posting({ kind: "purchase", id, amount: price }), { kind: "capture", id }] : [],
      ),
    ];
    const { writes } = await planOperations(empty, ledger, posted, now);
    const puts = writes.map(({ if: _, ...write }) => write as Write);
    const keys = new Set(puts.flatMap((write) => ("put" in write ? [write.put.SK] : [])));
    const gone: Write[] = copied.filter(({ SK }) => !keys.has(SK)).map(({ PK, SK }) => ({ delete: { PK, SK } }));
    const answered: Write[] = [
      ...charges.map(([id]) => ({ put: { ...requestKey(id), status: "done" } })),
      ...operations.map(([id, { isDone }]) => ({ put: { ...requestKey(id), status: isDone ? "done" : "refused" } })),
    ];
    return { value: undefined, writes: [...puts, ...gone, ...answered] };
  });
  // A request that no provider knows was never sent. It begins anew, with the same id.
  for (const { SK } of await table.between(partition, "REQUEST#", "REQUEST#~")) {
    const id = SK.slice("REQUEST#".length);
    if (planet.charges.has(id) || planet.operations.has(id) || !isKnown(id)) continue;
    await table.attempt({ delete: requestKey(id), if: { status: "asked" } });
  }
}
