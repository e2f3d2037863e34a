import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { writeAssets } from "../../infra/assets.ts";
import { docsAssets, fallbackAssets } from "../../infra/docs-pages/site.ts";
import { lambdas } from "../../infra/entry-points.ts";
import { providerVariables } from "../../infra/local/start/environment.ts";
import { createIssuer } from "../../infra/local/start/issuer.ts";
import { foreignEngine, startEngine, type Engine } from "../../infra/local/table/engine.ts";
import { openTableAt } from "./table-at.ts";

/**
 * Starts everything that the product needs: an engine with a table, name servers and files. Sets the environment
 * variables that lead there. Uses the engine at AWS_ENDPOINT_URL_DYNAMODB if this variable is set. Returns a function
 * that stops everything.
 */
export async function startSurroundings(): Promise<() => Promise<void>> {
  const { AWS_ENDPOINT_URL_DYNAMODB: given } = process.env;
  const engine = given === undefined ? await startEngine() : foreignEngine(given);
  try {
    return await prepare(engine);
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

async function prepare(engine: Engine): Promise<() => Promise<void>> {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
  const docs = await mkdtemp(join(tmpdir(), "hosted-mail-test-"));
  await writeAssets(docs, [...(await docsAssets()), ...fallbackAssets(lambdas)]);
  Object.assign(process.env, {
    TABLE_NAME: "test",
    TEST_ISSUER_KEY: JSON.stringify(key),
    ISSUERS: JSON.stringify([createIssuer(key).issuerConfig()]),
    LOG_LEVEL: process.env["LOG_LEVEL"] ?? "silent",
    SECRETS_KEY: randomBytes(32).toString("base64"),
    PAYMENTS_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64url")}`,
    FILES_DIR: join(docs, "files"),
    FILES_KEY: randomBytes(32).toString("base64"),
    FILES_BASE_URL: "http://127.0.0.1:8080",
    WEBHOOK_LOOPBACK: "allow",
    RETURN_ORIGINS: "https://app.example.com",
    RETURN_LOOPBACK: "allow",
    WEB_HOST: "web.hosted-mail.example",
    WEB_ADDRESSES: "192.0.2.80,2001:db8::80",
    MAIL_SECRET: randomBytes(24).toString("base64url"),
    ...Object.fromEntries(providerVariables.map((name) => [name, "embedded"])),
    DOCS_DIR: docs,
    AWS_REGION: "local",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
  const { stopDns } = await openTableAt(engine.endpoint, "test");
  return async () => {
    await stopDns();
    await engine.stop();
    await rm(docs, { recursive: true, force: true });
  };
}
