import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { StartProblem, reasonOf, startCommand } from "../command-line.ts";

/** Of what is stored in a data folder. It rises when older data cannot be read any more. */
export const dataVersion = 1;

/** Of a folder whose data is half deleted. */
export const unreadable = 0;

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

const waysOut = (dataDir: string): string =>
  `Begin anew:         ${startCommand(dataDir, "--reset")}\nKeep it, elsewhere: DATA_DIR=.data-new npm start`;

function refusalOf(dataDir: string, version: number | undefined): string | undefined {
  if (version === dataVersion) return undefined;
  if (version !== undefined && version > dataVersion) {
    return `The data in ${dataDir} was made by a newer version of this product (data version ${version}; this one reads ${dataVersion}).\nUpdate it: git pull && npm ci\n${waysOut(dataDir)}`;
  }
  if (version === undefined && existsSync(join(dataDir, markFile))) {
    return `${join(dataDir, markFile)} cannot be read, so that nobody knows which version of this product made the data in ${dataDir}.\n${waysOut(dataDir)}`;
  }
  return `The data in ${dataDir} was made by an older version of this product, and cannot be read by this one.\n${waysOut(dataDir)}`;
}

/** What a disk's own root has in it. */
const harmless = new Set(["lost+found", ".DS_Store"]);

/** Why a folder without data of ours cannot become its place: a reset could not tell what is in it from what is ours. */
async function foreignOf(dataDir: string): Promise<string | undefined> {
  const names = (await readdir(dataDir)).filter((name) => !harmless.has(name));
  if (names.length === 0) return undefined;
  return `${dataDir} is no data folder of this product, and is not empty (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}): set DATA_DIR to a folder that is, or that is not there yet.`;
}

/**
 * Makes the data folder unless it is there, and sees that what is in it can be read and added to. Throws `StartProblem`
 * when the folder cannot be written, its disk is full, it is somebody else's, or its data is of another version.
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
  const refusal = isNew ? await foreignOf(dataDir) : refusalOf(dataDir, version);
  if (refusal !== undefined) throw new StartProblem(refusal);
  const free = await freeBytes(dataDir);
  if (free < leastFreeBytes) {
    const mebibytes = Math.floor(free / 1024 / 1024);
    throw new StartProblem(
      `The disk of ${dataDir} is full: ${mebibytes} MiB are free. Make room, or set DATA_DIR to a folder elsewhere.`,
    );
  }
  if (isNew) await writeMark(dataDir, dataVersion);
}

/** Marks a folder as a data folder of ours. Throws `StartProblem` when it cannot be written. */
export async function writeMark(dataDir: string, version: number): Promise<void> {
  const mark: z.input<typeof Mark> = { product: "hosted-mail-api", data_version: version };
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
