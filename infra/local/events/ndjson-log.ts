import { appendFile, readFile, rename, stat } from "node:fs/promises";

const rotateBytes = 10 * 1024 * 1024;

/** A file of JSON lines that stays under about 20 MB: what is full becomes `<file>.1`, and the one before that goes. */
export type NdjsonLog = {
  append: (values: readonly unknown[]) => Promise<void>;
  /** All lines, oldest first. A line that a crash cut off is passed over. */
  read: () => Promise<unknown[]>;
};

/** The log in a file, which is made, mode 0600, by the first line. */
export function ndjsonLog(file: string, { limitBytes = rotateBytes }: { limitBytes?: number } = {}): NdjsonLog {
  return {
    append: async (values) => {
      if (values.length === 0) return;
      if ((await sizeOf(file)) >= limitBytes) await rename(file, `${file}.1`);
      // The line break first: after a line that a crash cut off the next one is whole.
      await appendFile(file, values.map((value) => `\n${JSON.stringify(value)}`).join(""), { mode: 0o600 });
    },
    read: async () => {
      const texts = await Promise.all([`${file}.1`, file].map(readIfThere));
      return texts.flatMap((text) => text.split("\n").flatMap(parseLine));
    },
  };
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

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
