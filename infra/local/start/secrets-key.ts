import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { StartProblem, reasonOf } from "../command-line/start-problem.ts";

const spelling = /^[A-Za-z0-9+/]{43}=$/;

async function read(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new StartProblem(`The key of the secrets, ${file}, cannot be read: ${reasonOf(error)}`);
  }
}

/**
 * The local SECRETS_KEY: 32 random bytes as base64, kept in `$DATA_DIR/secrets.key` (mode 0600) and made when
 * there is none. What else stands there is never replaced, as it may be all that opens the secrets in the
 * table. Throws `StartProblem`.
 */
export async function readSecretsKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "secrets.key");
  const kept = await read(file);
  if (kept !== undefined) {
    if (spelling.test(kept)) return kept;
    throw new StartProblem(
      `${file} is not a key (32 bytes as base64). Put the right one back, or delete it for a new one.`,
    );
  }
  const made = randomBytes(32).toString("base64");
  await writeFile(`${file}.new`, `${made}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  return made;
}
