import { startLocalDns } from "../../infra/local/dns/dns.ts";
import { ensureTable } from "../../infra/local/table/engine.ts";
import { TableClient } from "../../shared/table/client.ts";
import { openTable } from "../../shared/table/table.ts";

/** Makes the tests' table at an engine, starts name servers that answer from it, and sets the environment. */
export async function openTableAt(endpoint: string, name: string): Promise<{ stopDns: () => Promise<void> }> {
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
  await ensureTable(endpoint, name);
  const table = openTable(new TableClient(), name);
  const dns = await startLocalDns({ table, port: 0, onError: (what, error) => console.error(what, error) });
  Object.assign(process.env, dns.environment, { TEST_DNS_PORT: String(dns.port) });
  return { stopDns: dns.stop };
}
