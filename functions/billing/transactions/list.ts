import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { listTransactions, aheadOfTransactions } from "../../../shared/billing/views.ts";
import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { Transaction } from "../../../shared/wallet/transaction.ts";

export const route = defineRoute({
  name: "billing.transactions.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/transactions" },
  summary: "List the wallet's transactions",
  synonyms: ["payments", "paid", "pay", "spent", "charges", "history", "statement", "money", "costs"],
  description:
    "The transactions of the wallet, newest first. A hold for a purchase is `pending` until it is captured or voided.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Transaction, "transactions").meta({
    id: "WalletTransactionListResponse",
    description: "A page of transactions.",
  }),
  ahead: ({ params, query }) => aheadOfTransactions(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listTransactions(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
