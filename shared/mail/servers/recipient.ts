import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { domainKey, StoredDomain } from "../../domains/domain.ts";
import type { Reader } from "../../table/table.ts";
import { copiesOfAddress, copiesOfMailbox, type MailCopy } from "../forwarding/copies.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { readUntagged } from "../mailboxes/local-part.ts";
import { firstMailboxes } from "../mailboxes/lookup.ts";
import { mailboxKey, StoredMailbox } from "../mailboxes/mailbox.ts";
import { unquoteAddress } from "../suppressions/recipient.ts";
import { findRecipient, isInUse } from "./find-account.ts";

/**
 * The destination of mail for an address.
 * - `role`: no mailbox has the address `postmaster` or `abuse`, and the first mailbox of the domain gets the mail.
 * - `forward`: no mailbox has the address, and forwarding rules send its mail on.
 * - `none`: the domain is here, but nobody has the address. `is_mx_here` is false if the domain's MX is elsewhere: its
 *   owner has not switched the MX yet, or has switched it back.
 * - `unknown`: the domain is not here, its registration has expired, its account is closed, or no account has proved
 *   the domain.
 */
type Route =
  | MailboxRoute
  | { kind: "forward"; account_id: string; copies: MailCopy[] }
  | { kind: "none"; is_mx_here?: false }
  | { kind: "unknown" };

type MailboxRoute = {
  kind: "mailbox" | "alias" | "catch_all" | "role";
  /** The mailbox's own address. */
  mailbox: string;
  mailbox_id: string;
  account_id: string;
  /** The status of the mailbox. A mailbox receives mail in every status. */
  status: StoredMailbox["status"];
  /** The space that the mailbox may use, in bytes. */
  quota_bytes: number;
  /** Whether the space is used up. */
  is_full: boolean;
  /** Whether the mailbox keeps the mail. False if a forwarding rule sends the mail on without keeping a copy. */
  keep_copy: boolean;
  /** The copies that forwarding rules make. */
  copies: MailCopy[];
};

/** The addresses that every domain has (RFC 2142 §4 and §5; for `postmaster` also RFC 5321 §4.5.1). */
const roleLocals = new Set(["postmaster", "abuse"]);

/**
 * Finds the destination of mail for an address, whose local part can be in quotes, in this order:
 * - the mailbox that has the address as its own address or alias;
 * - the forwarding rules of the address;
 * - the catch-all;
 * - for a role address, the first mailbox of the domain.
 */
export async function routeOf(table: Reader, given: string): Promise<Route> {
  const read = readUntagged(unquoteAddress(given));
  if (!read) return { kind: "unknown" };
  const { local } = read;
  const { accountId, account, plan, domain, isProved, address, mailbox, hasRules } = await findRecipient(table, read, {
    forDelivery: true,
  });
  const isHere = isProved && domain?.status !== "expired";
  if (!domain || !account || account.status === "closed" || !isHere) return { kind: "unknown" };
  // An account that is suspended or has had no plan for 30 days receives its mail, but no copies are sent.
  const isForwarding = isInUse(account, plan) && hasRules;
  if (isForwarding && (!address || address.kind === "catch_all")) {
    const copies = await copiesOfAddress(table, accountId, domain.id, local);
    if (copies.length > 0) return { kind: "forward", account_id: accountId, copies };
  }
  const [first] = mailbox || !roleLocals.has(local) ? [] : await firstMailboxes(table, accountId, domain.id, 1);
  const owner = mailbox ?? first;
  if (!owner) return isMxHere(domain) ? { kind: "none" } : { kind: "none", is_mx_here: false };
  const found = { mailbox: owner, domain };
  const { copies, isKept } = isForwarding
    ? await copiesOfMailbox(table, accountId, found)
    : { copies: [], isKept: true };
  const kind = mailbox && address ? address.kind : "role";
  return { ...mailboxRoute(kind, found), keep_copy: isKept, copies };
}

/**
 * Whether mail to the domain comes to our MX, as far as the last checks saw. The MX of a hosted domain is ours, except
 * while the domain waits for its delegation.
 */
const isMxHere = ({ dns_mode, status, seen_right, broken_records }: StoredDomain): boolean =>
  !broken_records.includes("mx") &&
  (seen_right.includes("mx") || (dns_mode === "hosted" && status !== "pending_delegation"));

/** The route to a mailbox that keeps the mail, without copies. */
const mailboxRoute = (kind: MailboxRoute["kind"], { mailbox, domain }: FoundMailbox): MailboxRoute => ({
  kind,
  mailbox: `${mailbox.local_part}@${domain.name}`,
  mailbox_id: mailbox.id,
  account_id: domain.account_id,
  status: mailbox.status,
  quota_bytes: mailbox.quota,
  is_full: mailbox.used >= mailbox.quota,
  keep_copy: true,
  copies: [],
});

/**
 * Finds a mailbox by its id, for mail whose recipient was looked up by its address before. The result is `none` once
 * the mailbox is deleted or the account is closed, even if another mailbox then has the address. The route has no
 * copies, because the first lookup returned them.
 */
export async function routeOfMailbox(table: Reader, accountId: string, mailboxId: string): Promise<Route> {
  const [accountItem, mailboxItem] = await table.getMany([accountKey(accountId), mailboxKey(accountId, mailboxId)]);
  const account = accountItem && StoredAccount.parse(accountItem);
  const mailbox = mailboxItem && StoredMailbox.parse(mailboxItem);
  if (!account || account.status === "closed" || mailbox?.id !== mailboxId) return { kind: "none" };
  const domain = await table.get(domainKey(accountId, mailbox.domain_id), StoredDomain);
  return domain ? mailboxRoute("mailbox", { mailbox, domain }) : { kind: "none" };
}
