import { mkdir, readdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMissing, PublishedEvent } from "./event-log.ts";

/** An event on its way from the bus to a target. */
export const QueuedEvent = PublishedEvent.omit({ published_at: true });
export type QueuedEvent = ReturnType<typeof QueuedEvent.parse>;

/** The events that the bus has not delivered yet. Each event is a file, so the events survive a restart. */
export type EventQueue = {
  /** Adds an event. Adding an event that is already in the queue has no effect. */
  put: (event: { id: string }) => Promise<void>;
  /** The ids of all events, oldest first. */
  ids: () => Promise<string[]>;
  /** Throws if the event is missing or invalid. */
  read: (id: string) => Promise<QueuedEvent>;
  remove: (id: string) => Promise<void>;
};

const extension = ".json";

/** The queue of a data folder. Any process may put events into the queue. */
export function eventQueueIn(dataDir: string): EventQueue {
  const folder = join(dataDir, "event-queue");
  const fileOf = (id: string): string => join(folder, id + extension);
  let folderMade: Promise<unknown> | undefined;
  return {
    put: async (event) => {
      await (folderMade ??= mkdir(folder, { recursive: true, mode: 0o700 }));
      const file = fileOf(event.id);
      await writeFile(`${file}.new`, JSON.stringify(event), { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    ids: async () => {
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      });
      return names.flatMap((name) => (name.endsWith(extension) ? [name.slice(0, -extension.length)] : [])).toSorted();
    },
    read: async (id) => QueuedEvent.parse(JSON.parse(await readFile(fileOf(id), "utf8"))),
    remove: (id) =>
      unlink(fileOf(id)).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      }),
  };
}
