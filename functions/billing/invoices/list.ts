import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { listInvoices, aheadOfInvoices } from "../../../shared/billing/invoice-links.ts";
import { Invoice } from "../../../shared/billing/invoice.ts";
import { invoicesHere } from "../../../shared/billing/services.ts";
import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.invoices.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/invoices" },
  summary: "List invoices",
  synonyms: ["bill", "unpaid", "owe", "due", "receipt", "accounting", "tax", "show"],
  description: "The invoices of the account, newest first.",
  capability: "billing.view",
  access: "read",
  lambda: { table: "write" },
  codeMode: { storesAnswer: false },
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Invoice, "invoices").meta({ id: "InvoiceListResponse", description: "A page of invoices." }),
  ahead: ({ params, query }) => aheadOfInvoices(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listInvoices(params.account_id, query, context.table, invoicesHere(context.address))),
    ...query,
  }),
});

export const handler = http(route);
