import * as z from "zod";

import { accountKey, StoredAccount } from "../accounts/account.ts";
import type { Table } from "../table/table.ts";
import type { Item, Key } from "../table/writes.ts";
import { HeldGrant, noPermissions, type Permissions } from "./permissions.ts";
import type { Principal } from "./principal.ts";

/*
 * Access patterns
 *   all a subject holds in an account   ACCOUNT#<id> / ACCESS#<subject type>#<subject id>   (every request)
 *   whether a user is a super admin     USER#<id> / USER
 */
export const accessKey = (accountId: string, subject: { type: string; id: string }): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ACCESS#${subject.type}#${subject.id}`,
});
export const userKey = (userId: string): Key => ({ PK: `USER#${userId}`, SK: "USER" });

/** What one subject holds in one account, kept in step with its grants by the transactions that change them. */
export const AccessRecord = z.object({
  owner_grant_id: z.string().optional(),
  grants: z.array(HeldGrant),
  /** Where the account stands in the user's own list of accounts. */
  listed_at: z.int().optional(),
  version: z.int(),
});
export type AccessRecord = z.output<typeof AccessRecord>;

const StoredUser = z.object({ super_admin: z.boolean() });

/** Whether the principal is a super admin; only users can be. */
export async function isSuperAdmin(table: Table, principal: Principal): Promise<boolean> {
  return principal.type === "user" && (await table.get(userKey(principal.id), StoredUser))?.super_admin === true;
}

/** The permissions of a principal in an account, and the account's status where a write needs to know it. */
export type Standing = { permissions: Permissions; accountStatus?: StoredAccount["status"] };

/**
 * Two read units at most for a member: what it holds and, for a write, the account. Only a principal
 * that holds nothing costs a second round trip, which asks whether it is a super admin.
 */
export async function standingOf(
  table: Table,
  principal: Principal,
  accountId: string,
  withStatus: boolean,
): Promise<Standing> {
  const keys = [accessKey(accountId, principal), ...(withStatus ? [accountKey(accountId)] : [])];
  const [record, account] = await table.getMany(keys);
  const permissions = record ? permissionsOf(AccessRecord.parse(record)) : noPermissions;
  if (permissions.member) return standing(permissions, account);
  if (!(await isSuperAdmin(table, principal))) return { permissions };
  const existing = account ?? (await table.getMany([accountKey(accountId)]))[0];
  return existing ? standing({ member: true, everything: true, grants: [] }, existing) : { permissions };
}

function standing(permissions: Permissions, account: Item | undefined): Standing {
  return account ? { permissions, accountStatus: StoredAccount.parse(account).status } : { permissions };
}

function permissionsOf(record: AccessRecord): Permissions {
  const owner = record.owner_grant_id !== undefined;
  return { member: owner || record.grants.length > 0, everything: owner, grants: record.grants };
}
