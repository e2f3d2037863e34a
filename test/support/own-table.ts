import { startLocalDns } from "../../infra/local/dns.ts";
import { ensureTable, startEngine } from "../../infra/local/engine.ts";
import { documentClient, openTable } from "../../shared/table/table.ts";
import { isExhaustive } from "./sample.ts";
import { takeShortCut } from "./short-cut.ts";

let ready: Promise<void> | undefined;

/**
 * Gives this process an engine and name servers of its own, once: tests of other processes do not meet in the lists of all
 * accounts, nor wait for one another.
 */
export const useOwnTable = (): Promise<void> => (ready ??= prepare());

async function prepare(): Promise<void> {
  const name = process.env["TABLE_NAME"] ?? "";
  const { endpoint } = await startEngine();
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
  await ensureTable(endpoint, name);
  if (!isExhaustive) takeShortCut(endpoint);
  const table = openTable(documentClient(), name);
  const dns = await startLocalDns({ table, port: 0, onError: (what, error) => console.error(what, error) });
  Object.assign(process.env, dns.environment, { TEST_DNS_PORT: String(dns.port) });
}
