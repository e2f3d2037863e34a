import { InvoiceDetail, invoiceKey, InvoiceParams } from "../../../shared/billing/invoices/invoice.ts";
import { getInvoice } from "../../../shared/billing/invoices/links.ts";
import { invoicesHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.invoices.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/invoices/{invoice_id}" },
  summary: "Get an invoice with its lines",
  synonyms: ["bill", "details", "items", "positions", "why", "charged", "receipt", "download", "PDF"],
  capability: "billing.view",
  access: "read",
  // This read can write: an invoice that has no key for its download address gets a key.
  lambda: { table: "write" },
  // The answer has an address that works without a credential, for a short time.
  codeMode: { storesAnswer: false },
  params: InvoiceParams,
  output: InvoiceDetail,
  ahead: ({ params }) => ({ keys: [invoiceKey(params.account_id, params.invoice_id)] }),
  run: ({ params }, context) =>
    getInvoice(params.account_id, params.invoice_id, context.table, invoicesHere(context.address)),
});

export const handler = http(route);
