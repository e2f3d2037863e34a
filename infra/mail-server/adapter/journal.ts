import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { isRefusal, NoAnswer, type Api } from "./api.ts";
import { tryAll } from "./try-all.ts";

/** The endpoints for reports. */
const endpoints = ["usage", "events"] as const;
type Endpoint = (typeof endpoints)[number];
type Entry = { list: string; entry: object };

/** The most entries in one batch. */
const mostEntries = 500;

/** The batch with the entries of some lines. Each line must have an entry. */
function batchOf(batch_id: string, lines: readonly string[]): object {
  const lists: Record<string, object[]> = {};
  for (const line of lines) {
    const { list, entry } = JSON.parse(line) as Entry;
    (lists[list] ??= []).push(entry);
  }
  return { batch_id, ...lists };
}

/** Whether a line has an entry. A process that died, or a full disk, can leave a part of a line. */
function isWhole(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** The lines of a file that have an entry, and whether a line was cut off. */
function readLines(file: string): { lines: string[]; isCut: boolean } {
  const stored = readFileSync(file, "utf8").split("\n").filter(Boolean);
  const lines = stored.filter(isWhole);
  return { lines, isCut: lines.length < stored.length };
}

const removeAll = (files: readonly string[]): void => files.forEach((file) => rmSync(file, { force: true }));

/**
 * The name of the first closed file of an endpoint. This file is sent next. No entries are added to a closed file. A
 * file comes before its halves, which a crash can leave beside the file.
 */
const nextClosed = (folder: string, endpoint: Endpoint): string | undefined =>
  readdirSync(folder)
    .filter((name) => name.startsWith(`${endpoint}.`) && name.endsWith(".closed"))
    .toSorted()[0];

/**
 * Keeps reports in files until the API has accepted them. An added entry is reported even if this process dies. The API
 * counts each entry only once, because a repeated file has the same batch id. If the API refuses a batch, its halves
 * are sent as batches of their own, and so on. So only the refused entries themselves are not reported. They move to
 * the folder `rejected`.
 */
export function openJournal(folder: string, api: Api, log: (text: string) => void) {
  const rejected = join(folder, "rejected");
  mkdirSync(rejected, { recursive: true });
  const openFile = (endpoint: Endpoint): string => join(folder, `${endpoint}.jsonl`);

  /** Sends a closed file, or replaces it by its halves. Throws `NoAnswer` if the file must be sent again. */
  const send = async (name: string): Promise<void> => {
    const [endpoint = "", id = ""] = name.split(".");
    const halves = ["a", "b"].map((half) => join(folder, `${endpoint}.${id}${half}.closed`));
    const { lines, isCut } = readLines(join(folder, name));
    if (isCut) log(`${name} has a line that is cut off. The line is left out.`);
    if (lines.length === 0) return rmSync(join(folder, name));
    if (lines.length <= mostEntries) {
      const status = await api.report(endpoint, batchOf(id, lines));
      // A crash can have left the halves beside the file. They have the same entries, so they are removed too.
      if (status === 200) return removeAll([...halves, join(folder, name)]);
      if (!isRefusal(status)) throw new NoAnswer(`The API answered ${status} to ${endpoint}.`);
      if (lines.length <= 1) {
        log(`The API refused an entry of ${endpoint} with ${status}. The entry is kept in ${join(rejected, name)}.`);
        return renameSync(join(folder, name), join(rejected, name));
      }
    }
    const middle = Math.ceil(lines.length / 2);
    for (const [index, file] of halves.entries())
      writeFileSync(file, lines.slice(index * middle, (index + 1) * middle).join("\n"));
    rmSync(join(folder, name));
  };

  const flushTo = async (endpoint: Endpoint): Promise<void> => {
    if (existsSync(openFile(endpoint)))
      renameSync(openFile(endpoint), join(folder, `${endpoint}.${randomUUID()}.closed`));
    const next = (): string | undefined => nextClosed(folder, endpoint);
    for (let name = next(); name !== undefined; name = next()) await send(name);
  };

  return {
    /** Adds entries to a report. The entries are stored when the function returns. */
    add: (endpoint: Endpoint, ...entries: Entry[]): void => {
      if (entries.length === 0) return;
      // The line breaks come first, so that a line that was cut off does not continue with the next entry.
      appendFileSync(openFile(endpoint), entries.map((one) => `\n${JSON.stringify(one)}`).join(""));
    },
    /**
     * Sends all stored entries. Rejects if the API cannot accept a batch now. The remaining entries of the endpoint
     * then wait for the next call.
     */
    flush: (): Promise<void> => tryAll(endpoints.map((endpoint) => () => flushTo(endpoint))),
  };
}

export type Journal = ReturnType<typeof openJournal>;
