import { randomUUID } from "node:crypto";

import * as z from "zod";

import { accountsOfUser } from "../accounts/account.ts";
import { appendRows, readList } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { accessKey, AccessRecord, userKey } from "./access.ts";
import { Capability, RoleKey } from "./capabilities.ts";
import { ScopeType, type HeldGrant } from "./permissions.ts";

/*
 * Access patterns
 *   grants of an account, and one by id   ACCOUNT#<id> / GRANT#<grant id>
 */
const grantKey = (accountId: string, grantId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `GRANT#${grantId}` });

export const SubjectType = z.enum(["user", "service_account"]);
export type Subject = { type: z.output<typeof SubjectType>; id: string };

/** What is granted: ownership of the account, or a capability or role on a scope (the account when there is none). */
export const Grantable = z.union([
  z.strictObject({ owner: z.literal(true) }),
  z.strictObject({ capability: Capability, scope: z.object({ type: ScopeType, id: z.string() }).optional() }),
  z.strictObject({ role: RoleKey, scope: z.object({ type: ScopeType, id: z.string() }).optional() }),
]);
export type Grantable = z.output<typeof Grantable>;

/**
 * The writes that give `granted` to a subject: the grants themselves, the subject's access record, and
 * the account's place in the user's own list when it is their first. Made from fresh reads, for one transaction.
 */
export async function planGrants(
  table: Table,
  accountId: string,
  subject: Subject,
  granted: readonly Grantable[],
  now: Date,
): Promise<Write[]> {
  const key = accessKey(accountId, subject);
  const { state, others } = await readList(table, accountsOfUser(subject.id), [], [key]);
  const record = others[0] ? AccessRecord.parse(others[0]) : undefined;
  const listed = subject.type === "user" && record?.listed_at === undefined;
  const added = granted.map((grant) => ({ id: randomUUID(), grant }));
  const ownerGrantId = record?.owner_grant_id ?? added.find(({ grant }) => "owner" in grant)?.id;
  const held = added.flatMap(({ id, grant }): HeldGrant[] => ("owner" in grant ? [] : [{ id, ...grant }]));
  return [
    ...added.map(({ id, grant }): Write => ({
      put: { ...grantKey(accountId, id), id, subject, ...grant, created_at: now.toISOString() },
      if: "absent",
    })),
    {
      put: {
        ...key,
        ...(ownerGrantId === undefined ? {} : { owner_grant_id: ownerGrantId }),
        grants: [...(record?.grants ?? []), ...held],
        ...(listed ? { listed_at: state.next } : { listed_at: record?.listed_at }),
        version: (record?.version ?? 0) + 1,
      },
      if: record ? { version: record.version } : "absent",
    },
    ...(listed ? appendRows(state, [{ account_id: accountId }]) : []),
  ];
}

/** Makes a user a super admin. */
export const superAdminWrite = (userId: string): Write => ({ put: { ...userKey(userId), super_admin: true } });
