import type { Log } from "../core/log.ts";
import { publicUrl } from "../core/product.ts";
import { clock } from "../core/time.ts";
import { runtime } from "../http/runtime.ts";
import { filesOf } from "../providers/files/factory.ts";
import type { Files } from "../providers/files/files.ts";
import { payments } from "../providers/payments/factory.ts";
import type { Payments } from "../providers/payments/payments.ts";
import { openTable, type Table } from "../table/table.ts";
import type { AskWork } from "./ask.ts";

/** What this process takes payments with. Needs the environment when it is called, not at import. */
export function paymentsHere(): { payments: Payments; publicUrl: string } {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  return { payments: payments(table), publicUrl: publicUrl() };
}

/** What this process asks about checkouts with. Needs the environment when it is called, not at import. */
export function askingHere(log: Log): AskWork {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  return { table, payments: payments(table), now: clock, log, isReadOnly: env.READ_ONLY !== undefined };
}

/** Lists invoices in this process, with the configured address of the API. */
export function invoicesHere(address: string | undefined): { table: Table; now: () => Date; address: string } {
  const { env, client } = runtime();
  return { table: openTable(client, env.TABLE_NAME), now: clock, address: address ?? publicUrl() };
}

let files: Files | undefined;

/** Where this process keeps files. Needs the environment when it is called, not at import. */
export const filesHere = (): Files => (files ??= filesOf(runtime().env));
