import { appendFile, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import type { Event } from "../../../shared/changes/record.ts";
import type { EventPublisher } from "../../../shared/providers/events/events.ts";

const rotateBytes = 10 * 1024 * 1024;

/**
 * A log of JSON lines. A file of 10 MiB is renamed to `<file>.1`, and replaces the earlier `<file>.1`. So the log takes
 * at most about 20 MiB.
 */
type NdjsonLog = {
  append: (values: readonly unknown[]) => Promise<void>;
  /** Reads the values of all lines, oldest first. Skips a line that a crash cut off. */
  read: () => Promise<unknown[]>;
};

/** Opens the log in a file. The first line creates the file with mode 0600. */
export function ndjsonLog(file: string, { limitBytes = rotateBytes }: { limitBytes?: number } = {}): NdjsonLog {
  return {
    append: async (values) => {
      if (values.length === 0) return;
      if ((await sizeOf(file)) >= limitBytes) await rename(file, `${file}.1`);
      // The line break comes before the line. So a line that a crash cut off does not damage the next line.
      await appendFile(file, values.map((value) => `\n${JSON.stringify(value)}`).join(""), { mode: 0o600 });
    },
    read: async () => {
      const texts = await Promise.all([`${file}.1`, file].map(readIfThere));
      return texts.flatMap((text) => text.split("\n").flatMap(parseLine));
    },
  };
}

/** Whether an error says that a file does not exist. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

function parseLine(line: string): unknown[] {
  if (line === "") return [];
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

/** An event in `$DATA_DIR/events.ndjson`. */
export const PublishedEvent = z.looseObject({
  id: z.string(),
  type: z.string(),
  timestamp: z.string(),
  account_id: z.string(),
  resource: z.object({ type: z.string(), id: z.string() }),
  actor: z.object({ type: z.string(), id: z.string() }),
  published_at: z.string(),
});
export type PublishedEvent = z.output<typeof PublishedEvent>;

/** A change that could not be delivered, although all retries were made. */
export const DeadLetter = z.object({
  at: z.string(),
  /** The partition key of the change's row. */
  pk: z.string(),
  /** The sort key of the change's row. */
  sk: z.string(),
  reason: z.string(),
});
export type DeadLetter = z.output<typeof DeadLetter>;

/** The published events of a data folder. */
export const eventsIn = (dataDir: string): NdjsonLog => ndjsonLog(join(dataDir, "events.ndjson"));

/** The dead letters of a data folder. */
export const deadLettersIn = (dataDir: string): NdjsonLog => ndjsonLog(join(dataDir, "dead-letters.ndjson"));

/** The valid lines of a log, newest first. */
export const newestOf = async <S extends z.ZodType>({ read }: NdjsonLog, schema: S): Promise<z.output<S>[]> =>
  (await read())
    .flatMap((line) => {
      const { success, data } = schema.safeParse(line);
      return success ? [data] : [];
    })
    .toReversed();

type Hooks = {
  /** Called with every event after the event is logged. If `onEvent` rejects, the event counts as not published. */
  onEvent?: ((event: Event) => Promise<void> | void) | undefined;
  onError?: (source: string, error: unknown) => void;
};

/**
 * The local event bus: writes events to a log, and passes them to one listener (`onEvent`). `/_local/events` shows the
 * log.
 */
export function embeddedPublisher(events: NdjsonLog, { onEvent, onError }: Hooks = {}): EventPublisher {
  return async (published) => {
    try {
      const published_at = new Date().toISOString();
      await events.append(published.map((event) => ({ ...event, published_at })));
    } catch (error) {
      onError?.("event log", error);
      return [...published.keys()];
    }
    const failed: number[] = [];
    for (const [index, event] of published.entries()) {
      try {
        await onEvent?.(event);
      } catch (error) {
        onError?.(`listener of ${event.id}`, error);
        failed.push(index);
      }
    }
    return failed;
  };
}
