import { describe, expect, test, vi } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { route as getWorkspace } from "../../../functions/workspaces/get.ts";
import { route as listWorkspaces } from "../../../functions/workspaces/list.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import type { Capability } from "../../../shared/auth/capabilities.ts";
import type { Permissions } from "../../../shared/auth/permissions.ts";
import { dayOf, monthOf, nextMonth, plusDays } from "../../../shared/core/time.ts";
import { authorize } from "../../../shared/http/authorize.ts";
import type { Context, Route } from "../../../shared/http/route.ts";
import { billing, closeDays } from "../../support/billing.ts";
import { callRest } from "../../support/call.ts";
import { uniqueName } from "../../support/domains.ts";
import { exampleOf } from "../../support/examples.ts";
import { mailed, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { home, stocked } from "../../support/mailboxes.ts";
import { request, type Answer } from "../../support/request.ts";
import { countTrips } from "../../support/trips.ts";
import {
  grant,
  newAccount,
  newMember,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
  type User,
} from "../../support/world.ts";

const nobodys = "99999999-9999-4999-8999-999999999999";

const call = ({ id, owner }: Account, method: string, path: string, body?: unknown, as: User = owner) =>
  request(method, `/v1/public/accounts/${id}/${path}`, {
    token: as.token,
    ...(body === undefined ? {} : { body }),
  });

describe("a link by which a stranger confirms a forwarding rule", () => {
  const pressed = async (status: "past_due" | "suspended" | "closed") => {
    const account = await newAccount();
    const rule = await ruleTo(account, stranger());
    const { token } = await mailed(account, rule);
    await setAccountStatus(testTable(), account.id, status, new Date());
    const answer = await press(token);
    return [answer.status, (await ruleNow(account, rule.id))?.verification_state];
  };

  test("works while the account of the rule is past due", async () => {
    expect(await pressed("past_due")).toEqual([200, "verified"]);
  });

  test.each(["suspended", "closed"] as const)("does not work while the account of the rule is %s", async (status) => {
    expect(await pressed(status)).toEqual([422, "pending"]);
  });
});

describe("a missing resource, for a caller with the capability on the whole account,", () => {
  const placeOf = ({ status, body }: Answer) => [status, body.detail[0].loc ?? body.code];

  test("is a 404 in the path, and a 422 with its place in the body", async () => {
    const account = await newAccount();
    const gone = await call(account, "GET", `workspaces/${nobodys}`);
    expect([gone.status, gone.body.code]).toEqual([404, "not_found"]);
    const domain = { name: uniqueName(), workspace_id: nobodys };
    expect(placeOf(await call(account, "POST", "domains", domain))).toEqual([422, ["body", "workspace_id"]]);
    const credential = { name: "App", generate: true, domain: nobodys };
    expect(placeOf(await call(account, "POST", "credentials", credential))).toEqual([422, ["body", "domain"]]);
  });
});

describe("a route about the account as a whole", () => {
  test("is a 403 with the capability, and not a 404, for a caller who holds the capability only on a part", async () => {
    const account = await newAccount();
    const { body: workspace } = await call(account, "POST", "workspaces", { name: "Sales" });
    const scope = { type: "workspace" as const, id: workspace.id };
    const member = await newMember(account, { capability: "credential.manage", scope });
    const refused = await call(account, "POST", "credentials", { name: "App", generate: true }, member);
    expect(refused).toMatchObject({ status: 403, body: { required_capability: "credential.manage" } });
    const body = { name: "App", generate: true, workspace_id: nobodys };
    expect((await call(account, "POST", "credentials", body, member)).status).toBe(422);
  });

  test("answers a super admin, and is a 404 for a stranger", async () => {
    const account = await newAccount();
    expect((await call(account, "GET", "workspaces", undefined, await newSuperAdmin())).status).toBe(200);
    expect((await call(account, "GET", "workspaces", undefined, newUser())).status).toBe(404);
  });
});

test("a repeated program returns the stored answer of a call that used a stranger's link, even if the account of the rule was suspended since", async () => {
  const account = await newAccount();
  const { token } = await mailed(account, await ruleTo(account, stranger()));
  const someone = newUser();
  const code = `forwarding.verify(token="${token}")\nworkspaces.list(account_id="${account.id}")`;
  const send = () =>
    request("POST", "/v1/public/a2a", {
      token: someone.token,
      headers: { "idempotency-key": "k" },
      body: { request_id: "r", session_id: "s", code },
    });
  const first = await send();
  expect(first.body.responses).toMatchObject([{ status: "completed" }, { status: "failed" }]);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await send()).body.responses[0]).toEqual(first.body.responses[0]);
});

describe("a caller who may not change an existing resource", () => {
  test.each<[string, number, Capability, boolean]>([
    ["gets 403 with the missing capability if the caller may see the resource", 403, "workspace.view", true],
    ["gets 403 with the missing capability if the caller holds nothing of its kind anywhere", 403, "ip.view", false],
    ["gets 404 if the caller may see other resources of its kind", 404, "workspace.view", false],
    ["gets 404 if the caller may change other resources of its kind", 404, "workspace.manage", false],
  ])("%s", async (_, status, capability, isOnIt) => {
    const account = await newAccount();
    const { body: workspace } = await call(account, "POST", "workspaces", { name: "Sales" });
    const scope = { type: "workspace" as const, id: isOnIt ? workspace.id : nobodys };
    const member = await newMember(account, { capability, scope });
    const answer = await call(account, "PATCH", `workspaces/${workspace.id}`, { name: "Other" }, member);
    expect([answer.status, answer.body.required_capability]).toEqual([
      status,
      status === 403 ? "workspace.manage" : undefined,
    ]);
  });
});

describe("the cost of a decision", () => {
  /** The number of calls of the table that a decision takes. */
  async function callsFor(route: Route, account: Account, { id }: User, params: object = {}): Promise<number> {
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    const principal = { type: "user" as const, id, email: "", groups: [] };
    const input = { params: { account_id: account.id, ...params }, query: {}, body: {}, headers: {} };
    await authorize(route, input, principal, testTable(usage), new Date());
    return usage.calls;
  }

  test("is one call for a caller who sees a whole list, and two calls for a caller who sees a part (the second asks whether the caller is a super admin)", async () => {
    const account = await newAccount();
    const whole = await newMember(account, { capability: "workspace.view" });
    const part = await newMember(account, { capability: "workspace.view", scope: { type: "workspace", id: nobodys } });
    expect(await callsFor(listWorkspaces, account, account.owner)).toBe(1);
    expect(await callsFor(listWorkspaces, account, whole)).toBe(1);
    expect(await callsFor(listWorkspaces, account, part)).toBe(2);
  });

  test("is one call for a member if the route needs no capability", async () => {
    const account = await newAccount();
    const member = await newMember(account, { capability: "ip.view", scope: { type: "domain", id: nobodys } });
    const { scope: _, ...whole } = listWorkspaces;
    expect(await callsFor({ ...whole, capability: null }, account, member)).toBe(1);
  });

  test("is one call for a grant on only the resource of the route, and three calls for a super admin", async () => {
    const account = await newAccount();
    const { body: workspace } = await call(account, "POST", "workspaces", { name: "Sales" });
    const params = { workspace_id: workspace.id };
    const scope = { type: "workspace" as const, id: workspace.id };
    const member = await newMember(account, { capability: "workspace.view", scope });
    expect(await callsFor(getWorkspace, account, member, params)).toBe(1);
    expect(await callsFor(getWorkspace, account, await newSuperAdmin(), params)).toBe(3);
  });
});

test("a query with several values of `account_id` is refused, even with 36 values, as many as an id has characters", async () => {
  for (const count of [2, 36]) {
    const query = Array.from({ length: count }, () => `account_id=${nobodys}`).join("&");
    const { status, body } = await request("GET", `/v1/public/functions?${query}`, { token: newUser().token });
    expect([status, body.detail[0].loc]).toEqual([422, ["query", "account_id"]]);
  }
});

test("a query can name an account, and the caller's permissions in this account decide", async () => {
  const account = await newAccount();
  const ask = ({ token }: User) => request("GET", `/v1/public/functions?account_id=${account.id}`, { token });
  expect((await ask(newUser())).status).toBe(404);
  const viewer = await ask(await newMember(account, { role: "viewer" }));
  const names = viewer.body.functions.map(({ name }: { name: string }) => name);
  expect(names).toContain("workspaces.get");
  expect(names).not.toContain("workspaces.delete");
});

describe("the refusal of a suspended account", () => {
  const detailFor = async (account: Account, as: User = account.owner): Promise<string> => {
    const { status, body } = await call(account, "POST", "workspaces", { name: "Sales" }, as);
    expect([status, body.code]).toEqual([403, "account_suspended"]);
    return body.detail;
  };

  test("names the debt to callers who see the billing, and names to every caller the call that pays, in one round trip", async () => {
    const account = await newAccount();
    const month = monthOf(dayOf(new Date()));
    const due = nextMonth(month);
    await closeDays(account, plusDays(due, -1));
    await closeDays(account, plusDays(due, 14));
    const { amount } = (await billing(account, "GET", "invoices")).body.items[0];
    const { value, trips } = await countTrips(() => detailFor(account));
    expect(value).toContain(`suspended for an unpaid balance. ${amount} USD was missing`);
    expect(value).toContain("billing.topup_session.create");
    expect(trips).toBe(1);
    const manager = await detailFor(account, await newMember(account, { role: "manager" }));
    expect(manager).toContain("billing.topup_session.create");
    expect(manager).not.toContain(amount);
    expect(await detailFor(account, await newSuperAdmin())).toContain(`${amount} USD`);
  });

  test("names no debt if the operator suspended or closed the account", async () => {
    const account = await newAccount();
    for (const status of ["suspended", "closed"] as const) {
      await setAccountStatus(testTable(), account.id, status, new Date());
      const detail = await detailFor(account);
      expect(detail).toContain(`This account is ${status}.`);
      expect(detail).not.toContain("USD");
    }
  });
});

describe("a super admin with a grant that is enough to call a route", () => {
  test("has all other permissions too", async () => {
    const account = await newAccount();
    const { id, name } = await home(account);
    await stocked(account, name, ["ada"]);
    await call(account, "POST", "feedback", { category: "other", title: "Hello", description: "Text" });
    const admin = await newSuperAdmin();
    await grant(account, admin, { capability: "domain.view", scope: { type: "domain", id } });
    expect((await call(account, "GET", `domains/${name}`, undefined, admin)).body).toMatchObject({ mailbox_count: 1 });
    expect((await call(account, "GET", "feedback", undefined, admin)).body.total).toBe(1);
    const { limits } = (await call(account, "GET", "limits", undefined, admin)).body;
    expect(limits).toEqual((await call(account, "GET", "limits")).body.limits);
  });

  test("may move a domain to every workspace", async () => {
    const account = await newAccount();
    const { id, name } = await home(account);
    const { body: target } = await call(account, "POST", "workspaces", { name: "Target" });
    const admin = await newSuperAdmin();
    await grant(account, admin, { capability: "domain.move", scope: { type: "domain", id } });
    const moved = await call(account, "POST", `domains/${name}/move`, { workspace_id: target.id }, admin);
    expect(moved).toMatchObject({ status: 200, body: { workspace_id: target.id } });
  });
});

/**
 * Whether `run` compares the caller's permissions with the permissions or the events that the call gives to others.
 * Such a `run` finds out by itself whether the caller is a super admin.
 */
const isGiving = ({ capability }: Route): boolean => capability === "auth.manage" || capability === "webhook.manage";

test(
  "a route whose successful example looks at permissions besides its capability says so",
  { timeout: 120_000 },
  async () => {
    const silent = routes.filter((route) => !route.usesPermissions && route.scope !== "visible" && !isGiving(route));
    const looking: string[] = [];
    for (const route of silent.filter(({ name }) => name !== "me.permissions")) {
      const account = await newAccount();
      const example = await exampleOf(route, account);
      const { run } = route;
      const look = (context: Context): Context => {
        const get = (permissions: Permissions, key: keyof Permissions) => {
          looking.push(route.name);
          return permissions[key];
        };
        return { ...context, permissions: new Proxy(context.permissions, { get }) };
      };
      const spied = vi.spyOn(route, "run").mockImplementation((input, context) => run(input, look(context)));
      const { status } = await callRest(route, example, account.owner.token);
      expect([route.name, status]).toEqual([route.name, route.http.status]);
      spied.mockRestore();
    }
    expect([...new Set(looking)]).toEqual([]);
  },
);
