import { readFile, rename, writeFile } from "node:fs/promises";

import * as z from "zod";

import { accountIds } from "../../../shared/accounts/account.ts";
import { changeRows } from "../../../shared/changes/history.ts";
import { chunk } from "../../../shared/core/concurrency.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import type { Deliver } from "./event-source.ts";

/*
 * The table's stream, on one machine: the embedded engine's own slows every write down. A row bears the time
 * of its request but appears with the commit, up to a request's longest life later, so what was read once is read
 * again: the last second by every poll, the last half minute by a sweep every ten seconds.
 */
const overlapMs = 30_000;
const recentMs = 1_000;
const sweepMs = 10_000;
const batchSize = 100;

/** What `$DATA_DIR/change-feed.json` holds: all changes before `swept_at_ms` less the overlap are delivered, and so are `ids`. */
const State = z.object({ swept_at_ms: z.number(), ids: z.array(z.string()) });
type State = z.output<typeof State>;

export type ChangeFeedOptions = {
  table: Table;
  /** Where it keeps how far it is. */
  file: string;
  deliver: Deliver;
  now?: () => number;
};

export type ChangeFeed = {
  /** Delivers the changes of all accounts that were not delivered yet, each account's in order; one poll at a time. */
  poll: () => Promise<void>;
  /** Lets the batch at work finish and no other one begin. */
  stop: () => void;
};

/** The feed that goes on where the one before it, on the same file, left off; the first one begins at the beginning. */
export async function openChangeFeed(options: ChangeFeedOptions): Promise<ChangeFeed> {
  const { table, file, deliver, now = Date.now } = options;
  const kept = await readState(file);
  const delivered = new Map(kept.ids.map((id) => [id, timeOf(id)]));
  let sweptAtMs = kept.swept_at_ms;
  let polledAtMs: number | undefined;
  let isSaved = true;
  let isStopping = false;

  async function deliverAccount(accountId: string, sinceMs: number): Promise<void> {
    for await (const rows of changeRows(table, accountId, { sinceMs })) {
      const fresh = rows.filter((row) => !delivered.has(idOf(row)));
      for (const batch of chunk(batchSize, fresh)) {
        if (isStopping) return;
        await deliver(batch);
        for (const id of batch.map(idOf)) delivered.set(id, timeOf(id));
        isSaved = false;
      }
    }
  }

  return {
    poll: async () => {
      const startedAtMs = now();
      const isSweep = polledAtMs === undefined || startedAtMs - sweptAtMs >= sweepMs;
      const sinceMs = isSweep ? sweptAtMs - overlapMs : (polledAtMs ?? 0) - recentMs;
      try {
        for await (const accountId of accountIds(table)) {
          if (isStopping) return;
          await deliverAccount(accountId, sinceMs);
        }
        if (isStopping) return;
        polledAtMs = startedAtMs;
        if (isSweep) {
          sweptAtMs = startedAtMs;
          isSaved = false;
          for (const [id, atMs] of delivered) if (atMs < sweptAtMs - overlapMs) delivered.delete(id);
        }
      } finally {
        if (!isSaved) await writeState(file, { swept_at_ms: sweptAtMs, ids: [...delivered.keys()] });
        isSaved = true;
      }
    },
    stop: () => {
      isStopping = true;
    },
  };
}

const idOf = ({ SK }: Item): string => SK.split("#").at(-1) ?? SK;

/** The instant in a UUIDv7, in milliseconds. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** A file that is not there or cannot be read means to begin at the beginning: twice is better than not at all. */
async function readState(file: string): Promise<State> {
  try {
    return State.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return { swept_at_ms: 0, ids: [] };
  }
}

async function writeState(file: string, state: State): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
