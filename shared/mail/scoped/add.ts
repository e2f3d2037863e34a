import { invalidAt, Problem } from "../../core/errors.ts";
import { domainKey, noSuchDomain, notReady } from "../../domains/domain.ts";
import { domainById, aheadOfDomain } from "../../domains/find.ts";
import type { Expected } from "../../http/route.ts";
import { readList, type ListState, aheadOfList } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key, Item } from "../../table/writes.ts";
import { domainCountWrite } from "../../workspaces/workspace.ts";
import { mailboxById, noSuchMailbox } from "../mailboxes/find.ts";
import { mailboxKey } from "../mailboxes/mailbox.ts";
import { type Family, type MailScope, type Scoped, scopeKey } from "./family.ts";

/**
 * Reads the list for a new entry, and the existing entries of its scope. `presence` are the writes that make the
 * transaction fail if the scope is deleted meanwhile. Throws:
 * - 409 `limit_reached` if the scope or the account can have no more entries
 * - 409 `domain_not_ready` if the scope's domain accepts no new entries
 * - 422 if the scope's domain or mailbox is gone. If the scope's workspace is gone, the transaction throws 422.
 */
export async function placeFor<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  scope: MailScope,
): Promise<{ state: ListState; presence: Write[]; existing: Item[] }> {
  const beside = scopeKey(accountId, family.prefix, scope);
  const [presence, { state }] = await Promise.all([
    presenceOf(table, accountId, scope, family.noun),
    readList(table, family.list(accountId)),
  ]);
  // The entries are read after the head of the list. An entry that is added later changes the head, and then the
  // transaction fails.
  const existing = await table.between(beside.PK, beside.SK, `${beside.SK}~`, { limit: family.perScope });
  if (existing.length < family.perScope && state.live < family.perAccount) return { state, presence, existing };
  const { noun, perScope, perAccount } = family;
  const detail = `A scope has ${perScope} ${noun} at most, and an account ${perAccount.toLocaleString("en-US")}. Delete some first.`;
  throw new Problem("limit_reached", detail);
}

/** The items that `scopeInBody` and `placeFor` read first. */
export function aheadOfPlace<T extends Scoped>(
  family: Family<T>,
  input: { params: { account_id: string }; body: { domain?: string | undefined } },
  expected: Expected,
): Key[] {
  const { params, body } = input;
  const { keys = [] } = aheadOfList(family.list(params.account_id));
  const domain = body.domain === undefined ? [] : aheadOfDomain(expected, params.account_id, body.domain).keys;
  return [...keys, ...domain];
}

/**
 * The writes that make a transaction fail if a scope is deleted meanwhile. Throws 409 `domain_not_ready` if the scope's
 * domain accepts no new entries, and 422 if the scope's domain or mailbox is gone.
 */
async function presenceOf(table: Reader, accountId: string, scope: MailScope, noun: string): Promise<Write[]> {
  const { type, id } = scope;
  if (type === "account") return [];
  // This write raises the workspace's version. So a deletion of the workspace at the same time fails, is planned again,
  // and then also finds the new entry.
  if (type === "workspace") return [domainCountWrite(accountId, id, 0)];
  if (type !== "mailbox") return [await openDomainCheck(table, accountId, id, noun)];
  const mailbox = await mailboxById(table, accountId, id);
  if (!mailbox) throw invalidAt(["body", "mailbox"], noSuchMailbox, "not_found");
  return [
    await openDomainCheck(table, accountId, mailbox.domain_id, noun),
    { check: mailboxKey(accountId, id), if: { id } },
  ];
}

/**
 * Reads a domain, and returns the check that the domain still accepts new entries. Throws 409 `domain_not_ready` if the
 * domain accepts none, and 422 if the domain is gone.
 */
async function openDomainCheck(table: Reader, accountId: string, id: string, noun: string): Promise<Write> {
  const domain = await domainById(table, accountId, id);
  if (!domain) throw invalidAt(["body", "domain"], noSuchDomain, "not_found");
  const { is_open, name, status } = domain;
  if (!is_open) throw notReady(status, `The domain ${name} is ${status}. It accepts no new ${noun} in this state.`);
  return { check: domainKey(accountId, id), if: { id, is_open } };
}
