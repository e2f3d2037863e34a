import { CreditNoteDetail, creditNoteKey, CreditNoteParams } from "../../../shared/billing/invoices/credit-note.ts";
import { getCreditNote } from "../../../shared/billing/invoices/links.ts";
import { invoicesHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.credit_notes.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/credit-notes/{credit_note_id}" },
  summary: "Get a credit note with its lines",
  synonyms: ["refund", "correction", "details", "money back", "why", "download", "PDF"],
  capability: "billing.view",
  access: "read",
  // The answer has an address that works without a credential, for a short time.
  codeMode: { storesAnswer: false },
  params: CreditNoteParams,
  output: CreditNoteDetail,
  ahead: ({ params }) => ({ keys: [creditNoteKey(params.account_id, params.credit_note_id)] }),
  run: ({ params }, context) =>
    getCreditNote(params.account_id, params.credit_note_id, context.table, invoicesHere(context.address)),
});

export const handler = http(route);
