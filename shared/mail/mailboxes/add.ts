import { covers } from "../../auth/permissions.ts";
import { notFound, Problem } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById, scopesOfDomain, aheadOfDomain, expectedDomainId, seenDomain } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import { aheadOfLists } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { workspaceKey } from "../../workspaces/workspace.ts";
import { anyLocal, type Mailbox, mailboxesIn, mailboxesOf } from "./mailbox.ts";
import { type LoginServices, newLogin } from "./password.ts";
import { AddressTaken, mailboxHeads, planMailboxes, requireReady, type Person } from "./plan.ts";
import { aheadOfQuota, requireQuota } from "./quota.ts";
import { mailboxViewsIn } from "./view.ts";

/** The 409 `address_taken`. It names the mailbox that has the address only if the caller may see that mailbox. */
export function addressTaken(
  { local, mailboxId }: AddressTaken,
  domain: StoredDomain,
  { permissions }: Context,
): Problem {
  const scopes = [{ type: "mailbox" as const, id: mailboxId }, ...scopesOfDomain(domain)];
  const extras = covers(permissions, "mailbox.view", scopes) ? { conflicts_with: mailboxId } : {};
  const what =
    local === anyLocal
      ? `The domain ${domain.name} has a catch-all already. Delete that alias first.`
      : `${local}@${domain.name} is an address of a mailbox already. Choose another address.`;
  return new Problem("address_taken", what, extras);
}

/**
 * Reads the current state of a domain. Throws 404 if the domain is gone, and 409 `domain_not_ready` if the domain
 * accepts no new addresses.
 */
export async function readReadyDomain({ account_id, id }: StoredDomain, { table }: Context): Promise<StoredDomain> {
  const domain = await domainById(table, account_id, id);
  if (!domain) throw notFound();
  requireReady(domain);
  return domain;
}

/** The items that `domainInBody` and `addMailbox` read. They are complete only if this process has seen the domain. */
export function aheadOfNewMailbox(
  accountId: string,
  { domain: ref, quota_allowed }: { domain: string; quota_allowed?: number | undefined },
  expected: Expected,
): Ahead {
  const { keys, again } = aheadOfDomain(expected, accountId, ref);
  const id = expectedDomainId(expected.seen, accountId, ref);
  const workspaceId = seenDomain(expected, accountId, id)?.workspace_id;
  const lists = [mailboxesOf(accountId), ...(id === undefined ? [] : [mailboxesIn(accountId, id)])];
  const workspace = workspaceId === undefined ? [] : [workspaceKey(accountId, workspaceId)];
  const others = [...workspace, ...(aheadOfLists(lists).keys ?? []), ...aheadOfQuota(accountId, quota_allowed)];
  return { keys: [...keys, ...others], ...(again ? { again } : {}) };
}

/**
 * Creates a mailbox with a generated password. Throws:
 * - 404 if the domain does not exist any more
 * - 409 `address_taken` if another mailbox has the address
 * - 409 `domain_not_ready` if the domain accepts no new addresses
 * - 422 for a quota that the plan does not allow
 * - 503 if the key service does not answer
 */
export async function addMailbox(
  found: StoredDomain,
  person: Person,
  context: Context,
  work: LoginServices,
): Promise<Mailbox> {
  requireReady(found);
  const { account_id, id: domain_id } = found;
  const { table, commit, now, keyId } = context;
  if (person.quota_allowed !== undefined) await requireQuota(table, account_id, person.quota_allowed, now());
  const login = await newLogin({ account_id, domain_id, local_part: person.local_part }, work);
  try {
    return await commit(async () => {
      const [domain, heads] = await Promise.all([readReadyDomain(found, context), mailboxHeads(table, found, 1)]);
      const { mailboxes, writes, changes } = planMailboxes(heads, domain, [{ person, login }], {
        now: now(),
        madeBy: keyId,
      });
      const [view] = await mailboxViewsIn([domain], table, found.account_id, mailboxes);
      if (!view) throw notFound();
      return { value: view, writes, changes };
    });
  } catch (error) {
    throw error instanceof AddressTaken ? addressTaken(error, found, context) : error;
  }
}
