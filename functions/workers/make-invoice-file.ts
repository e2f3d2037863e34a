import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { makeInvoiceFile } from "../../shared/billing/invoice-files.ts";
import { renderInvoice } from "../../shared/billing/invoice-pdf.ts";
import { filesHere } from "../../shared/billing/outside.ts";
import { createLog } from "../../shared/log.ts";
import { runtime } from "../../shared/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

const Detail = z.object({ account_id: z.string(), resource: z.object({ id: z.string() }) });

/** Makes the PDF of an invoice that was made or paid, by its event from the bus. */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const { account_id, resource } = Detail.parse(detail);
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  await makeInvoiceFile(account_id, resource.id, { table, files: filesHere(), render: renderInvoice });
  createLog(env.LOG_LEVEL, { worker: "make_invoice_file" }, env.LOG_FORMAT).info("invoice file made", {
    account_id,
    invoice_id: resource.id,
  });
}
