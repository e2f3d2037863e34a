import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { isRefusal, NoAnswer, type Api } from "./api.ts";

/** The endpoints for reports. */
type Endpoint = "usage" | "events";
type Entry = { list: string; entry: object };

/** The most entries in one batch. */
const mostEntries = 500;

/**
 * Keeps reports in files until the API has accepted them. An added entry is reported even if this process dies. The API
 * counts each entry only once, because a repeated file has the same batch ids. If the API refuses a batch, the file of
 * the batch moves to the folder `rejected`, and the later batches of the file are not sent.
 */
export function openJournal(folder: string, api: Api, log: (text: string) => void) {
  const rejected = join(folder, "rejected");
  mkdirSync(rejected, { recursive: true });
  const openFile = (endpoint: Endpoint): string => join(folder, `${endpoint}.jsonl`);

  /** Sends a closed file. Throws `NoAnswer` if the file must be sent again. */
  const send = async (name: string): Promise<void> => {
    const [endpoint = "", id = ""] = name.replace(".closed", "").split(".");
    const lines = readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean);
    for (let start = 0; start < lines.length; start += mostEntries) {
      const batch: Record<string, unknown> = { batch_id: `${id}-${start}` };
      for (const line of lines.slice(start, start + mostEntries)) {
        const { list, entry } = JSON.parse(line) as Entry;
        batch[list] = [...((batch[list] as object[] | undefined) ?? []), entry];
      }
      const status = await api.report(endpoint, batch);
      if (status === 200) continue;
      if (!isRefusal(status)) throw new NoAnswer(`The API answered ${status} to ${endpoint}.`);
      log(`The API refused the batch ${name} with ${status}. It is kept in ${rejected}.`);
      return renameSync(join(folder, name), join(rejected, name));
    }
    rmSync(join(folder, name));
  };

  return {
    /** Adds entries to a report. The entries are stored when the function returns. */
    add: (endpoint: Endpoint, ...entries: Entry[]): void => {
      if (entries.length === 0) return;
      appendFileSync(openFile(endpoint), entries.map((one) => `${JSON.stringify(one)}\n`).join(""));
    },
    /**
     * Sends all stored entries. Rejects if the API cannot accept a batch now. The remaining entries then wait for the
     * next call.
     */
    flush: async (): Promise<void> => {
      for (const endpoint of ["usage", "events"] as const) {
        if (existsSync(openFile(endpoint)))
          renameSync(openFile(endpoint), join(folder, `${endpoint}.${randomUUID()}.closed`));
      }
      for (const name of readdirSync(folder)) if (name.endsWith(".closed")) await send(name);
    },
  };
}

export type Journal = ReturnType<typeof openJournal>;
