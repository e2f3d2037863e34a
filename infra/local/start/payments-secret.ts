import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { StartProblem, reasonOf } from "../command-line/start-problem.ts";

const spelling = /^whsec_[A-Za-z0-9_-]{43}$/;

async function read(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new StartProblem(`The secret of the payments' webhooks, ${file}, cannot be read: ${reasonOf(error)}`);
  }
}

/**
 * The local PAYMENTS_WEBHOOK_SECRET: 32 random bytes as base64url after `whsec_`, kept in `$DATA_DIR/payments.secret`
 * (mode 0600), and made when there is none, or none that can be used: nothing that was signed with it is kept.
 * Throws `StartProblem`.
 */
export async function readPaymentsSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, "payments.secret");
  const kept = await read(file);
  if (kept !== undefined && spelling.test(kept)) return kept;
  const made = `whsec_${randomBytes(32).toString("base64url")}`;
  await writeFile(`${file}.new`, `${made}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  return made;
}
