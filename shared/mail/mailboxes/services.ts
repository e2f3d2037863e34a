import { runtime } from "../../http/runtime.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import { openTable } from "../../table/table.ts";
import type { LoginServices } from "./password.ts";

/** Opens the services for passwords. Reads the environment when it is called, not at import. */
export function loginWork(): LoginServices {
  const { env, client } = runtime();
  return { table: openTable(client, env.TABLE_NAME), secrets: secretsHere() };
}
