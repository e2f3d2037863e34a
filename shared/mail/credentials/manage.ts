import { change } from "../../changes/kind.ts";
import { notFound } from "../../core/errors.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import type { PageQuery } from "../../core/page.ts";
import type { Context } from "../../http/route.ts";
import { appendRows } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import {
  hashPassword,
  keyedHash,
  loginKey,
  type LoginServices,
  newPassword,
  passwordTag,
} from "../mailboxes/password.ts";
import { placeFor } from "../scoped/add.ts";
import { type MailScope, scopedById, scopedKey } from "../scoped/family.ts";
import { listScoped } from "../scoped/list.ts";
import { planScopedPurge, planScopedRemoval, type Purge, type PlanDependents } from "../scoped/remove.ts";
import { credentialKind, credentials, masterKey, type Credential, type StoredCredential } from "./credential.ts";

export type NewCredential = Credential & { generated_secret?: string };

/**
 * Creates a master password from the given value, or from a generated one that only this answer shows. Throws 409
 * `limit_reached` or `domain_not_ready`, 422 if the scope's domain is gone, and 503.
 */
export async function addCredential(
  accountId: string,
  { name, scope, value }: { name: string; scope: MailScope; value: string | undefined },
  { table, commit, now }: Context,
  work: LoginServices,
): Promise<NewCredential> {
  const password = value ?? newPassword();
  const key = await loginKey(accountId, work);
  const hash = value === undefined ? keyedHash(key, password) : await hashPassword(password);
  const tag = passwordTag(key, password);
  return commit(async () => {
    const { state, presence } = await placeFor(credentials, table, accountId, scope);
    const at = now().toISOString();
    const credential: StoredCredential = {
      id: idWithOrdinal(state.next),
      name,
      scope_type: scope.type,
      scope_id: scope.id,
      created_at: at,
      updated_at: at,
      last_used_at: null,
      version: 1,
    };
    return {
      value: { ...credential, ...(value === undefined ? { generated_secret: password } : {}) },
      writes: [
        ...presence,
        ...appendRows(state, [credential]),
        {
          put: { ...masterKey(accountId, scope, credential.id), credential_id: credential.id, hash, tag },
          if: "absent",
        },
      ],
      changes: [change(credentialKind, "created", credential.id, { after: credential })],
    };
  });
}

/** A page of the master passwords that the principal may see, oldest first. */
export const listCredentials = (accountId: string, page: PageQuery, context: Context) =>
  listScoped(credentials, accountId, page, context);

async function currentCredential(table: Reader, accountId: string, id: string): Promise<StoredCredential> {
  const credential = await scopedById(credentials, table, accountId, id);
  if (!credential) throw notFound();
  return credential;
}

/** Renames a master password. Throws 404. */
export function renameCredential(
  accountId: string,
  id: string,
  name: string,
  { table, commit, now }: Context,
): Promise<Credential> {
  return commit(async () => {
    const before = await currentCredential(table, accountId, id);
    if (before.name === name) return { value: before, writes: [], changes: [], current: before };
    const set = { name, updated_at: now().toISOString() };
    const after = { ...before, ...set };
    const { version } = before;
    return {
      value: after,
      // Only the changed members are written: a login may set `last_used_at` meanwhile, without raising the version.
      writes: [{ update: scopedKey(credentials, accountId, id), set, add: { version: 1 }, if: { id, version } }],
      changes: [change(credentialKind, "updated", id, { before, after })],
    };
  });
}

const planRemovedChanges: PlanDependents<StoredCredential> = (gone) => ({
  writes: [],
  changes: gone.map((before) => change(credentialKind, "deleted", before.id, { before })),
});

/**
 * Plans the deletion of the first few master passwords of a scope that is being deleted; `isAll` says that no others
 * are left.
 */
export const planCredentialPurge = (place: Parameters<typeof planScopedPurge>[1], scope: MailScope): Promise<Purge> =>
  planScopedPurge(credentials, place, scope, planRemovedChanges);

/** Deletes a master password and the grants on it. Logins with it fail from then on. Throws 404. */
export async function deleteCredential(accountId: string, id: string, { table, commit, now }: Context): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const current = await currentCredential(table, accountId, id);
      const planned = await planScopedRemoval(
        credentials,
        { table, accountId, now: now() },
        [current],
        planRemovedChanges,
      );
      return { value: !planned.isAll, writes: planned.writes, changes: planned.changes, current };
    });
  }
}
