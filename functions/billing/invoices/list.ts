import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { Invoice } from "../../../shared/billing/invoices/invoice.ts";
import { listInvoices, aheadOfInvoices } from "../../../shared/billing/invoices/links.ts";
import { invoicesHere } from "../../../shared/billing/services.ts";
import { orderQuery, pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.invoices.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/invoices" },
  summary: "List invoices",
  synonyms: ["bill", "unpaid", "owe", "due", "receipt", "accounting", "tax", "show"],
  description: "The invoices of the account, newest first unless you turn the order around.",
  capability: "billing.view",
  access: "read",
  // This read can write: an invoice that has no key for its download address gets a key.
  lambda: { table: "write" },
  // The answer has an address that works without a credential, for a short time.
  codeMode: { storesAnswer: false },
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...orderQuery("desc") }),
  output: pageOf(Invoice, "invoices").meta({ id: "InvoiceListResponse", description: "A page of invoices." }),
  ahead: ({ params, query }) => aheadOfInvoices(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listInvoices(params.account_id, query, context.table, invoicesHere(context.address))),
    ...query,
  }),
});

export const handler = http(route);
