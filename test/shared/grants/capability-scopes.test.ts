import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { capabilities, roles, type Capability, type RoleKey } from "../../../shared/auth/capabilities.ts";
import { scopeTypes } from "../../../shared/grants/assignments.ts";
import { parseInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import { exampleOf } from "../../support/examples.ts";
import { home, person, stocked } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const familyOf = ({ name }: Route): string => name.split(".")[0] ?? "";
const pick = (values: object, { shape }: { shape: object }): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(shape, name)));

/**
 * The types of the scopes in which a route finds its resource: the types that its lookup names, and the types that it
 * finds. If the body can name two scopes, includes both.
 */
async function locatedBy(route: Route): Promise<string[]> {
  const account = await newAccount();
  const example = await exampleOf(route, account);
  const { params, ...given } = parseInput(route, {
    params: pick(example, route.params),
    query: pick(example, route.query),
    body: pick(example, route.body),
  });
  if (typeof route.scope === "function") return route.scope(params).map(({ type }) => type);
  const hasChoice = "domain" in route.body.shape && "workspace_id" in route.body.shape;
  const { name: domain, workspace_id } = hasChoice ? await home(account) : { name: "", workspace_id: "" };
  const bodies = hasChoice ? [{ domain }, { workspace_id }] : [given.body];
  const found = await Promise.all(
    bodies.map(async (body) => route.subject?.find({ ...given, params, body }, testTable())),
  );
  const foundTypes = found.flatMap((one) => one?.scopes ?? []).map(({ type }) => type);
  return [...(route.subject?.within ?? []), ...foundTypes];
}

test(
  "`scopeTypes` has exactly the types of resources on which a capability opens a route",
  { timeout: 120_000 },
  async () => {
    const inAccount = routes.filter((route) => "account_id" in route.params.shape && route.capability !== null);
    const located = new Map<Route, string[]>();
    for (const route of inAccount) if (route.scope !== "visible") located.set(route, await locatedBy(route));
    /** The types for a list, which shows what the caller may see: the types of the list's family of routes. */
    const listedBy = (list: Route): string[] => {
      // A caller who sees only some domains sees the dedicated IPs that send for these domains.
      if (familyOf(list) === "dedicated_ips") return ["domain", "workspace"];
      return inAccount
        .filter((route) => familyOf(route) === familyOf(list))
        .flatMap((route) => located.get(route) ?? []);
    };
    const opened = new Map<Capability, Set<string>>(capabilities.map((one) => [one, new Set<string>()]));
    for (const route of inAccount) {
      const types = located.get(route) ?? listedBy(route);
      for (const type of types) opened.get(route.capability as Capability)?.add(type);
    }
    for (const [capability, types] of opened) {
      expect([capability, [...types].toSorted()]).toEqual([capability, (scopeTypes[capability] ?? []).toSorted()]);
    }
  },
);

const give = ({ id, owner }: Account, path: string, body: object) =>
  request("POST", `/v1/public/accounts/${id}/auth/${path}`, { token: owner.token, body });

describe("a permission without an effect on its resource is refused", () => {
  test("a capability", async () => {
    const account = await newRoomyAccount();
    const domain = await home(account);
    const [mailbox] = await stocked(account, domain.name, [person("ada")]);
    const on = (capability_key: Capability, resource_type: string, resource_id: string) =>
      give(account, "authorizations", {
        grant_kind: "capability",
        subject_type: "user",
        subject_id: randomUUID(),
        capability_key,
        resource_type,
        resource_id,
      });
    for (const [type, id] of [
      ["mailbox", mailbox ?? ""],
      ["domain", domain.id],
      ["workspace", domain.workspace_id],
      ["account", account.id],
    ] as const) {
      for (const capability of capabilities) {
        const isOpen = type === "account" || scopeTypes[capability]?.includes(type) === true;
        const { status, body } = await on(capability, type, id);
        expect([capability, type, status]).toEqual([capability, type, isOpen ? 201 : 422]);
        if (!isOpen) expect(body.detail).toMatchObject([{ loc: ["body", "capability_key"], type: "value_error" }]);
      }
    }
    expect((await on("billing.view", "domain", domain.id)).body.detail[0].msg).toBe(
      "billing.view has no effect on a domain. Give it on the account",
    );
    expect((await on("mailbox.view", "tenant", domain.id)).body.detail[0].msg).toBe(
      "mailbox.view has no effect on a tenant. Give it on the account, or on one workspace or domain or mailbox",
    );
  });

  test("a role, if none of its capabilities has an effect", async () => {
    const account = await newAccount();
    const { id } = await home(account);
    const refused = [];
    for (const role_key of Object.keys(roles) as RoleKey[]) {
      const resource = { resource_type: "domain", resource_id: id };
      const to = { subject_type: "user", subject_id: randomUUID() };
      const { status, body } = await give(account, "role-assignments", { role_key, ...to, ...resource });
      if (status !== 201) refused.push([role_key, body.detail[0].loc]);
    }
    expect(refused).toEqual([
      ["billing_viewer", ["body", "role_key"]],
      ["billing_admin", ["body", "role_key"]],
    ]);
  });
});

test("the error for a subject_id that is not a UUID says where to find the right id", async () => {
  const account = await newAccount();
  const group = await give(account, "groups", { name: "Support" });
  for (const [path, more] of [
    ["authorizations", { grant_kind: "capability", capability_key: "dns.view" }],
    ["role-assignments", { role_key: "viewer" }],
    [`groups/${group.body.id}/members`, {}],
  ] as const) {
    const { status, body } = await give(account, path, {
      ...more,
      subject_type: "user",
      subject_id: "ada@example.com",
    });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "subject_id"]]);
    expect(body.detail[0].msg).toMatch(/GET \/v1\/public\/me.*auth\.service_accounts\.list.*auth\.groups\.list/);
  }
});
