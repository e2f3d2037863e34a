import { existsSync } from "node:fs";
import { readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

import { StartProblem, reasonOf } from "../command-line.ts";
import { dataVersion, markFile, readMark, unreadableVersion, writeMark } from "../table/data-version.ts";
import { Locked, holdLock } from "../table/lock.ts";

/** The files and folders that the product creates in its data folder, except the file `markFile`. */
const productFiles = [
  "table.db",
  "table.db-shm",
  "table.db-wal",
  "change-feed.json",
  "clock.json",
  "dead-letters.ndjson",
  "demo.json",
  "demo.seed",
  "docs",
  "dynamodb-local",
  "engine.json",
  "event-queue",
  "events.ndjson",
  "files",
  "issuer.json",
  "payments.secret",
  "secrets.key",
];

/** The names of a file, of its older part (`.1`) and of its unfinished replacement (`.new`). */
const namesOf = (name: string): string[] => [name, `${name}.1`, `${name}.new`];

/** Whether a folder is a data folder of this product, with or without a mark. */
async function isDataFolder(folder: string): Promise<boolean> {
  if ((await readMark(folder)) !== undefined) return true;
  return ["table.db", "issuer.json"].every((name) => existsSync(join(folder, name)));
}

async function lock(folder: string): Promise<() => Promise<void>> {
  try {
    return await holdLock(join(folder, "table.db"));
  } catch (error) {
    if (!(error instanceof Locked)) throw error;
    throw new StartProblem(`Nothing was deleted. The data in ${folder} is ${error.message}. Stop that process first.`);
  }
}

export type Reset = {
  /** Asks the user a yes-or-no question. Throws `StartProblem` without a terminal. */
  confirm: (question: string) => Promise<boolean>;
  say: (text: string) => void;
};

/**
 * Deletes only the product's own files from its data folder. The folder keeps its mark. Deletes nothing and throws
 * `StartProblem` if the folder is not a data folder, if the data is in use, or if the user declines.
 */
export async function resetDataDir(dataDir: string, { confirm, say }: Reset): Promise<void> {
  const folder = await realpath(dataDir).catch(() => undefined);
  const names = folder === undefined ? [] : await readdir(folder);
  if (folder === undefined || names.length === 0) return say(`There is nothing to delete in ${dataDir}.`);
  if (!(await isDataFolder(folder))) {
    throw new StartProblem(`Nothing was deleted. ${folder} is not a data folder of this product. Check DATA_DIR.`);
  }
  const unlock = await lock(folder);
  try {
    const question = `Delete the accounts, the mailboxes and the keys in ${folder}?`;
    if (!(await confirm(question))) throw new StartProblem("Nothing was deleted.");
    // The mark says that the data is unreadable until the reset is complete. So after an interrupted reset the product
    // does not start, and the reset can be repeated.
    await writeMark(folder, unreadableVersion);
    for (const name of productFiles.flatMap(namesOf)) await rm(join(folder, name), { recursive: true, force: true });
    await writeMark(folder, dataVersion);
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    throw new StartProblem(`Not all of ${folder} could be deleted: ${reasonOf(error)}`);
  } finally {
    await unlock();
  }
  const others = (await readdir(folder)).filter((name) => name !== markFile);
  say(`The data in ${folder} is deleted.${others.length === 0 ? "" : ` Other files stay: ${others.join(", ")}.`}`);
}
