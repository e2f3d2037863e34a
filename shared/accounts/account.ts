import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import { Currency, defaultCurrency } from "../core/money.ts";
import { Day, Timestamp } from "../core/time.ts";
import { readRows, type List } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import type { Key } from "../table/writes.ts";

/*
 * Access patterns
 *   account by id                      ACCOUNT#<id> / ACCOUNT
 *   all accounts, for a super admin    ACCOUNTS / LIST#all
 *     … by client                      ACCOUNTS / LIST#client/<id>
 *     … by status                      ACCOUNTS / LIST#status/<status>
 *     … by client and status           ACCOUNTS / LIST#client/<id>/status/<status>
 *   accounts to which a user belongs   USER#<id> / LIST#accounts
 *   client by id                       CLIENT#<id> / CLIENT
 */
export const accountKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "ACCOUNT" });
export const clientKey = (clientId: string): Key => ({ PK: `CLIENT#${clientId}`, SK: "CLIENT" });
export const accountsOfUser = (userId: string): List => ({ partition: `USER#${userId}`, name: "accounts" });

/** The list of the accounts that match the filter. `StoredAccount` has the account's ordinal in each list. */
export function accountsMatching(filter: { client_id?: string | undefined; status?: string | undefined }): List {
  const parts = [
    ...(filter.client_id === undefined ? [] : [`client/${filter.client_id}`]),
    ...(filter.status === undefined ? [] : [`status/${filter.status}`]),
  ];
  return { partition: "ACCOUNTS", name: parts.length === 0 ? "all" : parts.join("/") };
}

export const AccountParams = z.strictObject({ account_id: Id.meta({ description: "The account's id." }) });

export const AccountStatus = z.enum(["active", "past_due", "suspended", "closed"]).meta({
  id: "AccountStatus",
  description:
    "`active`: everything works. `past_due`: the wallet could not pay an amount that is due. Everything works as before, except that `billing.plan.change` is refused while an invoice is open. After 14 days, the account is `suspended`. `suspended`: nobody can log in to a mailbox, and nothing is sent or forwarded. Mailboxes still receive mail. Mail that only a forwarding rule would pass on is refused. The account can be read. Changes answer 403 `account_suspended`, except `billing.topup_session.create`, `billing.payment_method_session.create`, `billing.payment_method.delete`, `billing.auto_recharge.update` and `billing.alerts.update`. After a suspension for a debt, the account is `active` again as soon as everything is paid. A payment does not end a suspension by the operator. `closed`: nothing can be changed, and the account is never opened again.",
});
export type AccountStatus = z.output<typeof AccountStatus>;

export const AccountClientSummary = z
  .object({
    id: Id.meta({ description: "The client's id." }),
    name: z.string().meta({ description: "The client's name." }),
  })
  .meta({ id: "AccountClientSummary", description: "The client that owns an account." });

export const AccountResponse = z
  .object({
    id: Id.meta({ description: "The account's id." }),
    name: z.string().meta({ description: "The account's display name." }),
    client: AccountClientSummary,
    status: AccountStatus,
    currency: Currency.default(defaultCurrency).meta({
      description: "The currency of the account's prices, wallet and invoices, as an ISO 4217 code.",
    }),
    created_at: Timestamp.meta({ description: "When the account was created." }),
    updated_at: Timestamp.meta({ description: "When the account last changed." }),
  })
  .meta({ id: "AccountResponse", description: "An account: the outermost container of a customer's resources." });

export const accountKind = defineKind({
  name: "account",
  verbs: ["created", "updated"],
  view: AccountResponse,
  seenWith: "account.view",
});

/** The debt for which billing changed the status of an account. */
const Debt = z.object({
  /** The amount that the wallet lacked, in minor units. */
  missing: z.int().min(1),
  currency: Currency.default(defaultCurrency),
  /** The day on which the account is suspended unless the debt is paid. Absent on a suspended account. */
  suspends_on: Day.optional(),
});
export type Debt = z.output<typeof Debt>;

/**
 * The members of a stored account that authorization reads before every write. The schema is small, because so many
 * requests parse it.
 */
export const StoredStatus = z.object({
  status: AccountStatus,
  /**
   * Absent if the account owes nothing. Also absent if the operator, or an earlier version of the product, set the
   * status.
   */
  debt: Debt.optional(),
});
export type StoredStatus = z.output<typeof StoredStatus>;

export const StoredAccount = AccountResponse.extend({
  ...StoredStatus.shape,
  /** The account's ordinal in each list of `accountsMatching` that contains the account, by the list's name. */
  ordinals: z.record(z.string(), z.int()),
  /**
   * The statuses at the end of earlier days. They decide about the charges of these days. Absent if the status has not
   * changed, or if an earlier version of the product changed it. The present status then counts for all unrecorded
   * days.
   */
  former_statuses: z.array(z.object({ status: AccountStatus, until: Day })).optional(),
  version: z.int(),
});
export type StoredAccount = z.output<typeof StoredAccount>;

/** The four lists that contain an account: all accounts, by client, by status, and by both. */
export const listsOf = (account: { client: { id: string }; status: string }): List[] => [
  accountsMatching({}),
  accountsMatching({ client_id: account.client.id }),
  accountsMatching({ status: account.status }),
  accountsMatching({ client_id: account.client.id, status: account.status }),
];

const pageSize = 500;
/** A row of a list of accounts. */
export const AccountPointer = z.object({ account_id: z.string() });

/** The ids of all accounts, oldest first. */
export async function* accountIds(table: Table): AsyncGenerator<string> {
  for (let skip = 0; ; skip += pageSize) {
    const { rows, total } = await readRows(table, accountsMatching({}), { skip, take: pageSize });
    for (const row of rows) yield AccountPointer.parse(row).account_id;
    if (skip + pageSize >= total) return;
  }
}
