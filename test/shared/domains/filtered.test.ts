import fc from "fast-check";
import { expect, test } from "vitest";

import { listDomains } from "../../../shared/domains/list.ts";
import { planNewDomains } from "../../../shared/domains/setup/new.ts";
import type { Context } from "../../../shared/http/route.ts";
import { newWorkspace } from "../../support/auth.ts";
import { withStep } from "../../support/between-calls.ts";
import { setStored } from "../../support/domain-work.ts";
import { domainsRequest, uniqueName } from "../../support/domains.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
const context = {
  table: testTable(usage),
  permissions: { member: true, everything: true, superAdmin: false, grants: [] },
} as unknown as Context;

const taken = () => () => new Error("a name is taken");

/** Puts domains into a workspace, oldest first. */
async function fill(accountId: string, workspaceId: string, names: readonly string[]): Promise<void> {
  const settings = { source: "connected" as const, status: "active" as const, auto_renew: false, due_at: null };
  for (let start = 0; start < names.length; start += 8) {
    const given = names.slice(start, start + 8).map((name) => ({ name, ...settings }));
    await testTable().commit(async () => {
      const at = { accountId, workspaceId, now: new Date() };
      const { writes } = await planNewDomains(testTable(), at, given, { taken, exists: taken });
      return { value: undefined, writes };
    });
  }
}

type Modelled = { name: string; workspace: string; degraded: boolean };
type Query = Parameters<typeof listDomains>[1];

async function page(account: Account, query: Partial<Query>) {
  const { items, total } = await listDomains(account.id, { page: 1, page_size: 100, order: "asc", ...query }, context);
  return { names: items.map(({ name }) => name), total };
}

/** An account with a workspace for each of `counts`, and a model of its domains in the order of the account's list. */
async function scene(...counts: number[]) {
  const account = await newAccount();
  const end = uniqueName("f");
  const model: Modelled[] = [];
  for (const [index, count] of counts.entries()) {
    const workspace = await newWorkspace(account, `W${index}`);
    const names = Array.from({ length: count }, (_, place) => `n${place % 7}-${index}-${place}.${end}`);
    await fill(account.id, workspace, names);
    model.push(...names.map((name) => ({ name, workspace, degraded: false })));
  }
  const workspaces = [...new Set(model.map(({ workspace }) => workspace))];
  /** The domains of each workspace, in the order in which they came into the workspace. */
  const orders = new Map(workspaces.map((id) => [id, model.filter(({ workspace }) => workspace === id)]));
  return { account, model, workspaces, orders };
}

const command = fc.oneof(
  fc.record({ remove: fc.nat() }),
  fc.record({ move: fc.nat(), to: fc.nat(1) }),
  fc.record({ degrade: fc.nat() }),
  {
    weight: 5,
    arbitrary: fc.record({
      text: fc.option(fc.constantFrom("n3", "n3-1-", "-0-", "-1-1", ".com", "nothing"), { nil: undefined }),
      workspace: fc.option(fc.nat(1), { nil: undefined }),
      status: fc.option(fc.constantFrom("active", "degraded", "failed"), { nil: undefined }),
      sort: fc.constantFrom(undefined, "created_at" as const, "name" as const, "expires_at" as const),
      order: fc.constantFrom("asc" as const, "desc" as const),
      page: fc.integer({ min: 1, max: 3 }),
      size: fc.constantFrom(1, 5, 100),
    }),
  },
);

test(
  "a filtered list of domains equals a filtered array, after random moves and deletions",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 12, maxLength: 20 }), async (commands) => {
        const { account, model, workspaces, orders } = await scene(6, 90);
        const at = (place: number) => model[place % model.length] ?? { name: "", workspace: "", degraded: false };
        const leave = (one: Modelled) => {
          const order = orders.get(one.workspace) ?? [];
          orders.set(
            one.workspace,
            order.filter((other) => other !== one),
          );
        };
        for (const step of commands) {
          if ("remove" in step) {
            const one = at(step.remove);
            expect((await domainsRequest(account, "DELETE", `/${one.name}`)).status).toBe(200);
            leave(one);
            model.splice(model.indexOf(one), 1);
          } else if ("move" in step) {
            const one = at(step.move);
            const to = workspaces[step.to] ?? "";
            await domainsRequest(account, "POST", `/${one.name}/move`, { workspace_id: to });
            if (one.workspace === to) continue;
            leave(one);
            one.workspace = to;
            orders.get(to)?.push(one);
          } else if ("degrade" in step) {
            at(step.degrade).degraded = true;
            await setStored(account, at(step.degrade).name, { status: "degraded" });
          } else {
            const { text, status, sort, order, page: number, size } = step;
            const workspace_id = step.workspace === undefined ? undefined : workspaces[step.workspace];
            const all = workspace_id === undefined ? model : (orders.get(workspace_id) ?? []);
            const kept = all.filter(({ name, degraded }) => {
              const isWanted = status === undefined || status === (degraded ? "degraded" : "active");
              return isWanted && (text === undefined || name.includes(text));
            });
            if (sort === "created_at") kept.sort((a, b) => model.indexOf(a) - model.indexOf(b));
            if (sort === "name") kept.sort((a, b) => (a.name < b.name ? -1 : 1));
            // None of these domains has an expiry. So they stay in the order of the account's list.
            if (sort === "expires_at") kept.sort((a, b) => model.indexOf(a) - model.indexOf(b));
            const found = (order === "asc" ? kept : kept.toReversed()).map(({ name }) => name);
            const asked = { search: text, status, workspace_id, sort, order, page: number, page_size: size };
            const query = asked as Partial<Query>;
            const expected = { names: found.slice((number - 1) * size, number * size), total: found.length };
            expect(await page(account, query)).toEqual(expected);
          }
        }
      }),
      { numRuns: 6 },
    );
  },
);

test("a small workspace of a large account has the same lists as any other workspace", async () => {
  const { account, workspaces, orders } = await scene(1, 120);
  const [small = "", large = ""] = workspaces;
  const moved = orders.get(large)?.find(({ name }) => name.startsWith("n0-"))?.name ?? "";
  await domainsRequest(account, "POST", `/${moved}/move`, { workspace_id: small });
  // In the order of the account's list.
  const all = [...(orders.get(small) ?? []).map(({ name }) => name), moved];
  const sorts = { "": all, created_at: all, name: all.toSorted(), expires_at: all };
  for (const filter of ["", "&search=-1-", "&status=active", "&search=-1-&status=active", "&search=nothing"]) {
    const text = /search=([^&]*)/.exec(filter)?.[1] ?? "";
    for (const [sort, sorted] of Object.entries(sorts)) {
      const ascending = sorted.filter((name) => name.includes(text));
      for (const [order, names] of Object.entries({ asc: ascending, desc: ascending.toReversed() })) {
        const query = `workspace_id=${small}&order=${order}${filter}${sort && `&sort=${sort}`}`;
        const { status, body } = await domainsRequest(account, "GET", `?${query}`);
        expect(status).toBe(200);
        const found = body.items.map(({ name }: { name: string }) => name);
        expect({ query, names: found, total: body.total }).toEqual({ query, names, total: names.length });
      }
    }
  }
});

const costOf = async (run: () => Promise<unknown>): Promise<number> => {
  const before = usage.readUnits;
  await run();
  return usage.readUnits - before;
};

test("a search reads few rows, even in a workspace that has most domains of the account", async () => {
  const { account, workspaces } = await scene(6, 300);
  expect(await costOf(() => page(account, { search: "n3-1-101" }))).toBeLessThan(20);
  expect(await costOf(() => page(account, { search: "n3-1-101", workspace_id: workspaces[1] }))).toBeLessThan(25);
  expect(await costOf(() => page(account, { search: ".com", page_size: 5 }))).toBeLessThan(25);
  expect(await costOf(() => page(account, { status: "failed", workspace_id: workspaces[1] }))).toBeLessThan(80);
  expect(await costOf(() => page(account, { search: "n3", workspace_id: workspaces[0] }))).toBeLessThan(12);
});

test("the last page of a list sorted by name costs about as much as the first page", async () => {
  const { account } = await scene(300);
  const cost = (number: number) => costOf(() => page(account, { sort: "name", page: number, page_size: 25 }));
  const first = await cost(1);
  expect(first).toBeLessThan(40);
  expect(await cost(12)).toBeLessThan(1.2 * first + 10);
});

test("a search shows one moment, even if a domain is deleted between its calls of the table", async () => {
  const { account, workspaces, model } = await scene(6, 40);
  for (const workspace_id of [undefined, workspaces[1]]) {
    let calls = 1;
    for (let at = 0; at < calls; at++) {
      const { name = "" } = model.filter(({ workspace }) => workspace === workspaces[1])[at] ?? {};
      const run = async () => void (await domainsRequest(account, "DELETE", `/${name}`));
      const before = await page(account, { search: "-1-", workspace_id });
      const read = () => page(account, { search: "-1-", workspace_id });
      const done = await withStep(at, run, read);
      const without = { names: before.names.filter((one) => one !== name), total: before.total - 1 };
      expect([before, without]).toContainEqual(done.value);
      calls = done.calls;
    }
  }
});
