import { request, type Answer } from "./request.ts";
import { newAccount, newUser, type Account, type User } from "./world.ts";

type Body = Record<string, unknown>;

/** The path of an auth route of an account. */
const authPath = ({ id }: Pick<Account, "id">, rest = ""): string => `/v1/public/accounts/${id}/auth/${rest}`;

/** Sends a request for the account's owner. Throws the answer unless the request succeeded. */
export async function asOwner(account: Account, method: string, path: string, body?: Body): Promise<Answer["body"]> {
  const answer = await request(method, authPath(account, path), { token: account.owner.token, body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}

/** An account with a role `support`, which only views DNS records. */
export async function withRole(): Promise<Account> {
  const account = await newAccount();
  await asOwner(account, "POST", "roles", { key: "support", name: "Support", capability_keys: ["dns.view"] });
  return account;
}

export type Group = { id: string; name: string; idp_name: string };

/** Makes a group, inside another group if one is given. */
export async function newGroup(account: Account, name: string, parent?: Group): Promise<Group> {
  const group: Group = await asOwner(account, "POST", "groups", { name });
  if (parent) await asOwner(account, "PATCH", `groups/${group.id}`, { parent_id: parent.id });
  return group;
}

/** An item with the name and the address of its subject, as lists show it. */
export const named = <T extends object>(
  item: T,
  subject_name: string | null = null,
  subject_email: string | null = null,
) => ({
  ...item,
  subject_email,
  subject_name,
});

/** Makes a user or service account a member of a group. */
export const join = (account: Account, group: Pick<Group, "id">, id: string, type = "user"): Promise<Body> =>
  asOwner(account, "POST", `groups/${group.id}/members`, { subject_id: id, subject_type: type });

/** Gives a capability to a group, on a workspace if one is given. */
export const giveGroup = (account: Account, { id }: Pick<Group, "id">, key: string, workspaceId?: string) =>
  asOwner(account, "POST", "authorizations", {
    grant_kind: "capability",
    subject_type: "group",
    subject_id: id,
    capability_key: key,
    ...(workspaceId === undefined ? {} : { resource_type: "workspace", resource_id: workspaceId }),
  });

/** The arguments of `auth.authorizations.grant` that give a subject a capability on the whole account. */
export const capabilityFor = ({ id }: Pick<Account, "id">, subjectId: string, key: string, type = "user") => ({
  account_id: id,
  grant_kind: "capability",
  subject_id: subjectId,
  subject_type: type,
  capability_key: key,
});

/** Makes a group, service account or user an owner. */
export const makeOwner = (account: Account, id: string, type = "user") =>
  asOwner(account, "POST", "authorizations", { grant_kind: "account_owner", subject_type: type, subject_id: id });

/** A user whose token names groups. */
export const claiming = (...groups: Group[]): User => newUser({ groups: groups.map(({ idp_name }) => idp_name) });

/** Makes a workspace, and returns its id. */
export async function newWorkspace({ id, owner }: Account, name: string): Promise<string> {
  const sent = { token: owner.token, body: { name } };
  return (await request("POST", `/v1/public/accounts/${id}/workspaces`, sent)).body.id;
}

/** Deletes a workspace for the account's owner. */
export const deleteWorkspace = ({ id, owner }: Account, workspaceId: string): Promise<Answer> =>
  request("DELETE", `/v1/public/accounts/${id}/workspaces/${workspaceId}`, { token: owner.token });

/** Reads the profile of the owner of a token. */
export const me = (token: string): Promise<Answer> => request("GET", "/v1/public/me", { token });

export const isSuperAdmin = async (token: string): Promise<boolean> => (await me(token)).body.is_super_admin;

/**
 * Returns the status of the caller's request to list the account's grants (`auth.manage`) or workspaces
 * (`workspace.view`).
 */
export const statusOf = async (account: Account, { token }: Pick<User, "token">, what = "workspaces") =>
  (await request("GET", `/v1/public/accounts/${account.id}/${what}`, { token })).status;

/** Revokes the role that a user has on one resource. */
export async function loseRole(account: Account, { id }: Pick<User, "id">, resourceId: string): Promise<void> {
  const roles: { id: string; subject_id: string; resource_id: string }[] = await asOwner(
    account,
    "GET",
    "role-assignments",
  );
  const lost = roles.find(({ subject_id, resource_id }) => subject_id === id && resource_id === resourceId);
  await asOwner(account, "DELETE", `role-assignments/${lost?.id ?? ""}`);
}
