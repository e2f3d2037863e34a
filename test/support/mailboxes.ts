import { argon2Sync, randomBytes } from "node:crypto";

import { domainKey, holderKey, type Domain } from "../../shared/domains/domain.ts";
import { mailboxKey, StoredMailbox, type Mailbox } from "../../shared/mail/mailboxes/mailbox.ts";
import { isKeyedPassword, loginKey, nobodysHash, passwordTag } from "../../shared/mail/mailboxes/password.ts";
import { mailboxHeads, planMailboxes, type Person } from "../../shared/mail/mailboxes/plan.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";
import { storedAs, write } from "./domain-work.ts";
import { connected } from "./domains.ts";
import { request, type Answer } from "./request.ts";
import { testTable, type Account, type User } from "./world.ts";

export { statusesOf } from "./request.ts";

/** Sends a request about the account, for its owner unless another user is given. */
export const send = (
  { id, owner }: Account,
  method: string,
  path: string,
  body?: unknown,
  { headers = {}, as = owner }: { headers?: Record<string, string>; as?: Pick<User, "token"> } = {},
): Promise<Answer> =>
  request(method, `/v1/public/accounts/${id}/${path}`, {
    token: as.token,
    headers,
    ...(body === undefined ? {} : { body }),
  });

/** Asks for a new mailbox. */
export const addMailbox = (
  account: Account,
  body: unknown,
  options: Parameters<typeof send>[4] = {},
): Promise<Answer> => send(account, "POST", "mailboxes", body, options);

/** The path of a mailbox by its id or address, as it is written in a URL. */
export const at = (ref: string, rest = ""): string => `mailboxes/${encodeURIComponent(ref)}${rest}`;

/** Makes a domain of an account with a given status, without a zone. Its mailboxes need no zone. */
export async function home(
  account: Account,
  options: { name?: string; workspaceId?: string; status?: string } = {},
): Promise<Domain> {
  const { status = "active", ...rest } = options;
  const domain = await connected(account, rest);
  if (status === "pending_delegation") return domain;
  await write({ update: domainKey(account.id, domain.id), set: { status, verified_at: domain.created_at } });
  await write({ update: holderKey(domain.name), set: { firm: true } });
  return { ...domain, status: status as Domain["status"] };
}

export const person = (local_part: string, more: Partial<Person> = {}): Person => ({
  local_part,
  first_name: "Ada",
  last_name: "Lovelace",
  ...more,
});

/** Adds a mailbox as the account's owner. */
export async function added(
  account: Account,
  domain: string,
  local_part = "ada",
  more: Partial<Person> = {},
): Promise<Mailbox> {
  const { status, body, text } = await addMailbox(account, { domain, ...person(local_part, more) });
  if (status !== 201) throw new Error(text);
  return body as Mailbox;
}

/** Adds mailboxes without a usable password, up to 23 in a transaction. */
export async function stocked(
  account: Account,
  domain: string,
  people: readonly (string | Person)[],
): Promise<string[]> {
  const table = testTable();
  const atOnce = 23;
  const ids: string[] = [];
  for (let from = 0; from < people.length; from += atOnce) {
    const some = people.slice(from, from + atOnce).map((one) => ({
      person: typeof one === "string" ? person(one) : one,
      login: { hash: nobodysHash, tag: "", sealed: "none" },
    }));
    const made = await table.commit(async () => {
      const now = { now: new Date(), madeBy: undefined };
      const stored = await storedAs(account, domain);
      const { mailboxes, writes } = planMailboxes(await mailboxHeads(table, stored, some.length), stored, some, now);
      return { value: mailboxes, writes };
    });
    ids.push(...made.map(({ id }) => id));
  }
  return ids;
}

/** Makes a hash that takes almost no time to check. */
export function cheapHash(password: string): string {
  const nonce = randomBytes(16);
  const numbers = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
  const hash = argon2Sync("argon2id", { message: Buffer.from(password.normalize("NFC")), nonce, ...numbers });
  const [salt, end] = [nonce, hash].map((bytes) => bytes.toString("base64").replace(/=+$/, ""));
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${end}`;
}

const keyOf = ({ id }: Pick<Account, "id">): Promise<Buffer> =>
  loginKey(id, { table: testTable(), secrets: secretsHere() });

/** The tag of a password in an account. */
export const tagOf = async (account: Pick<Account, "id">, password: string): Promise<string> =>
  passwordTag(await keyOf(account), password);

/** Whether a keyed hash of an account belongs to a password. */
export const isOwnPassword = async (account: Pick<Account, "id">, password: string, hash: string): Promise<boolean> =>
  isKeyedPassword(await keyOf(account), password, hash);

/** Gives a mailbox a password, without the time of a real hash. */
export async function setPassword(account: Pick<Account, "id">, id: string, password: string): Promise<void> {
  const login = { hash: cheapHash(password), tag: await tagOf(account, password) };
  await testTable().attempt({ update: mailboxKey(account.id, id), set: { login } });
}

/** A mailbox as it is stored. */
export async function storedMailbox({ id: accountId }: Pick<Account, "id">, id: string): Promise<StoredMailbox> {
  const mailbox = await testTable().get(mailboxKey(accountId, id), StoredMailbox);
  if (!mailbox) throw new Error(`there is no mailbox ${id}`);
  return mailbox;
}

type Listed = { items: Mailbox[]; total: number };

/** A page of the mailboxes that a user sees. */
export async function listed(account: Account, query: Record<string, string> = {}, as?: User): Promise<Listed> {
  const { status, body, text } = await send(
    account,
    "GET",
    `mailboxes?${new URLSearchParams(query).toString()}`,
    undefined,
    as ? { as } : {},
  );
  if (status !== 200) throw new Error(text);
  return body as Listed;
}

/** The aliases of a mailbox. */
export const aliasesOf = async (account: Account, mailbox: string): Promise<string[]> =>
  (await send(account, "GET", at(mailbox))).body.aliases.map(({ alias }: { alias: string }) => alias);

export const emailsIn = ({ items }: Listed): string[] => items.map(({ primary_email }) => primary_email);
