import { hkdfSync, randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { StartProblem, reasonOf } from "../command-line.ts";

/** The text of a file, without white space around it; undefined when there is no such file. Throws `StartProblem`. */
async function readSecretFile(file: string, description: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new StartProblem(`${description}, ${file}, cannot be read: ${reasonOf(error)}`);
  }
}

/** Writes the whole file or nothing, readable by its owner alone. */
async function writeSecretFile(file: string, text: string): Promise<string> {
  await writeFile(`${file}.new`, `${text}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  return text;
}

/**
 * The local SECRETS_KEY: 32 random bytes as base64, kept in `$DATA_DIR/secrets.key` (mode 0600), made when there is no
 * such file. A file that holds anything else is never replaced: it may be all that opens the secrets in the table.
 * Throws `StartProblem`.
 */
export async function readSecretsKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "secrets.key");
  const stored = await readSecretFile(file, "The key of the secrets");
  if (stored === undefined) return writeSecretFile(file, randomBytes(32).toString("base64"));
  if (/^[A-Za-z0-9+/]{43}=$/.test(stored)) return stored;
  throw new StartProblem(
    `${file} is not a key (32 bytes as base64). Put the right one back, or delete it for a new one.`,
  );
}

/**
 * The local PAYMENTS_WEBHOOK_SECRET: 32 random bytes as base64url after `whsec_`, kept in `$DATA_DIR/payments.secret`
 * (mode 0600). A file that holds anything else is replaced: nothing that the secret has signed is kept. Throws
 * `StartProblem`.
 */
export async function readPaymentsSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, "payments.secret");
  const stored = await readSecretFile(file, "The secret of the payments' webhooks");
  if (stored !== undefined && /^whsec_[A-Za-z0-9_-]{43}$/.test(stored)) return stored;
  return writeSecretFile(file, `whsec_${randomBytes(32).toString("base64url")}`);
}

/** 32 bytes that follow from the key of the secrets by HKDF (RFC 5869), and so outlive a restart; as base64. */
const derived = (secretsKey: string, purpose: string): string =>
  Buffer.from(hkdfSync("sha256", Buffer.from(secretsKey, "base64"), "", purpose, 32)).toString("base64");

/** The local FILES_KEY. */
export const filesKeyOf = (secretsKey: string): string => derived(secretsKey, "files");

/** The local MAIL_SECRET, which mail servers show. */
export const mailSecretOf = (secretsKey: string): string => derived(secretsKey, "mail servers").replace(/=+$/, "");
