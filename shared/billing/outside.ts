import * as z from "zod";

import { filesOf, type Files } from "../providers/files.ts";
import { payments, type Payments } from "../providers/payments.ts";
import { runtime } from "../runtime.ts";
import { openTable } from "../table/table.ts";

const Environment = z.object({ PUBLIC_URL: z.url().default("http://127.0.0.1:8080") });

/** What this process takes payments with. Needs the environment when it is called, not at import. */
export function paymentsHere(): { payments: Payments; publicUrl: string } {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  const { PUBLIC_URL } = Environment.parse(process.env);
  return { payments: payments(table), publicUrl: PUBLIC_URL.replace(/\/$/, "") };
}

let files: Files | undefined;

/** Where this process keeps files. Needs the environment when it is called, not at import. */
export const filesHere = (): Files => (files ??= filesOf(runtime().env));
