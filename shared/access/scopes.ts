import type { ResourceType, Scope } from "../auth/permissions.ts";
import { domainKey } from "../domains/domain.ts";
import { domainById, scopesOfDomain } from "../domains/find.ts";
import type { Expected } from "../http/route.ts";
import { credentials } from "../mail/credentials/credential.ts";
import { rules } from "../mail/forwarding/rule.ts";
import { mailboxByRef, scopesOfMailbox, aheadOfMailbox } from "../mail/mailboxes/find.ts";
import { mailboxKey } from "../mail/mailboxes/mailbox.ts";
import { locateScoped, scopedKey, type Family, type Scoped, aheadOfScoped } from "../mail/scoped/family.ts";
import type { Reader } from "../table/table.ts";
import type { Write, Key } from "../table/writes.ts";
import { workspaceCheck, workspaceKey } from "../workspaces/workspace.ts";

/**
 * `scopes` are the scopes of a resource: the resource itself first, then the resources that contain it. `present` is a
 * write that makes a transaction fail if the resource is deleted meanwhile.
 * - The write also raises the version of the resource. So a deletion at the same time has to read the grants on the
 *   resource again.
 * - For a mailbox, the write raises no version, because a deleted mailbox keeps its grants until the mailbox is purged.
 * - The account has no scopes and no write.
 */
type Located = { scopes: Scope[]; present?: Write };
/** The write that raises the version of a resource. Fails if the resource does not exist. */
const raised = (key: Key, id: string): Write => ({ update: key, add: { version: 1 }, if: { id } });

type Resolver = (table: Reader, accountId: string, id: string) => Promise<Located | undefined>;

const scopedResolver =
  <T extends Scoped>(family: Family<T>): Resolver =>
  async (table, accountId, id) => {
    const located = await locateScoped(family, table, accountId, id);
    return located && { scopes: located.scopes, present: raised(scopedKey(family, accountId, id), id) };
  };

/** Finds the scopes of a resource, by the type of the resource. */
const resolvers: Partial<Record<ResourceType, Resolver>> = {
  account: async (_, accountId, id) => (id === accountId ? { scopes: [] } : undefined),
  workspace: async (table, accountId, id) => {
    const found = await workspaceCheck(table, accountId, id);
    return found && { scopes: [{ type: "workspace", id }], present: raised(workspaceKey(accountId, id), id) };
  },
  domain: async (table, accountId, id) => {
    const domain = await domainById(table, accountId, id);
    return domain && { scopes: scopesOfDomain(domain), present: raised(domainKey(accountId, id), id) };
  },
  mailbox: async (table, accountId, id) => {
    const mailbox = await mailboxByRef(table, accountId, id);
    return mailbox && { scopes: scopesOfMailbox(mailbox), present: { check: mailboxKey(accountId, id), if: { id } } };
  },
  credential: scopedResolver(credentials),
  forwarding: scopedResolver(rules),
};

/** The items that `locate` reads. */
export function aheadOfScope(accountId: string, { type, id }: Scope, expected: Expected): Key[] {
  if (type === "workspace") return [workspaceKey(accountId, id)];
  if (type === "domain") return [domainKey(accountId, id)];
  if (type === "mailbox") return [...(aheadOfMailbox(expected, accountId, id).keys ?? [])];
  if (type === "credential") return aheadOfScoped(credentials, accountId, id, expected).keys;
  if (type === "forwarding") return aheadOfScoped(rules, accountId, id, expected).keys;
  return [];
}

/** Finds the scopes of a resource; undefined if the account does not have the resource. */
export async function locate(table: Reader, accountId: string, { type, id }: Scope): Promise<Located | undefined> {
  return resolvers[type]?.(table, accountId, id);
}
