import { join } from "node:path";

import { publishChanges } from "../../../functions/workers/publish-changes.ts";
import type { Event } from "../../../shared/changes/record.ts";
import { createLog } from "../../../shared/core/log.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import { openChangeFeed } from "./change-feed.ts";
import { deadLettersIn, embeddedPublisher, eventsIn } from "./event-log.ts";
import { eventSource } from "./event-source.ts";
import { startPoller, type Poller } from "./poller.ts";

type PublishingOptions = {
  table: Table;
  dataDir: string;
  onEvent?: ((event: Event) => Promise<void> | void) | undefined;
  onError: (source: string, error: unknown) => void;
};

/**
 * The pause between two polls, in milliseconds. Changes by workers do not wake the poller. With this pause, the changes
 * by workers are published within two seconds.
 */
const idleMs = 1_000;

// The changes of the big seed are not published. These changes have no subscribers, and publishing all of them would
// take an hour.
const isPublished = ({ request_id }: Item): boolean => request_id !== seedRequestId;

/** Publishes the changes of the table to the log in the data folder. Uses the code of the deployed worker. */
export async function startPublishing({
  table,
  dataDir,
  onEvent,
  onError,
}: PublishingOptions): Promise<Omit<Poller, "run">> {
  const publish = embeddedPublisher(eventsIn(dataDir), { onEvent, onError });
  // Only errors are logged. A line for each batch would double the number of log lines.
  const log = createLog(process.env["LOG_LEVEL"] === "silent" ? "silent" : "error", {}, "text");
  const deadLetters = deadLettersIn(dataDir);
  const deliver = eventSource({
    handler: publishChanges(() => ({ publish, log })),
    onDeadLetter: (letter) => deadLetters.append([letter]),
  });
  const feed = await openChangeFeed({
    table,
    file: join(dataDir, "change-feed.json"),
    deliver: (rows) => deliver(rows.filter(isPublished)),
  });
  const poller = startPoller({ work: feed.poll, idleMs, onError: (error) => onError("change feed", error) });
  return {
    wake: poller.wake,
    stop: async () => {
      feed.stop();
      await poller.stop();
    },
  };
}

/** The request id of the changes that the big seed makes. The audit log shows this id. */
export const seedRequestId = "seed-big";
