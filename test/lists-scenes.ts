import { randomUUID } from "node:crypto";

import { setAccountStatus } from "../shared/access/operate-accounts.ts";
import { asOwner, claiming, newGroup, newWorkspace } from "./support/auth.ts";
import { addCreditNote, addInvoice, fund } from "./support/billing.ts";
import { firstOf, host } from "./support/dedicated-ips.ts";
import { connected, uniqueName } from "./support/domains.ts";
import { stranger } from "./support/forwarding.ts";
import { added, home, send } from "./support/mailboxes.ts";
import type { Answer } from "./support/request.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import { acceptingUrl } from "./support/webhook-receiver.ts";
import {
  grant,
  newAccount,
  newMember,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
  type User,
} from "./support/world.ts";

/** A list for one caller. `stable` are the ids that are in the list from the beginning to the end. */
export type Reading = { route: string; path: string; as: User; stable: string[] };

/** Changes of lists, one after another. `before` makes the things that the first change needs. */
export type Happening = {
  name: string;
  before?: () => Promise<unknown>;
  acts: readonly (() => Promise<unknown>)[];
};

export type Scene = { readings: readonly Reading[]; happenings: Happening[] };

/** The body of an answer. Throws the text of the answer unless the request succeeded. */
async function made(answer: Promise<Answer>): Promise<Answer["body"]> {
  const { status, text, body } = await answer;
  if (status >= 300) throw new Error(text);
  return body;
}

type Pair = { add: () => Promise<string>; remove?: (id: string) => Promise<unknown> };

/** Adds a thing, and removes it again if such things can be removed. */
function comingAndGoing(noun: string, { add, remove }: Pair): Happening {
  if (!remove) return { name: `one more ${noun}`, acts: [add] };
  const there: string[] = [];
  const come = async () => void there.push(await add());
  const go = async () => {
    for (const id of there.splice(0)) await remove(id);
  };
  return { name: `one more ${noun}, and one less`, acts: [come, go] };
}

const pathOf = ({ id }: Pick<Account, "id">, rest: string): string => `/v1/public/accounts/${id}/${rest}`;

/**
 * Makes a list that is the same for all its readers. If `isKept`, no change removes a thing from the list. `idMember`
 * is the member of a thing that has its id.
 */
async function simple(
  route: string,
  path: string,
  body: () => object | Promise<object>,
  isKept = false,
  idMember = "id",
) {
  const account = await newRoomyAccount();
  const add = async (): Promise<string> => String((await made(send(account, "POST", path, await body())))[idMember]);
  const stable = [await add(), await add()];
  const remove = (id: string) => made(send(account, "DELETE", `${path}/${id}`));
  const reading = { route, path: pathOf(account, path), as: account.owner, stable };
  return {
    account,
    readings: [reading] as const,
    happenings: [comingAndGoing(path, isKept ? { add } : { add, remove })],
  };
}

const feedback = () =>
  simple(
    "feedback.list",
    "feedback",
    () => ({ category: "other", title: "A thought", description: "It is slow." }),
    true,
  );

const tags = () => simple("tags.list", "tags", () => ({ name: uniqueName("tag") }));
const suppressions = () =>
  simple("suppressions.list", "suppressions", () => ({ email: stranger(uniqueName("bounced").replaceAll(".", "-")) }));
const groups = () => simple("auth.groups.list", "auth/groups", () => ({ name: uniqueName("group") }));
const invitations = () =>
  simple(
    "auth.invitations.list",
    "auth/invitations",
    () => ({ email: stranger(), roles: [{ role_key: "viewer" }] }),
    true,
  );
const roles = () => {
  const body = () => ({
    key: `r${randomUUID().replaceAll("-", "")}`,
    name: "Support",
    capability_keys: ["mailbox.view"],
  });
  return simple("auth.roles.list", "auth/roles", body, false, "key");
};
const webhooks = () =>
  simple("webhooks.list", "webhooks", async () => ({ url: await acceptingUrl(), event_types: ["tag.*"] }));
const programs = () =>
  simple("auth.service_accounts.list", "auth/service-accounts", () => ({ name: uniqueName("program") }), true);

async function workspaces(): Promise<Scene> {
  const scene = await simple("workspaces.list", "workspaces", () => ({ name: uniqueName("workspace") }));
  const [{ stable, path }] = scene.readings;
  const scopes = stable.map((id) => ({
    capability: "workspace.view" as const,
    scope: { type: "workspace" as const, id },
  }));
  const some = await newMember(scene.account, ...scopes);
  return { ...scene, readings: [...scene.readings, { route: "workspaces.list", path, as: some, stable }] };
}

async function scoped(route: string, path: string, body: () => object): Promise<Scene> {
  const account = await newRoomyAccount();
  const { name, id: domainId } = await connected(account);
  const capability = path === "credentials" ? ("credential.view" as const) : ("forwarding.view" as const);
  const some = await newMember(account, { capability, scope: { type: "domain", id: domainId } });
  const add = async () => String((await made(send(account, "POST", path, { ...body(), domain: name }))).id);
  const stable = [await add(), await add()];
  const remove = (id: string) => made(send(account, "DELETE", `${path}/${id}`));
  const reading = { route, path: pathOf(account, path), stable };
  return {
    readings: [
      { ...reading, as: account.owner },
      { ...reading, as: some },
    ],
    happenings: [comingAndGoing(path, { add, remove })],
  };
}

async function dedicatedIps(): Promise<Scene> {
  const account = await newRoomyAccount();
  const add = async () => (await host(account)).id;
  const one = await host(account);
  const stable = [one.id, await add()];
  const remove = (id: string) => made(send(account, "DELETE", `dedicated-ips/${id}`));
  if (firstOf(one).ip === "") throw new Error("a host without an address");
  const reading = { route: "dedicated_ips.list", path: pathOf(account, "dedicated-ips"), as: account.owner, stable };
  return { readings: [reading], happenings: [comingAndGoing("dedicated IP", { add, remove })] };
}

async function money(): Promise<Scene> {
  const account = await newRoomyAccount();
  const add = (): Promise<string> => addInvoice(account);
  await add();
  const addNote = (): Promise<string> => addCreditNote(account);
  const notes = [await addNote(), await addNote()];
  const invoices = (await made(send(account, "GET", "billing/invoices?order=asc"))).items;
  const invoiceIds = invoices.map(({ id }: { id: string }) => id);
  for (const cents of [100, 200]) await fund(account, cents);
  const read = async (path: string) => made(send(account, "GET", path));
  const { items } = await read("billing/transactions");
  const rest = { as: account.owner };
  const movements = items.map(({ transaction_id }: { transaction_id: string }) => transaction_id);
  return {
    readings: [
      { route: "billing.invoices.list", path: pathOf(account, "billing/invoices"), stable: invoiceIds, ...rest },
      { route: "billing.transactions.list", path: pathOf(account, "billing/transactions"), stable: movements, ...rest },
      { route: "billing.credit_notes.list", path: pathOf(account, "billing/credit-notes"), stable: notes, ...rest },
    ],
    happenings: [
      comingAndGoing("invoice", { add }),
      comingAndGoing("credit note", { add: addNote }),
      { name: "more money", acts: [() => fund(account, 300)] },
    ],
  };
}

/** Makes the lists that are kept in journals. */
async function journals(): Promise<Scene> {
  const account = await newRoomyAccount();
  const webhook = { url: await acceptingUrl(), event_types: ["tag.*"] };
  const { id } = await made(send(account, "POST", "webhooks", webhook));
  const add = async () => String((await made(send(account, "POST", `webhooks/${id}/test`))).id);
  const deliveries = [await add(), await add()];
  const { items } = await made(send(account, "GET", "audit-log"));
  const entries = items.map((entry: { id: string }) => entry.id);
  const paths = {
    "webhooks.deliveries.list": [`webhooks/${id}/deliveries`, deliveries],
    "audit.list": ["audit-log", entries],
  } as const;
  return {
    readings: Object.entries(paths).map(([route, [path, stable]]) => ({
      route,
      path: pathOf(account, path),
      as: account.owner,
      stable: [...stable],
    })),
    happenings: [
      comingAndGoing("delivery", { add }),
      {
        name: "one more change",
        acts: [() => made(send(account, "POST", "tags", { name: uniqueName("tag") }))],
      },
    ],
  };
}

async function access(): Promise<Scene> {
  const account = await newRoomyAccount();
  const { id: groupId } = await newGroup(account, "Staff");
  const member = async () => {
    const id = randomUUID();
    await asOwner(account, "POST", `groups/${groupId}/members`, { subject_id: id, subject_type: "user" });
    return id;
  };
  const assignment = async (path: string, what: object) =>
    String((await asOwner(account, "POST", path, { subject_id: randomUUID(), subject_type: "user", ...what })).id);
  const grantOne = () => assignment("authorizations", { grant_kind: "capability", capability_key: "workspace.view" });
  const assignOne = () => assignment("role-assignments", { role_key: "viewer" });
  const end = (path: string) => (id: string) => asOwner(account, "DELETE", `${path}/${id}`);
  const reading = (route: string, path: string, stable: string[]) => ({
    route,
    path: pathOf(account, `auth/${path}`),
    as: account.owner,
    stable,
  });
  const revoked = await grantOne();
  await end("authorizations")(revoked);
  const [grants, roles] = [
    [await grantOne(), await grantOne()],
    [await assignOne(), await assignOne()],
  ];
  // The list with `include_revoked` keeps revoked grants.
  const all = [...grants, revoked];
  const revokeLast = () => end("authorizations")(all.at(-1) ?? "");
  return {
    readings: [
      reading("auth.groups.members.list", `groups/${groupId}/members`, [await member(), await member()]),
      reading("auth.members.list", "members", [account.owner.id]),
      reading("auth.authorizations.list", "authorizations", grants),
      reading("auth.authorizations.list", "authorizations?include_revoked=true", all),
      reading("auth.role_assignments.list", "role-assignments", roles),
      reading("auth.role_assignments.list", "role-assignments?include_revoked=true", roles),
    ],
    happenings: [
      comingAndGoing("member", { add: member, remove: end(`groups/${groupId}/members`) }),
      comingAndGoing("grant", { add: grantOne, remove: end("authorizations") }),
      comingAndGoing("role assignment", { add: assignOne, remove: end("role-assignments") }),
      { name: "a revocation", before: async () => void all.push(await grantOne()), acts: [revokeLast] },
    ],
  };
}

/** Makes two workspaces whose domains come, go, and move between them, with mailboxes and records. */
async function domains(): Promise<Scene> {
  const account = await newRoomyAccount();
  const [one, other] = [await newWorkspace(account, "One"), await newWorkspace(account, "Other")];
  const [first, second, rover] = [
    await home(account, { workspaceId: one }),
    await home(account, { workspaceId: other }),
    await home(account, { workspaceId: one }),
  ];
  const boxes = [await added(account, first.name), await added(account, second.name), await added(account, rover.name)];
  const [inFirst = "", inSecond = "", inRover = ""] = boxes.map(({ id }) => id);
  const record = async (domain: string, name: string) =>
    Number((await made(send(account, "POST", "dns-records", { domain, name, type: "A", value: "192.0.2.1" }))).id);
  const records = [await record(first.name, "a"), await record(second.name, "a"), await record(rover.name, "a")].map(
    String,
  );
  const inBoth = (capability: "domain.view" | "mailbox.view" | "dns.view") => [
    ...[one, other].map((id) => ({ capability, scope: { type: "workspace" as const, id } })),
    { capability, scope: { type: "domain" as const, id: rover.id } },
  ];
  const views = (["domain.view", "mailbox.view", "dns.view"] as const).flatMap(inBoth);
  const some = await newMember(account, ...views);
  // A member of one workspace, and of the domain that moves.
  const ofOne = await newMember(account, ...views.filter(({ scope }) => scope.id !== other));
  // A member of one workspace, and of one mailbox of the domain that moves.
  const ofMailbox = await newMember(
    account,
    { capability: "mailbox.view", scope: { type: "workspace", id: one } },
    { capability: "mailbox.view", scope: { type: "mailbox", id: inRover } },
  );
  let at = one;
  const move = async () => {
    at = at === one ? other : one;
    await made(send(account, "POST", `domains/${rover.name}/move`, { workspace_id: at }));
  };
  const removeMailbox = async (id: string) => made(send(account, "DELETE", `mailboxes/${id}`));
  const trashed = await Promise.all(["x", "y"].map(async (local) => (await added(account, second.name, local)).id));
  for (const id of trashed) await removeMailbox(id);
  const deleter = await newMember(account, {
    capability: "mailbox.delete",
    scope: { type: "workspace", id: other },
  });
  let boxNumber = 0;
  const box = async (domain: string) => (await added(account, domain, `box${(boxNumber += 1)}`)).id;
  const addDomain = async () => {
    const { name } = await connected(account, { name: uniqueName(), workspaceId: one });
    return name;
  };
  const reading = (route: string, path: string, stable: string[], as: User = account.owner) => ({
    route,
    path: pathOf(account, path),
    as,
    stable,
  });
  const all = [first.id, second.id, rover.id];
  return {
    readings: [
      reading("domains.list", "domains", all),
      reading("domains.list", `domains?workspace_id=${one}`, [first.id]),
      reading("domains.list", "domains?status=active", all),
      reading("domains.list", "domains?order=desc", all),
      reading("domains.list", "domains?sort=name", all),
      reading("domains.list", "domains", all, some),
      reading("domains.list", "domains?status=active", all, some),
      reading("domains.list", "domains", [first.id, rover.id], ofOne),
      reading("mailboxes.list", "mailboxes", [inFirst, inSecond, inRover]),
      reading("mailboxes.list", `mailboxes?domain=${first.name}`, [inFirst]),
      reading("mailboxes.list", `mailboxes?domain=${rover.name}`, [inRover]),
      reading("mailboxes.list", `mailboxes?workspace_id=${one}`, [inFirst]),
      reading("mailboxes.list", "mailboxes?search=ada", [inFirst, inSecond, inRover]),
      reading("mailboxes.list", "mailboxes?order=desc", [inFirst, inSecond, inRover]),
      reading("mailboxes.list", "mailboxes?sort=primary_email&status=active", [inFirst, inSecond, inRover]),
      reading("mailboxes.list", `mailboxes?workspace_id=${one}&order=desc`, [inFirst]),
      reading("mailboxes.list", "mailboxes", [inFirst, inSecond, inRover], some),
      reading("mailboxes.list", "mailboxes", [inFirst, inRover], ofOne),
      reading("mailboxes.list", "mailboxes", [inFirst, inRover], ofMailbox),
      reading("mailboxes.deleted.list", "mailboxes/deleted", trashed),
      reading("mailboxes.deleted.list", "mailboxes/deleted", trashed, deleter),
      reading("dns_records.list", "dns-records", records),
      reading("dns_records.list", "dns-records?type=A", records),
      reading("dns_records.list", `dns-records?domain=${first.name}`, records.slice(0, 1)),
      reading("dns_records.list", "dns-records", records, some),
    ],
    happenings: [
      { name: "a domain moves", acts: [move] },
      comingAndGoing("domain", {
        add: addDomain,
        remove: (name) => made(send(account, "DELETE", `domains/${name}`)),
      }),
      comingAndGoing("mailbox", {
        add: () => box(first.name),
        remove: (id) => made(send(account, "DELETE", `mailboxes/${id}`)),
      }),
      comingAndGoing("deleted mailbox", {
        add: async () => {
          const id = await box(second.name);
          await removeMailbox(id);
          return id;
        },
        remove: (id) => made(send(account, "POST", `mailboxes/${id}/restore`)),
      }),
      comingAndGoing("record", {
        add: async () => String(await record(first.name, uniqueName("r").replace(".com", ""))),
        remove: (id) => made(send(account, "DELETE", `dns-records/${id}`)),
      }),
    ],
  };
}

/** Makes accounts of a user, and accounts that only a group in the user's token gives. */
async function accounts(): Promise<Scene> {
  const clientId = randomUUID();
  const [one, other, claimed] = [
    await newRoomyAccount({ clientId }),
    await newRoomyAccount({ clientId }),
    await newRoomyAccount({ clientId }),
  ];
  const group = await newGroup(claimed, "Staff");
  const [user, member, superAdmin] = [claiming(group), newUser(), await newSuperAdmin()];
  for (const someone of [user, member]) await grant(one, someone, { role: "viewer" });
  const stable = [one.id, other.id, claimed.id];
  const path = "/v1/public/accounts";
  const assign = async ({ id }: User, account: Account) => {
    const body = { role_key: "viewer", subject_id: id, subject_type: "user" };
    return String((await asOwner(account, "POST", "role-assignments", body)).id);
  };
  // A user who is given the role twice has one assignment. Another act may have revoked this assignment already.
  const leave = (id: string) => send(claimed, "DELETE", `auth/role-assignments/${id}`);
  const set = (status: "active" | "suspended") => setAccountStatus(testTable(), other.id, status, new Date());
  return {
    readings: [
      { route: "accounts.list", path, as: user, stable: [one.id, claimed.id] },
      { route: "accounts.list", path: `${path}?status=active`, as: user, stable: [one.id, claimed.id] },
      { route: "accounts.list", path, as: member, stable: [one.id] },
      { route: "accounts.list", path: `${path}?client_id=${clientId}`, as: superAdmin, stable },
      {
        route: "accounts.list",
        path: `${path}?client_id=${clientId}&status=active`,
        as: superAdmin,
        stable: [one.id, claimed.id],
      },
    ],
    happenings: [
      comingAndGoing("member of the claimed account", { add: () => assign(user, claimed), remove: leave }),
      comingAndGoing("account of the member", { add: () => assign(member, claimed), remove: leave }),
      { name: "a suspension, and its end", acts: [() => set("suspended"), () => set("active")] },
      { name: "one more account", acts: [() => newAccount({ clientId })] },
    ],
  };
}

async function appPasswords(): Promise<Scene> {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const { id } = await added(account, name);
  const path = `mailboxes/${id}/app-passwords`;
  const body = () => ({ name: uniqueName("app"), protocols: ["imap"] });
  const add = async (): Promise<string> => String((await made(send(account, "POST", path, body()))).id);
  const stable = [await add(), await add()];
  const remove = (own: string) => made(send(account, "DELETE", `${path}/${own}`));
  const reading = { route: "mailboxes.app_passwords.list", path: pathOf(account, path), as: account.owner, stable };
  return { readings: [reading], happenings: [comingAndGoing("app password", { add, remove })] };
}

const secret = () => ({ name: uniqueName("password"), generate: true });

/** The lists to read while they change, by their family. */
export const listScenes: Record<string, () => Promise<Scene>> = {
  accounts,
  access,
  "app passwords": appPasswords,
  credentials: () => scoped("credentials.list", "credentials", secret),
  "dedicated IPs": dedicatedIps,
  domains,
  feedback,
  "forwarding rules": () => scoped("forwarding.list", "forwarding", () => ({ target_email: stranger() })),
  groups,
  invitations,
  journals,
  money,
  "service accounts": programs,
  roles,
  tags,
  suppressions,
  webhooks,
  workspaces,
};
