import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import { Currency, MoneyText } from "../core/money.ts";
import { Timestamp } from "../core/time.ts";
import type { List } from "../table/ranked-list.ts";
import { ChargedVat } from "./vat.ts";

/*
 * Access patterns
 *   transactions of a wallet, newest first   ACCOUNT#<id> / LIST#transactions
 */
/** The list of a wallet's transactions. */
export const transactionsOf = (accountId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: "transactions",
});

export const TransactionType = z.enum(["topup", "purchase", "refund", "charge", "adjustment"]);

export const Transaction = z
  .object({
    transaction_id: Id.meta({ description: "The transaction's id." }),
    type: TransactionType.meta({ description: "The type of the transaction." }),
    direction: z
      .enum(["credit", "debit"])
      .meta({ description: "`credit` if the money came into the wallet, `debit` if it left the wallet." }),
    status: z.enum(["pending", "settled", "void"]).meta({
      description:
        "`pending` while the amount is held. `void` if the hold was voided or has expired. Otherwise `settled`.",
    }),
    amount: MoneyText.meta({ description: "The amount, as a decimal." }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    balance_after: MoneyText.meta({
      description:
        "The wallet's balance right after the transaction. A held amount is in the balance until it is captured.",
    }),
    description: z.string().meta({ description: "A description for people." }),
    vat: MoneyText.nullable().default(null).meta({
      description:
        "The VAT in the amount of a purchase. `0.00` if no VAT is due, such as under the reverse charge or outside the EU. Null for other transactions, and for purchases from a time when we charged no VAT to anybody.",
    }),
    effective_at: Timestamp.meta({
      description:
        "When the transaction took effect, or when the amount was held. This time never changes, and the list is sorted by it.",
    }),
  })
  .meta({ id: "WalletTransaction", description: "An amount that came into a wallet, left the wallet, or is held." });
export type Transaction = z.output<typeof Transaction>;

export const StoredTransaction = Transaction.extend({
  /** The movement in the ledger. */
  movement_id: z.string(),
  /** The VAT in the amount of a purchase. */
  charged_vat: ChargedVat.optional(),
  /** When the hold ended. */
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
