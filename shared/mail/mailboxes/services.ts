import { runtime } from "../../http/runtime.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import { openTable, type Table } from "../../table/table.ts";

/** The services for making and opening passwords. Reads the environment when it is called, not at import. */
export function loginWork(): { table: Table; secrets: Secrets } {
  const { env, client } = runtime();
  return { table: openTable(client, env.TABLE_NAME), secrets: secretsHere() };
}
