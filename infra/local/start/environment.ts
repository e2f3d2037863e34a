import { join } from "node:path";

import type { Engine } from "../table/engine.ts";
import { localTableName } from "../table/lock.ts";
import { restoreClock } from "./clock.ts";
import type { TokenIssuer } from "./issuer.ts";
import { filesKeyOf, mailSecretOf, readPaymentsSecret, readSecretsKey } from "./secrets.ts";

/**
 * Points the SDK at an engine. An external engine uses the user's region and credentials, the embedded one
 * placeholders.
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

/** The variables that choose a provider. On a laptop the default is the embedded one. */
export const providerVariables = ["DNS_PROVIDER", "REGISTRAR", "MAIL_PROVIDER"] as const;

/** Sets the environment variables of a deployed function, for the handlers and their SDK. */
export async function setEnvironment(
  engine: Engine,
  issuer: TokenIssuer,
  { dataDir, baseUrl }: { dataDir: string; baseUrl: string },
): Promise<void> {
  const { env } = process;
  await restoreClock(dataDir);
  setTableEnvironment(engine);
  env["TABLE_NAME"] = localTableName;
  env["ISSUERS"] = JSON.stringify([issuer.issuerConfig()]);
  env["LOG_LEVEL"] ??= "info";
  env["LOG_FORMAT"] ??= "text";
  env["WEBHOOK_LOOPBACK"] ??= "allow";
  const secretsKey = await readSecretsKey(dataDir);
  if (env["SECRETS_KEY_ID"] === undefined) env["SECRETS_KEY"] ??= secretsKey;
  for (const name of providerVariables) env[name] ??= "embedded";
  env["PUBLIC_URL"] ??= baseUrl;
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
