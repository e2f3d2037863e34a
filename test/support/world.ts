import { randomUUID } from "node:crypto";

import { createIssuer, type Person } from "../../infra/local/issuer.ts";
import { createAccount, createClient } from "../../shared/accounts/operate.ts";
import { planGrants, superAdminWrite, type Grantable } from "../../shared/auth/grants.ts";
import { mintServiceToken, serviceTokenWrite } from "../../shared/auth/service-token.ts";
import { documentClient, openTable, type Table, type Usage } from "../../shared/table/table.ts";

export const issuer = createIssuer(JSON.parse(process.env["TEST_ISSUER_KEY"] ?? "{}"));
const client = documentClient();

/** The table the handlers use, with its own count of what it cost. */
export function testTable(usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 }): Table {
  return openTable(client, process.env["TABLE_NAME"] ?? "", usage);
}

export type User = { id: string; token: string };
export type Account = { id: string; name: string; clientId: string; owner: User };

/** A person with a token who holds nothing yet. */
export function newUser(claims: Partial<Person> = {}): User {
  const id = claims.sub ?? randomUUID();
  return { id, token: issuer.mint({ email: `${id}@example.com`, ...claims, sub: id }) };
}

/** A new account of a new client (or a given one) with its owner. */
export async function newAccount(options: { name?: string; clientId?: string; owner?: User } = {}): Promise<Account> {
  const table = testTable();
  const { name = "Test account", owner = newUser() } = options;
  const parent =
    options.clientId === undefined
      ? await createClient(table, "Test client")
      : { id: options.clientId, name: "Test client" };
  const account = await createAccount(table, { client: parent, name, ownerId: owner.id }, new Date());
  return { id: account.id, name, clientId: parent.id, owner };
}

/** Gives a user something in an account. */
export async function grant(
  account: Pick<Account, "id">,
  user: Pick<User, "id">,
  ...grants: Grantable[]
): Promise<void> {
  const table = testTable();
  await table.commit(async () => ({
    value: undefined,
    writes: await planGrants(table, account.id, { type: "user", id: user.id }, grants, new Date()),
  }));
}

/** A new user who holds something in an account. */
export async function newMember(account: Pick<Account, "id">, ...grants: Grantable[]): Promise<User> {
  const user = newUser();
  await grant(account, user, ...grants);
  return user;
}

/** A service account of an account with its token. */
export async function newServiceAccount(
  account: Pick<Account, "id">,
  ...grants: Grantable[]
): Promise<User & { publicId: string }> {
  const table = testTable();
  const id = randomUUID();
  const { token, publicId, secretHash } = mintServiceToken();
  await table.commit(async () => ({
    value: undefined,
    writes: [
      serviceTokenWrite({ serviceAccountId: id, accountId: account.id, publicId, secretHash }),
      ...(await planGrants(table, account.id, { type: "service_account", id }, grants, new Date())),
    ],
  }));
  return { id, token, publicId };
}

/** A user who may do everything everywhere. */
export async function newSuperAdmin(): Promise<User> {
  const user = newUser();
  await testTable().commit(async () => ({ value: undefined, writes: [superAdminWrite(user.id)] }));
  return user;
}
