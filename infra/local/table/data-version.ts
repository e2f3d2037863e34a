import { existsSync, statSync } from "node:fs";
import { mkdir, readFile, readdir, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import * as z from "zod";

import { StartProblem, reasonOf, startCommand } from "../command-line.ts";

/** The version of the data in a data folder. A new version means that older data cannot be read any more. */
export const dataVersion = 1;

/** The version in the mark of a folder whose data may be partly deleted. */
export const unreadableVersion = 0;

/** The file that marks a data folder of this product, with the version of its data. */
export const markFile = "version.json";

const Mark = z.object({ product: z.literal("hosted-mail-api"), data_version: z.int() });

/** The free disk space that a start needs, in bytes. With less space the first requests would fail. */
const leastFreeBytes = 32 * 1024 * 1024;

/** Reads the version of a folder's data from its mark. Returns undefined without a valid mark. */
export async function readMark(dataDir: string): Promise<number | undefined> {
  try {
    return Mark.parse(JSON.parse(await readFile(join(dataDir, markFile), "utf8"))).data_version;
  } catch {
    return undefined;
  }
}

const waysOut = (dataDir: string): string =>
  `Delete the data:    ${startCommand(dataDir, "--reset")}\nUse another folder: DATA_DIR=.data-new npm start`;

function versionRefusal(dataDir: string, version: number | undefined): string | undefined {
  if (version === dataVersion) return undefined;
  if (version !== undefined && version > dataVersion) {
    return `A newer version of this product made the data in ${dataDir} (data version ${version}; this version reads ${dataVersion}).\nUpdate the product: git pull && npm ci\n${waysOut(dataDir)}`;
  }
  if (version === undefined && existsSync(join(dataDir, markFile))) {
    return `${join(dataDir, markFile)} cannot be read, so the version of the data in ${dataDir} is unknown.\n${waysOut(dataDir)}`;
  }
  if (version === unreadableVersion) {
    return `A reset of ${dataDir} did not finish, so a part of its data may be deleted.\n${waysOut(dataDir)}`;
  }
  return `An older version of this product made the data in ${dataDir}. This version cannot read the data.\n${waysOut(dataDir)}`;
}

/** Files that the system creates in the root folder of a disk. */
const systemFiles = new Set(["lost+found", ".DS_Store"]);

/**
 * The reason why a folder without the product's data cannot be used. Undefined for an empty folder. A folder with other
 * files is refused, because a reset could not tell them from the product's files.
 */
async function foreignOf(dataDir: string): Promise<string | undefined> {
  const names = (await readdir(dataDir)).filter((name) => !systemFiles.has(name));
  if (names.length === 0) return undefined;
  return `${dataDir} is not a data folder of this product, and is not empty (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}). Set DATA_DIR to a data folder, or to a new or empty folder.`;
}

/**
 * Creates a folder and its missing parents. Node's recursive `mkdir` never ends below a folder such as `/proc`, because
 * nobody can create a folder there.
 */
async function makeFolder(folder: string): Promise<void> {
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) await makeFolder(parent);
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  });
}

/**
 * Creates the data folder if it is missing, and checks its data. Throws `StartProblem` if:
 * - the folder cannot be created, or the mark of a new folder cannot be written,
 * - the folder belongs to another program,
 * - this version of the product cannot read the data,
 * - the disk is full.
 */
export async function prepareDataDir(
  dataDir: string,
  freeBytes: (folder: string) => Promise<number> = freeBytesOf,
): Promise<void> {
  try {
    await makeFolder(dataDir);
  } catch (error) {
    throw new StartProblem(`The data folder ${dataDir} (DATA_DIR) cannot be created: ${reasonOf(error)}`);
  }
  const version = await readMark(dataDir);
  const isNew = version === undefined && !existsSync(join(dataDir, "table.db"));
  const refusal = isNew ? await foreignOf(dataDir) : versionRefusal(dataDir, version);
  if (refusal !== undefined) throw new StartProblem(refusal);
  const free = await freeBytes(dataDir);
  if (free < leastFreeBytes) {
    const mebibytes = Math.floor(free / 1024 / 1024);
    throw new StartProblem(
      `The disk of ${dataDir} is full: ${mebibytes} MiB are free. Free some space, or set DATA_DIR to a folder on another disk.`,
    );
  }
  if (isNew) await writeMark(dataDir, dataVersion);
}

/** Marks a folder as a data folder. Throws `StartProblem` if the folder cannot be written. */
export async function writeMark(dataDir: string, version: number): Promise<void> {
  const mark: z.input<typeof Mark> = { product: "hosted-mail-api", data_version: version };
  try {
    await writeFile(join(dataDir, markFile), `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  } catch (error) {
    throw new StartProblem(
      `The data folder ${dataDir} cannot be written to: ${reasonOf(error)}\nSet DATA_DIR to a folder of yours: DATA_DIR=~/hosted-mail npm start`,
    );
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize, blocks } = await statfs(folder);
  // File systems without a disk report a size of 0.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}
