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
import { scopedById, scopedKey, type WideScope } from "../scoped/family.ts";
import { listScoped } from "../scoped/list.ts";
import { planScopedPurge, planScopedRemoval, type Purge, type PlanDependents } from "../scoped/remove.ts";
import { credentialKind, credentials, masterKey, type Credential, type StoredCredential } from "./credential.ts";

export type NewCredential = Credential & { generated_secret?: string };

type Validity = { active?: boolean | undefined; expires_at?: string | null | undefined };
type NewMaster = Validity & { name: string; scope: WideScope; value: string | undefined };

/**
 * Creates a master password from the given value, or from a generated value that only this answer shows. Throws:
 * - 409 `limit_reached` if the scope or the account can have no more master passwords
 * - 409 `domain_not_ready` if the scope's domain accepts no new master passwords
 * - 422 if the scope's domain or workspace is gone
 * - 503 if the key service does not answer
 */
export async function addCredential(
  accountId: string,
  { name, scope, value, active = true, expires_at = null }: NewMaster,
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
      active,
      expires_at,
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
          put: {
            ...masterKey(accountId, scope, credential.id),
            credential_id: credential.id,
            hash,
            tag,
            active,
            expires_at,
          },
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

/**
 * Changes the name of a master password, whether it is active, and when it expires. If `expires_at` is null, the master
 * password never expires. The change applies to logins at once. Writes nothing if nothing would change. Throws 404 for
 * an unknown master password.
 */
export function updateCredential(
  accountId: string,
  id: string,
  { name, active, expires_at }: Validity & { name?: string | undefined },
  { table, commit, now }: Context,
): Promise<Credential> {
  return commit(async () => {
    const before = await currentCredential(table, accountId, id);
    const validity = {
      active: active ?? before.active,
      expires_at: expires_at === undefined ? before.expires_at : expires_at,
    };
    const given = { name: name ?? before.name, ...validity };
    const isSame = (members: Partial<StoredCredential>): boolean =>
      Object.entries(members).every(([member, value]) => before[member as keyof StoredCredential] === value);
    if (isSame(given)) return { value: before, writes: [], changes: [], current: before };
    const set = { ...given, updated_at: now().toISOString() };
    const after = { ...before, ...set };
    const { version, scope_type, scope_id } = before;
    const scope = { type: scope_type, id: scope_id };
    return {
      value: after,
      writes: [
        // The row is updated, not replaced: a login may set `last_used_at` meanwhile, without raising the version.
        { update: scopedKey(credentials, accountId, id), set, add: { version: 1 }, if: { id, version } },
        ...(isSame(validity)
          ? []
          : [{ update: masterKey(accountId, scope, id), set: validity, if: { credential_id: id } }]),
      ],
      changes: [change(credentialKind, "updated", id, { before, after })],
    };
  });
}

/** Plans what the deletion of master passwords needs besides their own rows: the changes to record, and no writes. */
const planRemovedChanges: PlanDependents<StoredCredential> = (gone) => ({
  writes: [],
  changes: gone.map((before) => change(credentialKind, "deleted", before.id, { before })),
});

/**
 * Plans the deletion of the first few master passwords of a scope that is being deleted. `isAll` says whether no other
 * master passwords of the scope are left.
 */
export const planCredentialPurge = (place: Parameters<typeof planScopedPurge>[1], scope: WideScope): Promise<Purge> =>
  planScopedPurge(credentials, place, masterKey(place.accountId, scope), planRemovedChanges);

/**
 * Deletes a master password and the grants on it. Logins with it fail from then on. Throws 404 for an unknown master
 * password.
 */
export async function deleteCredential(accountId: string, id: string, { table, commit, now }: Context): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const current = await currentCredential(table, accountId, id);
      const place = { table, accountId, now: now() };
      const { isAll, ...planned } = await planScopedRemoval(credentials, place, [current], planRemovedChanges);
      return { value: !isAll, ...planned, current, partial: !isAll };
    });
  }
}
