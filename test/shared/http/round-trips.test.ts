import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import type { Route } from "../../../shared/http/route.ts";
import { callRest } from "../../support/call.ts";
import type { Cost } from "../../support/costs.ts";
import { addedRecord, www } from "../../support/dns-records.ts";
import { connected } from "../../support/domains.ts";
import { exampleOf } from "../../support/examples.ts";
import { withFault } from "../../support/faults.ts";
import { added, send as sendTo } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { countTrips } from "../../support/trips.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type Account,
  type User,
} from "../../support/world.ts";

/** An account with a workspace. */
async function scene() {
  const account = await newAccount();
  const base = `/v1/public/accounts/${account.id}`;
  const send = (method: string, path: string, { token }: User, body?: unknown) =>
    request(method, `${base}${path}`, { token, body });
  const workspace = await send("POST", "/workspaces", account.owner, { name: "Sales" });
  return { account, base, send, id: String(workspace.body.id) };
}
type Scene = Awaited<ReturnType<typeof scene>>;

async function groupMember({ account, send }: Scene): Promise<User> {
  const group = await send("POST", "/auth/groups", account.owner, { name: "Staff" });
  const given = { role_key: "manager", subject_type: "group", subject_id: group.body.id };
  await send("POST", "/auth/role-assignments", account.owner, given);
  const user = newUser();
  const member = { subject_type: "user", subject_id: user.id };
  await send("POST", `/auth/groups/${String(group.body.id)}/members`, account.owner, member);
  return user;
}

async function roleHolder({ account, send }: Scene): Promise<User> {
  const role = { key: "staff", name: "Staff", capability_keys: ["workspace.view", "workspace.manage"] };
  await send("POST", "/auth/roles", account.owner, role);
  const user = newUser();
  const given = { role_key: "staff", subject_type: "user", subject_id: user.id };
  await send("POST", "/auth/role-assignments", account.owner, given);
  return user;
}

const callers: Record<string, (scene: Scene) => Promise<User>> = {
  "an owner": async ({ account }) => account.owner,
  "a member with a grant for the account": async ({ account }) =>
    newMember(account, { capability: "workspace.view" }, { capability: "workspace.manage" }),
  "a member with a role of the account": roleHolder,
  "a member with a grant for one workspace": async ({ account, id }) =>
    newMember(
      account,
      { capability: "workspace.view", scope: { type: "workspace", id } },
      { capability: "workspace.manage", scope: { type: "workspace", id } },
    ),
  "a member of a group": groupMember,
  "a service account": async ({ account }) =>
    newServiceAccount(account, { capability: "workspace.view" }, { capability: "workspace.manage" }),
  "a super admin": async () => newSuperAdmin(),
};

test.each(Object.entries(callers))(
  "%s whom the process has seen reads and lists workspaces in one round trip, and changes a workspace in two",
  async (name, callerIn) => {
    const made = await scene();
    const caller = await callerIn(made);
    const trips = async (method: string, path: string, body?: unknown) => {
      const { value, trips } = await countTrips(() => made.send(method, path, caller, body));
      expect(value.status).toBeLessThan(300);
      return trips;
    };
    await trips("GET", `/workspaces/${made.id}`);
    await trips("GET", "/workspaces");
    // The first change of a member also stores the member's profile.
    await trips("PATCH", `/workspaces/${made.id}`, { name: "Seen" });
    expect(await trips("GET", `/workspaces/${made.id}`)).toBe(1);
    expect(await trips("GET", "/workspaces")).toBe(1);
    expect(await trips("PATCH", `/workspaces/${made.id}`, { name: "Renamed" })).toBe(2);
    if (!name.includes("one workspace")) expect(await trips("POST", "/workspaces", { name: "New" })).toBe(2);
  },
);

test.each(Object.entries(callers))(
  "%s whom the process has seen reads its own permissions in one round trip",
  async (_, callerIn) => {
    const made = await scene();
    const { token } = await callerIn(made);
    const ask = () => request("GET", `/v1/public/me/permissions?account_id=${made.account.id}`, { token });
    expect((await ask()).status).toBe(200);
    expect(await countTrips(ask)).toMatchObject({ value: { status: 200 }, trips: 1 });
  },
);

test("a service account whose token was revoked gets a 401 for every request, even a wrong request", async () => {
  const { account, send, id, base } = await scene();
  const created = await send("POST", "/auth/service-accounts", account.owner, { name: "Program" });
  const program = { id: String(created.body.id), token: String(created.body.token) };
  await grant(account, program);
  const given = { role_key: "viewer", subject_type: "service_account", subject_id: program.id };
  await send("POST", "/auth/role-assignments", account.owner, given);
  expect((await send("GET", `/workspaces/${id}`, program)).status).toBe(200);
  await send("DELETE", `/auth/service-accounts/${program.id}`, account.owner);
  const asked = [
    send("GET", `/workspaces/${id}`, program),
    send("GET", "/workspaces?page=none", program),
    request("POST", `${base}/workspaces`, { token: program.token, body: "{" }),
    send("GET", `/workspaces/${randomUUID()}`, program),
  ];
  for (const { status, body } of await Promise.all(asked)) {
    expect([status, body.code]).toEqual([401, "token_revoked"]);
  }
  const { calls } = await withFault(undefined, -1, () => send("GET", "/workspaces", program));
  expect(calls).toEqual(["BatchGetItem"]);
});

const budgets = JSON.parse(readFileSync(join(import.meta.dirname, "../../bench/budgets.json"), "utf8")) as Record<
  string,
  Cost
>;

const isPaged = ({ query, output }: Route): boolean => "page" in query.shape || output.def.type === "array";
const isRead = ({ http }: Route): boolean => http.method === "GET";

/** The goal of a route, in round trips: one for a read of one resource, and two for a list or a write. */
const goalOf = (route: Route): number => (isRead(route) && !isPaged(route) ? 1 : 2);

const unseen =
  "the process sees the resource for the first time, and reads the items that its row names one after another";
const afterHead = "the other items are read after the item whose version guards them";
const provider = "an outside service is asked in between; the embedded service stores its data in the table";
const steps = "it takes several transactions";
const wholeLists = "several lists are read at one moment";

/** The routes whose example takes more round trips than its goal in a process that has just started, and why. */
const exceptions: Record<string, string> = {
  "workspaces.delete": afterHead,
  "domains.add": afterHead,
  "domains.search": provider,
  "domains.purchase": provider,
  "domains.renew": provider,
  "domains.transfer": provider,
  "domains.auth_code.create": provider,
  "domains.contact.get": provider,
  "domains.contact.update": provider,
  "domains.restore": unseen,
  "domains.dkim.rotate": provider,
  "domains.update": unseen,
  "domains.delete": steps,
  "domains.move": unseen,
  "domains.verify": provider,
  "dns_records.add": provider,
  "dns_records.get": unseen,
  "dns_records.update": unseen,
  "dns_records.delete": unseen,
  "dns_records.import": provider,
  "mailboxes.add": "the first password of an account makes the key of its passwords",
  "mailboxes.bulk": steps,
  "mailboxes.bulk_delete": steps,
  "mailboxes.export": wholeLists,
  "mailboxes.get": unseen,
  "mailboxes.update": unseen,
  "mailboxes.activate": unseen,
  "mailboxes.delete": unseen,
  "mailboxes.deleted.list": unseen,
  "mailboxes.restore": unseen,
  "mailboxes.reveal_credentials": unseen,
  "mailboxes.rotate_password": unseen,
  "mailboxes.aliases.create": unseen,
  "mailboxes.usage.get": unseen,
  "mailboxes.app_passwords.add": "the first password of an account makes the key of its passwords",
  "credentials.add": "the first password of an account makes the key of its passwords",
  "credentials.delete": afterHead,
  "forwarding.add": unseen,
  "forwarding.update": afterHead,
  "forwarding.delete": afterHead,
  "forwarding.verification.send": unseen,
  "forwarding.verification.confirm": steps,
  "forwarding.verify": "the token names the account, and the account is read before its rule",
  "statistics.get": unseen,
  "dedicated_ips.claim": "a free address is chosen, then its holder is read, then its payment",
  "dedicated_ips.authorize": provider,
  "dedicated_ips.domains.assign": steps,
  "dedicated_ips.domains.unassign": steps,
  "dedicated_ips.delete": unseen,
  "auth.authorizations.revoke": "the grant names its holder",
  "auth.role_assignments.revoke": "the grant names its holder",
  "auth.invitations.accept": "the token names the invitation, and the invitation names its inviter",
  "auth.roles.delete": "the assignments are read after the roles, so that an assignment in between is noticed",
  "auth.service_accounts.rotate": "the service account names its tokens",
  "auth.service_accounts.update": "the service account names its tokens",
  "auth.service_accounts.revoke": "the service account names its tokens",
  "webhooks.deliveries.redeliver": "the receiver is asked in between, and the delivery is read again",
  "billing.topup_session.create": provider,
  "billing.payment_method_session.create": provider,
  "billing.payment_method.delete": provider,
  "billing.alerts.update": "the answer tells the low balance by the usage, which is read after the settings",
  "billing.profile.update": "the VAT id is checked, and its state is stored with the profile",
  "billing.checkout_result.get": provider,
  "billing.usage.get": wholeLists,
  "billing.plan.change": afterHead,
  "billing.plan.cancel": afterHead,
  "audit.list": wholeLists,
  "notices.get": unseen,
  "notices.update": unseen,
};

test("every route's example takes at most its goal of round trips, except the routes with a reason", () => {
  const above = routes.filter((route) => (budgets[route.name]?.trips ?? 0) > goalOf(route));
  expect(above.map(({ name }) => name).toSorted()).toEqual(Object.keys(exceptions).toSorted());
});

/** The reasons that also hold in a process that has seen the items. */
const lastingReasons = new Set([wholeLists, provider]);

test("a page of the audit log or of a webhook's deliveries takes three round trips", async () => {
  const account = await newAccount();
  const example = await exampleOf(routeOf("webhooks.deliveries.list"), account);
  const range = "since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z";
  for (const path of ["audit-log", `webhooks/${String(example["webhook_id"])}/deliveries`]) {
    for (const query of ["page=1", range]) {
      const { value, trips } = await countTrips(() => sendTo(account, "GET", `${path}?${query}`));
      expect([value.status, trips]).toEqual([200, 3]);
      expect(value.body.items).not.toEqual([]);
    }
  }
});

const given: [what: string, path: string, permission: object][] = [
  ["a grant", "authorizations", { grant_kind: "capability", capability_key: "workspace.view" }],
  ["an ownership", "authorizations", { grant_kind: "account_owner" }],
  ["a role of the account", "role-assignments", { role_key: "staff" }],
];
test.each(given)(
  "%s is revoked in three round trips, even if the user holds nothing else",
  async (_, path, permission) => {
    const { account, send } = await scene();
    const role = { key: "staff", name: "Staff", capability_keys: ["workspace.view"] };
    await send("POST", "/auth/roles", account.owner, role);
    const subject = { subject_type: "user", subject_id: newUser().id };
    const { body } = await send("POST", `/auth/${path}`, account.owner, { ...permission, ...subject });
    const revoked = await countTrips(() => send("DELETE", `/auth/${path}/${String(body.id)}`, account.owner));
    expect([revoked.value.status, revoked.trips]).toEqual([200, 3]);
  },
);

const named: [list: string, trips: number][] = [
  ["statistics", 3],
  ["mailboxes", 2],
  ["mailboxes?search=ada", 5],
  ["dns-records", 3],
  ["dns-records?name=www", 3],
  ["forwarding", 2],
];
test.each(named)(
  "a list for a domain name that the process sees for the first time: %s takes %i round trips",
  async (list, trips) => {
    const account = await newAccount();
    const { name } = await connected(account);
    const path = `${list}${list.includes("?") ? "&" : "?"}domain=${name}`;
    const read = await countTrips(() => sendTo(account, "GET", path));
    expect([read.value.status, read.trips]).toEqual([200, trips]);
  },
);

describe("items that the process has seen", () => {
  const reads = routes.filter((route) => isRead(route) && !lastingReasons.has(exceptions[route.name] ?? ""));
  test.each(reads.map((route) => [route.name, route] as const))("%s is read in one round trip", async (_, route) => {
    const account = await newAccount();
    const example = await exampleOf(route, account);
    const call = () => callRest(route, example, account.owner.token);
    expect((await call()).status).toBe(200);
    const { value, trips } = await countTrips(call);
    expect(value.status).toBe(200);
    expect(trips).toBeLessThanOrEqual(isPaged(route) ? 2 : 1);
  });

  const changes: [what: string, (account: Account) => Promise<{ see: string; change: Change }>][] = [
    ["a mailbox's name", async (account) => atMailbox(account, "PATCH", "", { first_name: "Augusta" })],
    ["a mailbox's status", async (account) => atMailbox(account, "PATCH", "/active", { active: false })],
    ["a mailbox's aliases", async (account) => atMailbox(account, "POST", "/aliases", { alias: "countess" })],
    ["a mailbox's deletion", async (account) => atMailbox(account, "DELETE")],
    ["a domain's settings", async (account) => atDomain(account, "PATCH", "", { dkim_rotation_months: 6 })],
    [
      "a domain's workspace",
      async (account) => atDomain(account, "POST", "/move", { workspace_id: await other(account) }),
    ],
  ];
  test.each(changes)("a change takes two round trips: %s", async (_, sceneOf) => {
    const account = await newAccount();
    const { see, change } = await sceneOf(account);
    expect((await sendTo(account, "GET", see)).status).toBe(200);
    const { value, trips } = await countTrips(() => sendTo(account, ...change));
    expect(value.status, value.text).toBeLessThan(300);
    expect(trips).toBe(2);
  });

  test("a DNS record that no nameserver has is deleted in two round trips, and changed in three", async () => {
    const account = await newAccount();
    const domain = await connected(account);
    const record = await addedRecord(account, { domain: domain.id, ...www });
    const path = `dns-records/${record.id}`;
    expect((await sendTo(account, "GET", path)).status).toBe(200);
    const changed = await countTrips(() => sendTo(account, "PATCH", path, { value: "192.0.2.2" }));
    const deleted = await countTrips(() => sendTo(account, "DELETE", path));
    expect([changed.value.status, deleted.value.status]).toEqual([200, 200]);
    expect([changed.trips, deleted.trips]).toEqual([3, 2]);
  });
});

const routeOf = (name: string) => routes.find((route) => route.name === name) as Route;

type Change = [method: string, path: string, body?: unknown];

async function atMailbox(account: Account, method: string, rest = "", body?: unknown) {
  const { id: domain } = await connected(account);
  const { id } = await added(account, domain, "ada");
  return { see: `mailboxes/${id}`, change: [method, `mailboxes/${id}${rest}`, body] satisfies Change };
}

async function atDomain(account: Account, method: string, rest = "", body?: unknown) {
  const { name } = await connected(account);
  return { see: `domains/${name}`, change: [method, `domains/${name}${rest}`, body] satisfies Change };
}

async function other(account: Account): Promise<string> {
  return String((await sendTo(account, "POST", "workspaces", { name: "Other" })).body.id);
}
