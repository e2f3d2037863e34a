import { covers } from "../auth/permissions.ts";
import { change, type Change } from "../changes/kind.ts";
import { domainsAmong } from "../domains/among.ts";
import { domainKey, noSuchDomain } from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { notReady } from "../domains/not-ready.ts";
import { InvalidInput, notFound, Problem } from "../errors.ts";
import { idWithOrdinal, ordinalOf } from "../ids.ts";
import { loginKey } from "../mailboxes/login-key.ts";
import { hashPassword, newPassword, passwordTag } from "../mailboxes/password.ts";
import { spanOf, type PageQuery } from "../page.ts";
import type { Secrets } from "../providers/secrets.ts";
import type { Context } from "../route.ts";
import { appendRows, readList, readRows, removeRows } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { domainCountWrite } from "../workspaces.ts";
import {
  credentialKey,
  credentialKind,
  credentialsOf,
  masterKey,
  perScope,
  scopesOfCredential,
  StoredCredential,
  type Credential,
  type MasterScope,
} from "./credential.ts";
import { credentialById } from "./subjects.ts";

const accountLimit = 1_000;

export type NewCredential = Credential & { generated_secret?: string };

type Work = { table: Table; secrets: Secrets };

/** Creates a master password: the given one, or one that is made and shown in this answer alone. 409 `limit_reached`, 422. */
export async function addCredential(
  accountId: string,
  { name, scope, value }: { name: string; scope: MasterScope; value: string | undefined },
  { table, commit, now }: Context,
  work: Work,
): Promise<NewCredential> {
  const password = value ?? newPassword();
  const [hash, key] = await Promise.all([hashPassword(password), loginKey(accountId, work)]);
  const tag = passwordTag(key, password);
  return commit(async () => {
    const isThere = await presenceOf(table, accountId, scope);
    const { state } = await readList(table, credentialsOf(accountId));
    const beside = masterKey(accountId, scope);
    const known = await table.between(beside.PK, beside.SK, `${beside.SK}~`, { limit: perScope });
    if (known.length >= perScope || state.live >= accountLimit) {
      throw new Problem(
        "limit_reached",
        `A scope has ${perScope} master passwords at most, and an account ${accountLimit}.`,
      );
    }
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
        ...isThere,
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

/** What fails the transaction once the scope of a master password is gone. 422, 409 `domain_not_ready`. */
async function presenceOf(table: Reader, accountId: string, { type, id }: MasterScope): Promise<Write[]> {
  if (type === "account") return [];
  // It changes the workspace's version: a deletion that goes on meanwhile looks again for what is to go with it.
  if (type === "workspace") return [domainCountWrite(accountId, id, 0)];
  const domain = await domainById(table, accountId, id);
  if (!domain) throw new InvalidInput([{ loc: ["body", "domain"], msg: noSuchDomain, type: "not_found" }]);
  const { is_open, name, status } = domain;
  if (!is_open) throw notReady(status, `${name} is ${status}: it takes no master passwords.`);
  return [{ check: domainKey(accountId, id), if: { id, is_open } }];
}

/** A page of the master passwords the principal sees, oldest first. */
export async function listCredentials(
  accountId: string,
  page: PageQuery,
  { table, permissions }: Context,
): Promise<{ items: Credential[]; total: number }> {
  const { skip, take } = spanOf(page);
  if (covers(permissions, "credential.view", [])) {
    const { rows, total } = await readRows(table, credentialsOf(accountId), { skip, take });
    return { items: rows.map((row) => StoredCredential.parse(row)), total };
  }
  const { rows } = await readRows(table, credentialsOf(accountId), { skip: 0, take: accountLimit });
  const all = rows.map((row) => StoredCredential.parse(row));
  const ids = [...new Set(all.flatMap(({ scope_type, scope_id }) => (scope_type === "domain" ? [scope_id] : [])))];
  const homes = new Map((await domainsAmong(table, accountId, ids)).map(({ id, workspace_id }) => [id, workspace_id]));
  const seen = all.filter((one) =>
    covers(permissions, "credential.view", scopesOfCredential(one, homes.get(one.scope_id))),
  );
  return { items: seen.slice(skip, skip + take), total: seen.length };
}

async function current(table: Reader, accountId: string, id: string): Promise<StoredCredential> {
  const credential = await credentialById(table, accountId, id);
  if (!credential) throw notFound();
  return credential;
}

/** Renames a master password. 404. */
export function renameCredential(
  accountId: string,
  id: string,
  name: string,
  { table, commit, now }: Context,
): Promise<Credential> {
  return commit(async () => {
    const before = await current(table, accountId, id);
    const set = { name, updated_at: now().toISOString() };
    const after = { ...before, ...set };
    const { version } = before;
    return {
      value: after,
      // Not the whole row: somebody may log in by it meanwhile, which is noted without a version.
      writes: [{ update: credentialKey(accountId, id), set, add: { version: 1 }, if: { id, version } }],
      changes: [change(credentialKind, "updated", id, { before, after })],
    };
  });
}

/** What deletes master passwords, which nobody can log in by from then on. */
export async function planCredentialsRemoved(
  table: Reader,
  accountId: string,
  removed: readonly StoredCredential[],
): Promise<{ writes: Write[]; changes: Change[] }> {
  const ordinals = removed.flatMap(({ id }) => ordinalOf(id) ?? []);
  if (ordinals.length === 0) return { writes: [], changes: [] };
  const { state } = await readList(table, credentialsOf(accountId), ordinals);
  return {
    writes: [
      ...removeRows(state, ordinals),
      ...removed.map(({ id, scope_type, scope_id }): Write => ({
        delete: masterKey(accountId, { type: scope_type, id: scope_id }, id),
      })),
    ],
    changes: removed.map((before) => change(credentialKind, "deleted", before.id, { before })),
  };
}

/** Deletes a master password. 404. */
export function deleteCredential(accountId: string, id: string, { table, commit }: Context): Promise<void> {
  return commit(async () => {
    const planned = await planCredentialsRemoved(table, accountId, [await current(table, accountId, id)]);
    return { value: undefined, ...planned };
  });
}
