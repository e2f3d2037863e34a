import type { Log } from "../core/log.ts";
import { publicUrl } from "../core/product.ts";
import { clock } from "../core/time.ts";
import { runtime } from "../http/runtime.ts";
import { FilesEnvironment, filesOf } from "../providers/files/factory.ts";
import type { Files } from "../providers/files/files.ts";
import { payments } from "../providers/payments/factory.ts";
import type { Payments } from "../providers/payments/payments.ts";
import { openTable, type Table } from "../table/table.ts";
import type { AskWork } from "./ask.ts";

/** The payment services of this process. Reads the environment when it is called, not at import. */
export function paymentsHere(): { payments: Payments; publicUrl: string } {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  return { payments: payments(table), publicUrl: publicUrl() };
}

/** The services of this process for asking about checkouts. Reads the environment when it is called, not at import. */
export function askingHere(log: Log): AskWork {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  return { table, payments: payments(table), now: clock, log, isReadOnly: env.READ_ONLY !== undefined };
}

/** The services of this process for listing invoices, with the given address of the API, or else the configured one. */
export function invoicesHere(address: string | undefined): { table: Table; now: () => Date; address: string } {
  const { env, client } = runtime();
  return { table: openTable(client, env.TABLE_NAME), now: clock, address: address ?? publicUrl() };
}

let files: Files | undefined;

/** The file storage of this process. Reads the environment when it is called, not at import. */
export const filesHere = (): Files => (files ??= filesOf(FilesEnvironment.parse(process.env)));
