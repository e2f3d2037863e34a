import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { CreditNote } from "../../../shared/billing/invoices/credit-note.ts";
import { aheadOfCreditNotes, listCreditNotes } from "../../../shared/billing/invoices/links.ts";
import { invoicesHere } from "../../../shared/billing/services.ts";
import { orderQuery, pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.credit_notes.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/credit-notes" },
  summary: "List credit notes",
  synonyms: ["refund", "correction", "money back", "storno", "accounting", "tax"],
  description:
    "The corrections of the account's invoices, newest first unless you turn the order around. With each credit note, money was given back to the wallet.",
  capability: "billing.view",
  access: "read",
  // The answer has an address that works without a credential, for a short time.
  codeMode: { storesAnswer: false },
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...orderQuery("desc") }),
  output: pageOf(CreditNote, "credit notes").meta({
    id: "CreditNoteListResponse",
    description: "A page of credit notes.",
  }),
  ahead: ({ params, query }) => aheadOfCreditNotes(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listCreditNotes(params.account_id, query, context.table, invoicesHere(context.address))),
    ...query,
  }),
});

export const handler = http(route);
