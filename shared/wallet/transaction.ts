import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import { Currency, MoneyText } from "../core/money.ts";
import { Timestamp } from "../core/time.ts";
import type { List } from "../table/ranked-list.ts";

/*
 * Access patterns
 *   transactions of a wallet, newest first   ACCOUNT#<id> / LIST#transactions
 */
export const transactionsOf = (accountId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: "transactions",
});

const TransactionType = z.enum(["topup", "purchase", "refund", "charge", "adjustment"]);

export const Transaction = z
  .object({
    transaction_id: Id.meta({ description: "The transaction's id." }),
    type: TransactionType.meta({ description: "What it is for." }),
    direction: z.enum(["credit", "debit"]).meta({ description: "Whether money came into the wallet or left it." }),
    status: z.enum(["pending", "settled", "void"]).meta({
      description: "`pending` while the amount is only held; then `settled`, or `void` when it is free again.",
    }),
    amount: MoneyText.meta({ description: "How much, as a decimal." }),
    currency: Currency.meta({ description: "ISO 4217." }),
    balance_after: MoneyText.meta({
      description: "What the wallet held right after it; what is held is still in it until it is taken.",
    }),
    description: z.string().meta({ description: "What it is, for people." }),
    effective_at: Timestamp.meta({
      description: "When it took effect, or was held: its place in the list, which never changes.",
    }),
  })
  .meta({ id: "WalletTransaction", description: "Money that came into a wallet, left it, or is held in it." });
export type Transaction = z.output<typeof Transaction>;

export const StoredTransaction = Transaction.extend({
  movement_id: z.string(),
  /** When the held amount was taken or released. */
  resolved_at: Timestamp.optional(),
  version: z.int(),
});
export type StoredTransaction = z.output<typeof StoredTransaction>;

export const transactionKind = defineKind({
  name: "billing.transaction",
  verbs: ["created", "updated"],
  view: Transaction,
  seenWith: "billing.view",
});
