import { existsSync } from "node:fs";
import { mkdir, readFile, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { StartProblem, reasonOf } from "./start-problem.ts";

/** Of what is stored in a data folder. It rises when older data cannot be read any more. */
export const dataVersion = 1;

/** The file that says that a folder is a data folder of ours, and of which version. */
export const markFile = "version.json";

const Mark = z.object({ product: z.literal("hosted-mail-api"), data_version: z.int() });

/** Less than this and the first requests would fail. */
const leastFreeBytes = 32 * 1024 * 1024;

/** The version of a folder's data; undefined when it has no mark of ours. */
export async function readMark(dataDir: string): Promise<number | undefined> {
  try {
    return Mark.parse(JSON.parse(await readFile(join(dataDir, markFile), "utf8"))).data_version;
  } catch {
    return undefined;
  }
}

const waysOut = "Begin anew:         npm start -- --reset\nKeep it, elsewhere: DATA_DIR=.data-new npm start";

function refusalOf(dataDir: string, version: number | undefined): string | undefined {
  if (version === dataVersion) return undefined;
  if (version !== undefined && version > dataVersion) {
    return `The data in ${dataDir} was made by a newer version of this product (data version ${version}; this one reads ${dataVersion}).\nUpdate it: git pull && npm ci\n${waysOut}`;
  }
  return `The data in ${dataDir} was made by an older version of this product, and cannot be read by this one.\n${waysOut}`;
}

/**
 * Makes the data folder unless it is there, and sees that what is in it can be read and added to. Throws `StartProblem`
 * when the folder cannot be written, its disk is full, or its data is of another version.
 */
export async function prepareDataDir(
  dataDir: string,
  freeBytes: (folder: string) => Promise<number> = freeBytesOf,
): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartProblem(`The data folder ${dataDir} (DATA_DIR) cannot be made: ${reasonOf(error)}`);
  }
  const version = await readMark(dataDir);
  const isNew = version === undefined && !existsSync(join(dataDir, "table.db"));
  const refusal = isNew ? undefined : refusalOf(dataDir, version);
  if (refusal !== undefined) throw new StartProblem(refusal);
  const free = await freeBytes(dataDir);
  if (free < leastFreeBytes) {
    const mebibytes = Math.floor(free / 1024 / 1024);
    throw new StartProblem(
      `The disk of ${dataDir} is full: ${mebibytes} MiB are free. Make room, or set DATA_DIR to a folder elsewhere.`,
    );
  }
  if (isNew) await writeMark(dataDir);
}

async function writeMark(dataDir: string): Promise<void> {
  const mark: z.input<typeof Mark> = { product: "hosted-mail-api", data_version: dataVersion };
  try {
    await writeFile(join(dataDir, markFile), `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  } catch (error) {
    throw new StartProblem(
      `The data folder ${dataDir} cannot be written: ${reasonOf(error)}\nSet DATA_DIR to a folder of yours: DATA_DIR=~/hosted-mail npm start`,
    );
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize, blocks } = await statfs(folder);
  // What is no disk has no size.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}
