import { InvalidInput, Problem } from "../../core/errors.ts";
import { domainKey, noSuchDomain, notReady } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import { readList, type ListState } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainCountWrite } from "../../workspaces/workspace.ts";
import { type Family, type MailScope, type Scoped, scopeKey } from "./family.ts";

/**
 * Reads the state of the list for a new entry, and plans the writes that make the transaction fail if the scope is
 * deleted. 409 `limit_reached`, `domain_not_ready`, 422.
 */
export async function placeFor<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  scope: MailScope,
): Promise<{ state: ListState; presence: Write[] }> {
  const presence = await presenceOf(table, accountId, scope, family.noun);
  const { state } = await readList(table, family.list(accountId));
  const beside = scopeKey(accountId, family.prefix, scope);
  const known = await table.between(beside.PK, beside.SK, `${beside.SK}~`, { limit: family.perScope });
  if (known.length < family.perScope && state.live < family.perAccount) return { state, presence };
  const { noun, perScope, perAccount } = family;
  const detail = `A scope has ${perScope} ${noun} at most, and an account ${perAccount.toLocaleString("en-US")}. Delete some first.`;
  throw new Problem("limit_reached", detail);
}

async function presenceOf(table: Reader, accountId: string, { type, id }: MailScope, noun: string): Promise<Write[]> {
  if (type === "account") return [];
  // This raises the workspace's version, so that a concurrent deletion reads the entries to delete again.
  if (type === "workspace") return [domainCountWrite(accountId, id, 0)];
  const domain = await domainById(table, accountId, id);
  if (!domain) throw new InvalidInput([{ loc: ["body", "domain"], msg: noSuchDomain, type: "not_found" }]);
  const { is_open, name, status } = domain;
  if (!is_open) throw notReady(status, `The domain ${name} is ${status}. It takes no new ${noun} in this state.`);
  return [{ check: domainKey(accountId, id), if: { id, is_open } }];
}
