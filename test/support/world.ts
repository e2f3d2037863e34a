import { randomUUID } from "node:crypto";

import { createIssuer, type Person } from "../../infra/local/start/issuer.ts";
import { createAccount } from "../../shared/access/operate-accounts.ts";
import { planServiceAccount } from "../../shared/access/service-account.ts";
import type { Capability, RoleKey } from "../../shared/auth/capabilities.ts";
import type { Scope } from "../../shared/auth/permissions.ts";
import { mintServiceToken } from "../../shared/auth/service-token.ts";
import { planAssignments, type Grantable } from "../../shared/grants/assignments.ts";
import { planSuperAdmin, type Subject } from "../../shared/grants/holders.ts";
import { TableClient, type Usage } from "../../shared/table/client.ts";
import { openTable, type Table } from "../../shared/table/table.ts";
import { afterCommits } from "./table-calls.ts";

export const issuer = createIssuer(JSON.parse(process.env["TEST_ISSUER_KEY"] ?? "{}"));
const client = new TableClient();

/** The table that the handlers use. Its calls add their usage to `usage`. */
export function testTable(usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 }): Table {
  return openTable(client, process.env["TABLE_NAME"] ?? "", usage);
}

export type User = { id: string; token: string; email?: string };
export type Account = { id: string; name: string; clientId: string; owner: User };

/** A person with a token and without permissions. */
export function newUser(claims: Partial<Person> = {}): User {
  const id = claims.sub ?? randomUUID();
  const email = "email" in claims ? claims.email : `${id}@example.com`;
  return { id, token: issuer.mint({ ...claims, email, sub: id }), ...(email === undefined ? {} : { email }) };
}

/** The options of a new account. By default, the account has a new client and a new owner. */
type NewAccount = { name?: string; clientId?: string; owner?: User; currency?: string };

export async function newAccount(options: NewAccount = {}): Promise<Account> {
  const table = testTable();
  const { name = "Test account", owner = newUser(), currency } = options;
  const parent = { id: options.clientId ?? randomUUID(), name: "Test client" };
  const input = { client: parent, name, currency, ownerId: owner.id, ownerEmail: owner.email };
  const account = await createAccount(table, input, new Date());
  return { id: account.id, name, clientId: parent.id, owner };
}

/** The permissions that tests give, in short form. */
export type Given = { owner: true } | { capability: Capability; scope?: Scope } | { role: RoleKey; scope?: Scope };

const grantable = (given: Given): Grantable =>
  "owner" in given
    ? { kind: "account_owner" }
    : ({ kind: "role" in given ? "role" : "capability", ...given } as Grantable);

async function give(accountId: string, subject: Subject, given: Given[], profile = {}): Promise<void> {
  const table = testTable();
  // Given one after another, because two grants of ownership would change the same item.
  for (const one of given) {
    await afterCommits();
    await table.commit(async () => {
      const author = { by: "test", now: new Date() };
      const { writes } = await planAssignments(table, accountId, subject, [grantable(one)], author, profile);
      return { value: undefined, writes };
    });
  }
}

/** Gives a user permissions in an account. */
export const grant = (
  account: Pick<Account, "id">,
  { id, email }: Pick<User, "id" | "email">,
  ...given: Given[]
): Promise<void> => give(account.id, { type: "user", id }, given, email === undefined ? {} : { email });

/** A new user with permissions in an account. */
export async function newMember(account: Pick<Account, "id">, ...given: Given[]): Promise<User> {
  const user = newUser();
  await grant(account, user, ...given);
  return user;
}

/** A service account of an account with its token. */
export async function newServiceAccount(
  account: Pick<Account, "id">,
  ...given: Given[]
): Promise<User & { publicId: string }> {
  const minted = mintServiceToken();
  const input = { accountId: account.id, name: "Test program", by: randomUUID(), now: new Date() };
  const { stored, writes } = planServiceAccount(input, minted);
  await testTable().commit(async () => ({ value: undefined, writes }));
  await give(account.id, { type: "service_account", id: stored.id }, given);
  return { id: stored.id, token: minted.token, publicId: minted.publicId };
}

/** A user with all permissions in all accounts. */
export async function newSuperAdmin(): Promise<User> {
  const user = newUser();
  const table = testTable();
  await table.commit(async () => ({
    value: undefined,
    writes: [await planSuperAdmin(table, user.id, () => ["test"])],
  }));
  return user;
}
