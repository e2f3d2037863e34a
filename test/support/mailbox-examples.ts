import { timeOrderedId } from "../../shared/core/ids.ts";
import { dayOf, plusDays } from "../../shared/core/time.ts";
import { newWorkspace } from "./auth.ts";
import { active, connected } from "./domains.ts";
import { home } from "./mailboxes.ts";
import { request } from "./request.ts";
import { testTable, type Account } from "./world.ts";

type Example = Record<string, unknown>;

const person = { local_part: "ada", first_name: "Ada", last_name: "Lovelace" };

async function made({ id, owner }: Account, path: string, body: unknown): Promise<Example> {
  const {
    status,
    body: answer,
    text,
  } = await request("POST", `/v1/public/accounts/${id}/${path}`, {
    token: owner.token,
    body,
  });
  if (status >= 300) throw new Error(text);
  return answer;
}

async function aMailbox(account: Account): Promise<Example> {
  const { name: domain } = await home(account);
  return made(account, "mailboxes", { domain, ...person });
}

const named = async (account: Account): Promise<Example> => ({
  account_id: account.id,
  mailbox: (await aMailbox(account))["id"],
});

/** Makes a deleted mailbox, and returns its id. */
async function aDeletedMailbox(account: Account): Promise<Example> {
  const mailbox = await named(account);
  const path = `/v1/public/accounts/${account.id}/mailboxes/${String(mailbox["mailbox"])}`;
  const { status, text } = await request("DELETE", path, { token: account.owner.token });
  if (status !== 200) throw new Error(text);
  return mailbox;
}

async function aCredential(account: Account): Promise<Example> {
  const { id } = await made(account, "credentials", { name: "Relay", generate: true });
  return { account_id: account.id, credential_id: id };
}

const phone = { name: "Phone", protocols: ["imap", "smtp"] };

/** Makes a mailbox with an app password, and returns their ids. */
async function anAppPassword(account: Account): Promise<Example> {
  const mailbox = await named(account);
  const { id } = await made(account, `mailboxes/${String(mailbox["mailbox"])}/app-passwords`, phone);
  return { ...mailbox, app_password_id: id };
}

/** Makes an export that the worker has not taken yet, like an export that is too large for one request. */
export async function queuedExport({ id: accountId, owner }: Account, filter: Example = {}): Promise<string> {
  const id = timeOrderedId(new Date());
  const now = new Date();
  const stored = {
    id,
    account_id: accountId,
    status: "queued",
    row_count: 0,
    requested_by: owner.id,
    filter,
    permissions: { everything: true, grants: [] },
    file_key: null,
    created_at: now.toISOString(),
    finished_at: null,
    expires_at: new Date(now.getTime() + 86_400_000).toISOString(),
    version: 1,
  };
  const key = { PK: `ACCOUNT#${accountId}`, SK: `MAILBOX_EXPORT#${id}` };
  await testTable().attempt({ put: { ...key, ...stored } });
  return id;
}

/** The arguments with which each route of mailboxes and master passwords succeeds for the account's owner. */
export const mailboxExamples: Record<string, (account: Account) => Promise<Example>> = {
  "mailboxes.list": async (account) => {
    const { domain_name: domain } = await aMailbox(account);
    return { account_id: account.id, domain };
  },
  "mailboxes.add": async (account) => ({ account_id: account.id, domain: (await active(account)).name, ...person }),
  "mailboxes.bulk": async (account) => ({
    account_id: account.id,
    domain: (await connected(account)).name,
    items: [person, { local_part: "grace hopper", first_name: "Grace", last_name: "Hopper" }],
  }),
  "mailboxes.bulk_delete": async (account) => ({
    account_id: account.id,
    mailboxes: [(await aMailbox(account))["primary_email"], "nobody@example.com"],
  }),
  "mailboxes.export": async (account) => {
    await aMailbox(account);
    return { account_id: account.id, search: "ada" };
  },
  "mailboxes.exports.get": async (account) => ({ account_id: account.id, export_id: await queuedExport(account) }),
  "mailboxes.get": named,
  "mailboxes.usage.get": named,
  "mailboxes.update": async (account) => ({ ...(await named(account)), last_name: "King" }),
  "mailboxes.activate": async (account) => ({ ...(await named(account)), active: false }),
  "mailboxes.delete": named,
  "mailboxes.deleted.list": async (account) => ({ account_id: (await aDeletedMailbox(account))["account_id"] }),
  "mailboxes.restore": aDeletedMailbox,
  "mailboxes.reveal_credentials": named,
  "mailboxes.rotate_password": named,
  "mailboxes.aliases.create": async (account) => ({ ...(await named(account)), alias: "countess" }),
  "mailboxes.aliases.delete": async (account) => {
    const mailbox = await named(account);
    await made(account, `mailboxes/${String(mailbox["mailbox"])}/aliases`, { alias: "countess" });
    return { ...mailbox, alias: "countess" };
  },
  "suppressions.list": async (account) => {
    await made(account, "suppressions", { email: "bob@example.com" });
    return { account_id: account.id, email: "bob@example.com" };
  },
  "suppressions.add": async ({ id }) => ({
    account_id: id,
    email: "bob@example.com",
    detail: "Wants no more mail from us",
  }),
  "suppressions.delete": async (account) => ({
    account_id: account.id,
    suppression: (await made(account, "suppressions", { email: "bob@example.com" }))["id"],
  }),
  "statistics.get": async (account) => ({
    account_id: account.id,
    domain: (await home(account)).name,
    since: plusDays(dayOf(new Date()), -2),
  }),
  "mailboxes.app_passwords.list": async (account) => {
    const { app_password_id: _, ...mailbox } = await anAppPassword(account);
    return mailbox;
  },
  "mailboxes.app_passwords.add": async (account) => ({ ...(await named(account)), ...phone }),
  "mailboxes.app_passwords.delete": anAppPassword,
  "credentials.list": async (account) => ({ account_id: (await aCredential(account))["account_id"] }),
  "credentials.add": async (account) => ({
    account_id: account.id,
    name: "Relay",
    value: "correct horse battery",
    workspace_id: await newWorkspace(account, "Sales"),
  }),
  "credentials.update": async (account) => ({ ...(await aCredential(account)), name: "Printer in the office" }),
  "credentials.get": aCredential,
  "credentials.delete": aCredential,
};
