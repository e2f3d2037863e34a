import { readFile, rename, writeFile } from "node:fs/promises";

import * as z from "zod";

import { accountIds } from "../../../shared/accounts/account.ts";
import { readChangePages } from "../../../shared/changes/history.ts";
import { chunk } from "../../../shared/core/concurrency.ts";
import { clock } from "../../../shared/core/time.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import type { Deliver } from "./event-source.ts";

/*
 * Replaces the table's stream on a local machine. The stream of the embedded engine would slow down every write.
 *
 * The time in a row's id is the time when its transaction was planned. The row becomes readable only after the commit,
 * up to 30 seconds later. So each poll also reads rows from before the last poll:
 * - Every poll reads the rows since one second before the last poll. So a poll finds the rows of quick transactions.
 * - Every ten seconds, a poll is a sweep. A sweep reads the rows since 30 seconds before the last sweep but one. So a
 *   sweep also finds the rows of slow transactions.
 *
 * If the clock ran evenly, the rows since 30 seconds before the last sweep would be enough. But a developer can move
 * the product's clock ahead. A row that was planned before the move has a time from before the move. The first two
 * sweeps after the move still read the rows from that time, because the last sweep but one was before the move. The
 * second of these sweeps runs at least ten seconds after the move. So the feed finds each such row that becomes
 * readable within ten seconds after the move.
 */
const overlapMs = 30_000;
const recentMs = 1_000;
const sweepMs = 10_000;
const batchSize = 100;

/**
 * The content of `$DATA_DIR/change-feed.json`. The delivered changes are all changes from before `swept_at_ms` minus
 * `overlapMs`, and the changes with the ids in `ids`. `swept_at_ms` is a time of the product's clock. Earlier versions
 * stored the machine's time. The machine's time is never later than the product's clock, because the clock can only be
 * moved ahead. So with a file of an earlier version, at worst some changes are read again.
 */
const FeedState = z.object({ swept_at_ms: z.number(), ids: z.array(z.string()) });
type FeedState = z.output<typeof FeedState>;

export type ChangeFeedOptions = {
  table: Table;
  /** The file that stores the feed's progress. */
  file: string;
  deliver: Deliver;
  /** The time in the ids of new changes, in milliseconds. By default the product's clock. */
  now?: () => number;
};

export type ChangeFeed = {
  /**
   * Delivers the undelivered changes of all accounts. Within a poll, the changes of each account are in order. Only one
   * poll may run at a time.
   */
  poll: () => Promise<void>;
  /** Begins no further batch. The current batch finishes. */
  stop: () => void;
};

/** Opens a feed that continues from the progress in `file`. Without a file, the feed begins with the first change. */
export async function openChangeFeed(options: ChangeFeedOptions): Promise<ChangeFeed> {
  const { table, file, deliver, now = () => clock().getTime() } = options;
  const stored = await readState(file);
  const delivered = new Map(stored.ids.map((id) => [id, timeOf(id)]));
  // The stored progress can be later than the clock, if the file of the clock was lost.
  let sweptAtMs = Math.min(stored.swept_at_ms, now());
  let lastSweepAtMs: number | undefined;
  let polledAtMs = 0;
  let [isSaved, isStopping] = [true, false];

  async function deliverAccount(accountId: string, sinceMs: number): Promise<void> {
    for await (const rows of readChangePages(table, accountId, { sinceMs })) {
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
      const isSweep = lastSweepAtMs === undefined || startedAtMs - lastSweepAtMs >= sweepMs;
      const sinceMs = isSweep ? sweptAtMs - overlapMs : polledAtMs - recentMs;
      try {
        for await (const accountId of accountIds(table)) {
          if (isStopping) return;
          await deliverAccount(accountId, sinceMs);
        }
        if (isStopping) return;
        polledAtMs = startedAtMs;
        if (isSweep) {
          sweptAtMs = lastSweepAtMs ?? startedAtMs;
          lastSweepAtMs = startedAtMs;
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

/** The time in a UUIDv7, in milliseconds. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/**
 * Reads the progress. If the file is missing or unreadable, all changes are delivered again: a repeated change is
 * better than a lost change.
 */
async function readState(file: string): Promise<FeedState> {
  try {
    return FeedState.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return { swept_at_ms: 0, ids: [] };
  }
}

async function writeState(file: string, state: FeedState): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
