import { AccountParams } from "../../../shared/accounts/account.ts";
import {
  aheadOfTransactions,
  listTransactions,
  transactionsFile,
  transactionsForFile,
  TransactionQuery,
} from "../../../shared/billing/transactions.ts";
import { pageOf } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { Transaction } from "../../../shared/wallet/transaction.ts";

export const route = defineRoute({
  name: "billing.transactions.list",
  http: {
    method: "GET",
    path: "/v1/public/accounts/{account_id}/billing/transactions",
    file: {
      type: "text/csv",
      onlyIfPreferred: true,
      of: (output) => transactionsFile((output as { items: Transaction[] }).items),
    },
  },
  summary: "List the wallet's transactions",
  synonyms: [
    "payments",
    "paid",
    "pay",
    "spent",
    "charges",
    "history",
    "statement",
    "money",
    "costs",
    "last month",
    "paid for",
  ],
  description:
    "The transactions of the wallet, newest first unless you turn the order around. A hold for a purchase is `pending` until it is captured or voided. If you filter by `type`, the time from `since` to `until` can hold at most 20,000 transactions. With `Accept: text/csv` the answer is a CSV file of all matching transactions, and not only of one page. If more than 10,000 transactions match, the file is refused with a 422. A cell that a spreadsheet would read as a formula begins with an apostrophe.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  query: TransactionQuery,
  output: pageOf(Transaction, "transactions").meta({
    id: "WalletTransactionListResponse",
    description: "A page of transactions.",
  }),
  ahead: ({ params, query }) => aheadOfTransactions(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await (context.wantsFile ? transactionsForFile : listTransactions)(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
