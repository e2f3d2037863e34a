import { randomUUID } from "node:crypto";

import { DeleteTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

import { ensureTable } from "../../../infra/local/table/engine.ts";
import { ruleOf } from "../../../infra/restore/account-rules.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import type { Random } from "../../simulation/random.ts";
import { allItems, putItems } from "../../stored/edition.ts";
import { join, newGroup } from "../../support/auth.ts";
import { fund } from "../../support/billing.ts";
import { quicklyActive } from "../../support/domain-work.ts";
import { send } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newMember, newServiceAccount, newUser, type Account, type User } from "../../support/world.ts";

const engine = process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";
const direct = new DynamoDBClient({ endpoint: engine });
const documents = DynamoDBDocumentClient.from(direct);

/** All items of the tests' table that belong to an account or lead to it. */
export async function itemsOf(accountId: string): Promise<Item[]> {
  const items = await allItems(documents, process.env["TABLE_NAME"] ?? "");
  return items.filter((item) => JSON.stringify(item).includes(accountId));
}

/** Makes a table with the present items of an account, as a point-in-time recovery does. */
export async function recovered(accountId: string) {
  const name = `recovered-${randomUUID()}`;
  await ensureTable(engine, name);
  await putItems(documents, name, await itemsOf(accountId));
  const past: Table = openTable(new TableClient(), name);
  const tidy = async (): Promise<void> => void (await direct.send(new DeleteTableCommand({ TableName: name })));
  return { name, past, tidy };
}

const sorted = (items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => (`${a.PK}/${a.SK}` < `${b.PK}/${b.SK}` ? -1 : 1));

/** The items that a restore brings back: the resources of the account, and the holders of its names and tokens. */
export async function resourcesOf(accountId: string): Promise<Record<string, unknown>[]> {
  const items = await itemsOf(accountId);
  const isResource = ({ PK, SK }: Item): boolean =>
    PK === `ACCOUNT#${accountId}`
      ? ruleOf(SK) === "restored"
      : /^(?:TOKEN|DOMAIN|INVITATION|VERIFICATION)#/.test(PK) && SK !== "BUYER";
  return sorted(items.filter(isResource)).map(
    ({ version: _, listed_at: __, last_used_at: ___, ttl: ____, ...row }) => row,
  );
}

/** The items that a restore never changes: the ledger, the invoices, and the billing of the account. */
export async function moneyOf(accountId: string): Promise<Item[]> {
  const items = await itemsOf(accountId);
  return sorted(items.filter(({ SK }) => /^(?:LEDGER|LIST#(?:transactions|invoices)|BILLING|TOPUP|PURCHASE)/.test(SK)));
}

type Made = Record<string, string>;
export type Scene = { account: Account; domains: string[]; member: User; program: User; made: Made };

async function made(account: Account, path: string, body: unknown, method = "POST"): Promise<string> {
  const answer = await send(account, method, path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return String(answer.body.id);
}

const person = (domain: string, local_part: string) => ({ domain, local_part, first_name: "Ada", last_name: "L" });

/** An account with a resource of every kind that is restored, and money. */
export async function furnished(owner: User = newUser()): Promise<Scene> {
  const account = await newRoomyAccount({ owner });
  await fund(account, 5_000);
  const member = await newMember(account, { role: "editor" });
  const program = await newServiceAccount(account, { role: "viewer" });
  const group = await newGroup(account, "Support");
  await join(account, group, member.id);
  const domains = [(await quicklyActive(account)).name, (await quicklyActive(account)).name];
  const ids: Made = { group: group.id, program: program.id };
  for (const [index, domain] of domains.entries()) {
    ids[`mailbox${index}`] = await made(account, "mailboxes", person(domain, "ada"));
    ids[`other${index}`] = await made(account, "mailboxes", person(domain, "bob"));
    await made(account, `mailboxes/${ids[`mailbox${index}`]}/aliases`, { alias: "countess" });
    ids[`record${index}`] = await made(account, "dns-records", { domain, name: "www", type: "A", value: "192.0.2.1" });
    ids[`rule${index}`] = await made(account, "forwarding", { domain, target_email: "ada@elsewhere.example" });
  }
  ids["tag"] = await made(account, "tags", { name: "Kept" });
  ids["webhook"] = await made(account, "webhooks", { url: "https://hooks.example.com/a", event_types: ["domain.*"] });
  ids["credential"] = await made(account, "credentials", { name: "Relay", generate: true });
  await made(account, `mailboxes/${ids["mailbox0"]}/app-passwords`, { name: "Phone", protocols: ["imap"] });
  ids["suppression"] = await made(account, "suppressions", { email: "never@elsewhere.example" });
  const invited = `eve-${randomUUID()}@elsewhere.example`;
  await made(account, "auth/invitations", { email: invited, roles: [{ role_key: "viewer" }] });
  await made(account, "auth/roles", { key: "support", name: "Support", capability_keys: ["mailbox.view"] });
  return { account, domains, member, program, made: ids };
}

/** Deletes one of the account's domains for good, with everything in the domain. */
export async function domainDeleted({ account, domains, made: ids }: Scene, index: number): Promise<void> {
  for (const mailbox of ["mailbox", "other"]) await send(account, "DELETE", `mailboxes/${ids[`${mailbox}${index}`]}`);
  const { status, text } = await send(account, "DELETE", `domains/${domains[index]}?purge=true`);
  if (status !== 200) throw new Error(text);
}

/** Changes an account after the restored time: makes some of these changes, in a random order. */
export async function lived({ account, domains, member, program, made: ids }: Scene, random: Random): Promise<void> {
  const [first = "", second = ""] = domains;
  const [one, other] = random.shuffle([0, 1]);
  const deed = (method: string, path: string, body?: unknown) => () => send(account, method, path, body);
  const deeds = [
    () => domainDeleted({ account, domains, member, program, made: ids }, one ?? 0),
    deed("DELETE", `mailboxes/${ids[`mailbox${other}`]}`),
    deed("PATCH", `mailboxes/${ids[`other${other}`]}`, { first_name: "Grace" }),
    deed("POST", "mailboxes", person([first, second][other ?? 0] ?? "", `new-${random.below(1_000)}`)),
    deed("DELETE", `dns-records/${ids[`record${other}`]}`),
    deed("POST", "dns-records", { domain: [first, second][other ?? 0], name: "new", type: "A", value: "192.0.2.2" }),
    deed("DELETE", `forwarding/${ids[`rule${other}`]}`),
    deed("DELETE", `tags/${ids["tag"]}`),
    deed("POST", "tags", { name: "New" }),
    deed("DELETE", `webhooks/${ids["webhook"]}`),
    deed("DELETE", `credentials/${ids["credential"]}`),
    deed("DELETE", `auth/service-accounts/${ids["program"]}`),
    deed("POST", `auth/service-accounts/${ids["program"]}/rotate`, { overlap_seconds: 0 }),
    deed("DELETE", `auth/groups/${ids["group"]}/members/${member.id}`),
    deed("DELETE", `auth/groups/${ids["group"]}`),
    deed("DELETE", `suppressions/${ids["suppression"]}`),
    deed("POST", "workspaces", { name: "New" }),
    async () => void (await newMember(account, { role: "viewer" })),
    async () => void (await newServiceAccount(account, { role: "editor" })),
    async () => void (await quicklyActive(account)),
  ];
  await fund(account, 1_000);
  for (const act of random.shuffle(deeds).slice(0, random.between(4, deeds.length))) await act();
}
