import { describe, expect, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { routes } from "../../../functions/routes.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { idpNameOf } from "../../../shared/accounts/standing.ts";
import { capabilities } from "../../../shared/auth/capabilities.ts";
import type { Scope } from "../../../shared/auth/permissions.ts";
import { parseInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import { callRest } from "../../support/call.ts";
import { exampleOf, type Example } from "../../support/examples.ts";
import { request } from "../../support/request.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
  type User,
} from "../../support/world.ts";

const inAccount = routes.filter((route) => !route.public && "account_id" in route.params.shape);
/** The functions that any caller may call, because they concern no account. */
const always = [...catalogue.keys()].filter((name) => !inAccount.some((route) => route.name === name));

const ask = (id: string, { token }: Pick<User, "token">) =>
  request("GET", `/v1/public/functions?account_id=${id}`, { token });
const listedFor = async ({ id }: Account, user: Pick<User, "token">): Promise<string[]> =>
  (await ask(id, user)).body.functions.map(({ name }: { name: string }) => name);

/** A user who holds a role only through a group. */
async function newGroupMember(account: Account, role_key: string): Promise<User> {
  const auth = `/v1/public/accounts/${account.id}/auth`;
  const { token } = account.owner;
  const { body: group } = await request("POST", `${auth}/groups`, { token, body: { name: "Support" } });
  const body = { role_key, subject_type: "group", subject_id: group.id };
  expect((await request("POST", `${auth}/role-assignments`, { token, body })).status).toBe(201);
  return newUser({ groups: [idpNameOf(account.id, group.id)] });
}

/** Whether a call is refused because the caller does not hold its capability. */
async function isRefused(route: Route, example: Example, { token }: Pick<User, "token">): Promise<boolean> {
  const { status, body } = await callRest(route, example, token);
  expect(status).not.toBe(500);
  return status === 403 && body.required_capability === route.capability;
}

/** Callers with different kinds of permissions in an account. The last caller can do everything. */
const callersIn = (account: Account): Promise<User[]> =>
  Promise.all([
    newMember(account, { role: "viewer" }),
    newServiceAccount(account, { role: "billing_admin" }),
    newGroupMember(account, "credential_manager"),
    newSuperAdmin(),
  ]);

let listings: Promise<string[][]> | undefined;

/** The listed functions of each of these callers. One account is enough, because only permissions change the lists. */
const listedForCallers = (): Promise<string[][]> =>
  (listings ??= newAccount().then(async (account) =>
    Promise.all((await callersIn(account)).map((caller) => listedFor(account, caller))),
  ));

describe.each(inAccount.map((route) => [route.name, route] as const))("%s", (name, route) => {
  test("is listed for exactly the callers who may call it", async () => {
    const listed = (await listedForCallers()).map((names) => names.includes(name));
    const account = await newAccount();
    const example = await exampleOf(route, account);
    const callers = await callersIn(account);
    // The callers who are refused come first, because a call of the others can delete the resource.
    const order = callers.map((_, place) => place).toSorted((a, b) => Number(listed[a]) - Number(listed[b]));
    const refused: boolean[] = [];
    for (const place of order) refused[place] = await isRefused(route, example, callers[place] ?? account.owner);
    expect(refused).toEqual(listed.map((is) => !is));
    expect(listed.at(-1)).toBe(true);
  });
});

/** One route for each kind of subject. */
const withSubject = inAccount.filter(
  ({ capability, subject }, place) =>
    capability && subject && inAccount.findIndex((other) => other.subject === subject) === place,
);

describe.each(withSubject.map((route) => [route.name, route] as const))("%s by a narrowed grant", (name, route) => {
  test("is listed exactly if `within` of its subject has the type of the grant's scope, and only such a grant is enough for a call", async () => {
    const account = await newAccount();
    const example = await exampleOf(route, account);
    const pick = (shape: object) => Object.fromEntries(Object.entries(example).filter(([key]) => key in shape));
    const { params, query, body } = route;
    const input = parseInput(route, { params: pick(params.shape), query: pick(query.shape), body: pick(body.shape) });
    const found = await route.subject?.find(input, testTable());
    const capability = route.capability ?? "account.view";
    const grantedOn = async (scope: Scope) => {
      const member = await newMember(account, { capability, scope });
      return { member, isListed: (await listedFor(account, member)).includes(name) };
    };
    const types = ["workspace", "domain", "mailbox", "credential", "forwarding"] as const;
    const listed = await Promise.all(
      types.map((type) => {
        const scope = found?.scopes.find((one) => one.type === type);
        // The list depends only on the type of the resource. So for a type without a resource, any id will do.
        return grantedOn(scope ?? { type, id: account.id });
      }),
    );
    expect(types.filter((_, place) => listed[place]?.isListed)).toEqual(
      types.filter((type) => route.subject?.within.includes(type)),
    );
    const isEnough = ({ type }: Scope) => route.subject?.within.includes(type) ?? false;
    const scopes = found?.scopes ?? [];
    for (const scope of scopes.filter((one) => !isEnough(one)))
      expect(await isRefused(route, example, (await grantedOn(scope)).member)).toBe(true);
    const own = scopes.find(isEnough);
    if (own) expect(await isRefused(route, example, (await grantedOn(own)).member)).toBe(false);
  });
});

test("a grant on a mailbox does not list the functions for its aliases, which need a grant on the domain", async () => {
  const account = await newAccount();
  // Any id will do, because the list depends only on the type of the resource.
  const scope = { type: "mailbox" as const, id: account.id };
  const listed = await listedFor(account, await newMember(account, { capability: "mailbox.update", scope }));
  expect(listed.filter((name) => name.startsWith("mailboxes.aliases."))).toEqual([]);
  expect(listed).toContain("mailboxes.update");
});

test("a grant on one workspace lists the functions for this workspace and `accounts.get`, but not `workspaces.add`", async () => {
  const account = await newAccount();
  // Any id will do, because the list depends only on the type of the resource.
  const scope = { type: "workspace" as const, id: account.id };
  const member = await newMember(account, { capability: "workspace.manage", scope });
  const listed = await listedFor(account, member);
  expect(listed).toEqual(expect.arrayContaining(["workspaces.update", "workspaces.delete", "accounts.get"]));
  expect(listed).not.toContain("workspaces.add");
});

test("all functions are listed for the owner, and for a super admin who is a viewer of the account", async () => {
  const account = await newAccount();
  expect(await listedFor(account, account.owner)).toEqual([...catalogue.keys()]);
  const admin = await newSuperAdmin();
  await grant(account, admin, { role: "viewer" });
  expect(await listedFor(account, admin)).toEqual([...catalogue.keys()]);
});

test("each capability adds the functions that need it, and membership alone is enough for the rest", async () => {
  const account = await newAccount();
  const base = await listedFor(account, await newMember(account, { capability: "account.view" }));
  expect(base).toEqual(expect.arrayContaining([...always, "accounts.get", "feedback.submit"]));
  for (const capability of capabilities) {
    const listed = await listedFor(account, await newMember(account, { capability }));
    const more = inAccount.filter((route) => route.capability === capability).map((route) => route.name);
    expect(new Set(listed)).toEqual(new Set([...base, ...more]));
  }
});

test("a suspended or closed account lists only the functions that can still be called", async () => {
  const account = await newAccount();
  const stopped = inAccount.filter(({ access }) => access === "write");
  const allWithout = (left: readonly Route[]) =>
    [...catalogue.keys()].filter((name) => !left.some((route) => route.name === name));
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  for (const user of [account.owner, await newSuperAdmin()]) {
    expect(await listedFor(account, user)).toEqual(allWithout(stopped.filter(({ whileSuspended }) => !whileSuspended)));
  }
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  expect(await listedFor(account, account.owner)).toEqual(allWithout(stopped));
});

test("an account of somebody else and a missing account get the same 404, in programs too", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const missing = "99999999-9999-4999-8999-999999999999";
  for (const id of [other.id, missing]) {
    const { status, body } = await ask(id, account.owner);
    expect([status, body.code, body.detail]).toEqual([404, "not_found", (await ask(missing, newUser())).body.detail]);
    const code = `functions.list(account_id="${id}")`;
    const sent = { request_id: id, session_id: "s", code };
    const ran = await request("POST", "/v1/public/a2a", { token: account.owner.token, body: sent });
    expect(ran.body.error).toMatchObject({ code: "not_found" });
  }
  const wrong = await ask("mine", account.owner);
  expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["query", "account_id"]]);
});

test("a prefix narrows the list further, and a program gets the same list", async () => {
  const account = await newAccount();
  const member = await newMember(account, { role: "viewer" });
  // An id may be written in capitals.
  const path = `/v1/public/functions?prefix=workspaces.&account_id=${account.id.toUpperCase()}`;
  const { body } = await request("GET", path, { token: member.token });
  expect(body.functions.map(({ name }: { name: string }) => name)).toEqual(["workspaces.list", "workspaces.get"]);
  const code = `functions.list(account_id="${account.id}", prefix="workspaces.")`;
  const sent = { request_id: "r", session_id: "s", code };
  const ran = await request("POST", "/v1/public/a2a", { token: member.token, body: sent });
  expect(ran.body.result.last_value).toEqual(body);
});
