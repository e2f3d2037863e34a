import { randomUUID } from "node:crypto";

import * as z from "zod";

import { accountIds } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { planCreditNote } from "../../shared/billing/invoices/credit-note.ts";
import { payOwed } from "../../shared/billing/payments.ts";
import { runDailyTasks, runAll, tidyAccount } from "../../shared/billing/run.ts";
import { operatorCommit } from "../../shared/changes/recorder.ts";
import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { Id } from "../../shared/core/ids.ts";
import { createLog } from "../../shared/core/log.ts";
import { minorUnits, money, moneyUpTo } from "../../shared/core/money.ts";
import { line } from "../../shared/core/text.ts";
import { Day, clock, dayOf, plusDays } from "../../shared/core/time.ts";
import { checkLedger } from "../../shared/ledger/check.ts";
import type { Table } from "../../shared/table/table.ts";
import { planWallet, readWallet, walletOf } from "../../shared/wallet/wallet.ts";
import { type Command, accountOption } from "./commands.ts";

const Amount = z
  .string()
  .refine((text) => moneyUpTo(100_000_000).safeParse(text).success, { error: "an amount such as 12.50" });

/** Shows the progress of a command. Prints nothing without a terminal. */
function showProgress(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${total} accounts${done === total ? "\n" : ""}`);
}

async function runBilling(table: Table, date: string | undefined, accountId: string | undefined) {
  const today = dayOf(clock());
  const last = date ?? plusDays(today, -1);
  if (last >= today)
    throw new Error(`The day ${last} is not over yet. The last day that you can close is ${plusDays(today, -1)}.`);
  const services = { table, now: clock, requestId: randomUUID(), log: createLog("error", {}, "text") };
  if (accountId !== undefined) {
    await getAccount(table, accountId);
    await runDailyTasks(accountId, last, services);
    await tidyAccount(accountId, services);
    return { closed_day: last, accounts: 1, failed: 0 };
  }
  const result = await runAll(last, { ...services, onProgress: showProgress });
  if (result.failed > 0)
    throw new Error(`${result.failed} of ${result.accounts} accounts could not be billed. The errors are above.`);
  return { closed_day: last, ...result };
}

/**
 * Credits a wallet, for example for a payment by bank transfer. Then the wallet pays the debts and the open invoices
 * that it can pay. A repeated call with the same id credits nothing more.
 */
async function credit(table: Table, accountId: string, amountText: string, id: string, reason: string) {
  await getAccount(table, accountId);
  const amount = minorUnits(amountText) ?? 0;
  const now = clock();
  const existed = await operatorCommit(
    table,
    accountId,
    "billing credit",
    now,
  )(async () => {
    const plan = await planWallet(
      table,
      accountId,
      [
        {
          kind: "transfer",
          id: `credit/${id}`,
          debit: "adjustments",
          credit: "wallet",
          amount,
          code: "adjustment",
          type: "adjustment",
          description: reason,
        },
      ],
      now,
    );
    return { value: plan.done[0]?.existed ?? false, writes: plan.writes, changes: plan.changes };
  });
  // If the process dies here, a repeat of the command or the daily run pays the open invoices.
  await payOwed(accountId, `credit/${id}`, { table, now: clock, log: createLog("error", {}, "text") });
  const { posted } = await readWallet(table, accountId);
  return { account_id: accountId, credited: existed ? "already" : money(amount), balance: money(posted) };
}

const LineNumbers = z.string().regex(/^[1-9]\d{0,2}(,[1-9]\d{0,2})*$/, "numbers of lines, such as 1,3");

/**
 * Makes a credit note on an invoice, and credits the wallet. A repeated call with the same id makes no second credit
 * note.
 */
async function creditNote(table: Table, options: Record<string, string | undefined>) {
  const { account = "", invoice = "", id = "", reason = "", amount, lines } = options;
  await getAccount(table, account);
  if (amount !== undefined && lines !== undefined) throw new Error("Give --amount or --lines, not both.");
  const now = clock();
  const part = {
    ...(amount === undefined ? {} : { amount: minorUnits(amount) ?? 0 }),
    ...(lines === undefined ? {} : { lines: [...new Set(lines.split(",").map(Number))] }),
  };
  const commit = operatorCommit(table, account, "billing credit-note", now);
  const note = await commit(() => planCreditNote(table, account, { id, invoiceId: invoice, reason, ...part }, now));
  return { account_id: account, credit_note: note.number, invoice: note.invoice_number, credited: note.amount };
}

/**
 * Checks the ledgers of all accounts, or of one account. Throws an error that lists every problem. `unsettled` is the
 * number of ledgers without a result, because they changed during the check.
 */
async function checkLedgers(table: Table, accountId: string | undefined) {
  const ids: string[] = accountId === undefined ? [] : [(await getAccount(table, accountId)).id];
  if (accountId === undefined) for await (const id of accountIds(table)) ids.push(id);
  let [done, unsettled] = [0, 0];
  const results = await mapConcurrently(ids, 8, async (id) => {
    const checked = await checkLedger(table, walletOf(id), { entries: 1_000 });
    if (checked.unsettled) unsettled += 1;
    showProgress(++done, ids.length);
    return checked.problems.map((problem) => `${id}: ${problem}`);
  });
  const problems = results.flatMap((one, index) =>
    one.status === "rejected" ? [`${ids[index]}: ${String(one.reason)}`] : one.value,
  );
  if (problems.length > 0) throw new Error(`The ledger has errors, or cannot be read:\n${problems.join("\n")}`);
  return { accounts: ids.length, unsettled };
}

export const billingCommands: Record<string, Command> = {
  "billing run": {
    summary: "Close a billing day and all days before it: record usage, invoice ended months, charge wallets.",
    options: {
      date: { description: "The day to close (YYYY-MM-DD). By default yesterday.", schema: Day.optional() },
      account: { description: "Only this account.", schema: Id.optional() },
    },
    needsStage: () => true,
    run: (table, { date, account: accountId }) => runBilling(table, date, accountId),
  },
  "billing check": {
    summary: "Check the ledgers: balances, and the newest entries with their movements. Changes nothing.",
    options: { account: { description: "Only this account.", schema: Id.optional() } },
    run: (table, { account: accountId }) => checkLedgers(table, accountId),
  },
  "billing credit-note": {
    summary:
      "Correct an invoice by a credit note, and credit the wallet. Without --amount and --lines, credits the whole rest of the invoice.",
    options: {
      account: accountOption,
      invoice: { description: "The invoice's id.", schema: Id },
      id: {
        description: "Your id for the credit note. A repeated command with the same id makes no second credit note.",
        schema: z.string().regex(/^[\w.-]{1,64}$/),
      },
      reason: {
        description: "The reason that the customer reads.",
        schema: line({ most: 200, description: "The reason that the customer reads." }),
      },
      amount: { description: "The amount with VAT, such as 12.30.", schema: Amount.optional() },
      lines: {
        description: "The numbers of the invoice lines to credit, such as 1,3. The first line has the number 1.",
        schema: LineNumbers.optional(),
      },
    },
    run: (table, options) => creditNote(table, options),
  },
  "billing credit": {
    summary: "Credit a wallet, and pay the open invoices from it.",
    options: {
      account: accountOption,
      amount: { description: "The amount, such as 50.00.", schema: Amount },
      id: {
        description: "Your id for the credit. A repeated command with the same id credits nothing.",
        schema: z.string().regex(/^[\w.-]{1,64}$/),
      },
      reason: {
        description: "The reason that the customer reads.",
        schema: line({ most: 200, description: "The reason that the customer reads." }),
      },
    },
    run: (table, { account: accountId = "", amount = "", id = "", reason = "" }) =>
      credit(table, accountId, amount, id, reason),
  },
};
