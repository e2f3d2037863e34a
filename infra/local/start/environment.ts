import { hkdfSync, randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { platform } from "../../../shared/core/platform.ts";
import { StartProblem, reasonOf } from "../command-line.ts";
import type { Engine } from "../table/engine.ts";
import { localTableName } from "../table/lock.ts";
import { restoreClock } from "./clock.ts";
import type { TokenIssuer } from "./issuer.ts";
import { setLocalVat } from "./local-vat.ts";

/**
 * Makes the SDK use an engine. Keeps the user's region. For an external engine, also keeps the user's credentials. For
 * an engine of this process, replaces the credentials with placeholders.
 */
export function setTableEnvironment({ endpoint, pid }: Pick<Engine, "endpoint" | "pid">): void {
  const { env } = process;
  env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
  env["AWS_REGION"] ??= "us-east-1";
  if (pid === null) {
    env["AWS_ACCESS_KEY_ID"] ??= "local";
    env["AWS_SECRET_ACCESS_KEY"] ??= "local";
    return;
  }
  for (const name of ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]) delete env[name];
  env["AWS_ACCESS_KEY_ID"] = "local";
  env["AWS_SECRET_ACCESS_KEY"] = "local";
}

/** The variables that choose a provider. The local default is the embedded provider. */
export const providerVariables = ["DNS_PROVIDER", "REGISTRAR", "MAIL_PROVIDER"] as const;

/**
 * Sets the environment variables that a deployed function has. The handlers and the SDK read these variables. Also
 * restores the product's clock.
 */
export async function setEnvironment(
  engine: Engine,
  issuer: TokenIssuer,
  { dataDir, baseUrl }: { dataDir: string; baseUrl: string },
): Promise<void> {
  const { env } = process;
  await restoreClock(dataDir);
  setTableEnvironment(engine);
  env["TABLE_NAME"] = localTableName;
  env["ISSUERS"] = JSON.stringify([issuer.issuerConfig(baseUrl)]);
  env["LOG_LEVEL"] ??= "info";
  env["LOG_FORMAT"] ??= "text";
  env["WEBHOOK_LOOPBACK"] ??= "allow";
  env["RETURN_LOOPBACK"] ??= "allow";
  const secretsKey = await readSecretsKey(dataDir);
  if (env["SECRETS_KEY_ID"] === undefined) env["SECRETS_KEY"] ??= secretsKey;
  for (const name of providerVariables) env[name] ??= "embedded";
  env["PUBLIC_URL"] ??= baseUrl;
  setLocalVat();
  env["WEB_HOST"] ??= `web.${platform().mailZone}`;
  env["WEB_ADDRESSES"] ??= "127.0.0.1";
  if (env["MAIL_SECRET_NAME"] === undefined) env["MAIL_SECRET"] ??= mailSecretOf(secretsKey);
  if (env["PAYMENTS_SECRET_NAME"] === undefined) {
    env["PAYMENTS_WEBHOOK_SECRET"] ??= await readPaymentsSecret(dataDir);
    env["PAYMENTS_LOCAL_URL"] = baseUrl;
  }
  if (env["FILES_BUCKET"] === undefined) {
    Object.assign(env, {
      FILES_DIR: join(dataDir, "files"),
      FILES_KEY: filesKeyOf(secretsKey),
      FILES_BASE_URL: baseUrl,
    });
  }
}

/**
 * Reads a file's text without surrounding white space. Returns undefined if the file does not exist. Throws
 * `StartProblem` if the file cannot be read.
 */
async function readSecretFile(file: string, description: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new StartProblem(`${description}, ${file}, cannot be read: ${reasonOf(error)}`);
  }
}

/** Writes a file atomically. Only its owner can read the file. Returns the text. */
async function writeSecretFile(file: string, text: string): Promise<string> {
  await writeFile(`${file}.new`, `${text}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  return text;
}

/**
 * Reads the local SECRETS_KEY, 32 random bytes as base64, from `$DATA_DIR/secrets.key` (mode 0600). Creates the file if
 * it is missing. Throws `StartProblem` if the file cannot be read, or contains anything else. Does not replace an
 * invalid file, because the secrets in the table may need the former key.
 */
export async function readSecretsKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "secrets.key");
  const stored = await readSecretFile(file, "The key for the secrets");
  if (stored === undefined) return writeSecretFile(file, randomBytes(32).toString("base64"));
  if (/^[A-Za-z0-9+/]{43}=$/.test(stored)) return stored;
  throw new StartProblem(
    `${file} is not a key (32 bytes as base64). Restore the right file, or delete it to get a new key.`,
  );
}

/**
 * Reads the local PAYMENTS_WEBHOOK_SECRET, `whsec_` and 32 random bytes as base64url, from `$DATA_DIR/payments.secret`
 * (mode 0600). Creates the file if it is missing. Replaces the file if it contains anything else: nothing stored
 * depends on the secret. Throws `StartProblem` if the file cannot be read.
 */
export async function readPaymentsSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, "payments.secret");
  const stored = await readSecretFile(file, "The secret of the payment webhooks");
  if (stored !== undefined && /^whsec_[A-Za-z0-9_-]{43}$/.test(stored)) return stored;
  return writeSecretFile(file, `whsec_${randomBytes(32).toString("base64url")}`);
}

/**
 * Derives 32 bytes from the key of the secrets by HKDF (RFC 5869), as base64. The same key and purpose give the same
 * bytes.
 */
const deriveKey = (secretsKey: string, purpose: string): string =>
  Buffer.from(hkdfSync("sha256", Buffer.from(secretsKey, "base64"), "", purpose, 32)).toString("base64");

/** The local FILES_KEY. */
export const filesKeyOf = (secretsKey: string): string => deriveKey(secretsKey, "files");

/** The local MAIL_SECRET. Mail servers authenticate with it. */
const mailSecretOf = (secretsKey: string): string => deriveKey(secretsKey, "mail servers").replace(/=+$/, "");
