import { expect, test } from "vitest";

import { listDomains } from "../../../shared/domains/list.ts";
import { unregistered } from "../../../shared/domains/registration-state.ts";
import type { Context } from "../../../shared/http/route.ts";
import { newWorkspace } from "../../support/auth.ts";
import { setStored } from "../../support/domain-work.ts";
import { connected, domainsRequest, uniqueName } from "../../support/domains.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account, type User } from "../../support/world.ts";

type Page = { items: { id: string; name: string }[]; total: number };

const list = async ({ id, owner }: Account, query = "", { token }: Pick<User, "token"> = owner): Promise<Page> =>
  (await request("GET", `/v1/public/accounts/${id}/domains?${query}`, { token })).body;

const namesIn = ({ items }: Page): string[] => items.map(({ name }) => name);

/** An account with one workspace for each number in `counts`. The workspace has this number of domains. */
async function withDomains(...counts: number[]) {
  const account = await newAccount();
  const workspaces: string[] = [];
  const names: string[][] = [];
  const ids = new Map<string, string>();
  for (const [index, count] of counts.entries()) {
    const workspaceId = await newWorkspace(account, `W${index}`);
    const own: string[] = [];
    for (let made = 0; made < count; made++) {
      const { id, name } = await connected(account, { workspaceId });
      own.push(name);
      ids.set(name, id);
    }
    workspaces.push(workspaceId);
    names.push(own);
  }
  const domainScope = (name = "") => ({ type: "domain" as const, id: ids.get(name) ?? "" });
  const workspaceScope = (index: number) => ({ type: "workspace" as const, id: workspaces[index] ?? "" });
  return { account, workspaces, names, domainScope, workspaceScope };
}

const move = (account: Account, name = "", workspace_id = "") =>
  domainsRequest(account, "POST", `/${name}/move`, { workspace_id });

test("pages oldest first with an exact total, and a page past the end is empty", async () => {
  const { account, names } = await withDomains(3, 4);
  const all = names.flat();
  expect(namesIn(await list(account))).toEqual(all);
  expect(namesIn(await list(account, "page_size=3"))).toEqual(all.slice(0, 3));
  expect(namesIn(await list(account, "page=3&page_size=3"))).toEqual(all.slice(6));
  expect(await list(account, "page=4&page_size=3")).toEqual({ items: [], page: 4, page_size: 3, total: 7 });
});

test("a page has no gaps after domains are deleted", async () => {
  const { account, names, workspaces } = await withDomains(5);
  const [first, second, third, fourth, fifth] = names[0] ?? [];
  for (const name of [first, fourth]) await domainsRequest(account, "DELETE", `/${name}`);
  expect(await list(account, "page=2&page_size=2")).toMatchObject({ total: 3, items: [{ name: fifth }] });
  expect(namesIn(await list(account, `workspace_id=${workspaces[0]}`))).toEqual([second, third, fifth]);
});

test("lists a workspace's domains in the order in which they came into the workspace", async () => {
  const { account, names, workspaces } = await withDomains(2, 2);
  const [[first, second], [third, fourth]] = names as [string[], string[]];
  await move(account, first, workspaces[1]);
  expect(namesIn(await list(account, `workspace_id=${workspaces[1]}`))).toEqual([third, fourth, first]);
  expect(namesIn(await list(account, `workspace_id=${workspaces[0]}`))).toEqual([second]);
  expect(namesIn(await list(account, `workspace_id=${workspaces[1]}&page=2&page_size=2`))).toEqual([first]);
  expect(namesIn(await list(account))).toEqual(names.flat());
  const elsewhere = await list(await newAccount(), `workspace_id=${workspaces[1]}`);
  expect(elsewhere).toMatchObject({ items: [], total: 0 });
});

test("filters by status, tag and text: a domain must match all filters, and the total counts all pages", async () => {
  const { account, names } = await withDomains(4);
  const [first, second, third, fourth] = names[0] as [string, string, string, string];
  const sent = { token: account.owner.token, body: { name: "Important" } };
  const tag = (await request("POST", `/v1/public/accounts/${account.id}/tags`, sent)).body.id;
  for (const name of [first, second, third]) await domainsRequest(account, "PATCH", `/${name}`, { tag_ids: [tag] });
  for (const name of [second, third, fourth]) await setStored(account, name, { status: "degraded" });
  expect(namesIn(await list(account, "status=degraded"))).toEqual([second, third, fourth]);
  expect(namesIn(await list(account, `tag_id=${tag}`))).toEqual([first, second, third]);
  expect(namesIn(await list(account, `tag_id=${tag}&status=degraded`))).toEqual([second, third]);
  expect(await list(account, `tag_id=${tag}&status=degraded&page=2&page_size=1`)).toMatchObject({
    items: [{ name: third, tags: [{ id: tag, name: "Important" }] }],
    total: 2,
  });
  expect(namesIn(await list(account, `tag_id=${tag}&status=degraded&search=${third.slice(0, 8)}`))).toEqual([third]);
  expect(await list(account, "status=active")).toMatchObject({ items: [], total: 0 });
  expect(await list(account, `tag_id=${account.id}`)).toMatchObject({ items: [], total: 0 });
  expect(await list(account, `page=3&page_size=2&status=degraded`)).toMatchObject({ items: [], total: 3 });
});

test("filters by source, DNS mode, the end of the registration, and a tag's name or id", async () => {
  const { account, names } = await withDomains(4);
  const [first, second, third, fourth] = names[0] as [string, string, string, string];
  const tagged = async (name: string): Promise<string> => {
    const sent = { token: account.owner.token, body: { name } };
    return (await request("POST", `/v1/public/accounts/${account.id}/tags`, sent)).body.id;
  };
  const [important, other] = [await tagged("Very Important"), await tagged("Other")];
  // A tag may have another tag's id as its name. Then the filter finds the tag with this id.
  const confusing = await tagged(other);
  const tags: [name: string, ids: string[]][] = [
    [first, [important]],
    [second, [important, other]],
    [third, [confusing]],
  ];
  for (const [name, tag_ids] of tags) await domainsRequest(account, "PATCH", `/${name}`, { tag_ids });
  const ends = (expires_at: string | null) => ({ ...unregistered("pending"), status: "active" as const, expires_at });
  await setStored(account, second, { source: "purchased", registration: ends("2030-01-01T00:00:00.000Z") });
  await setStored(account, third, { source: "purchased", registration: ends("2031-01-01T00:00:00.000Z") });
  await setStored(account, fourth, { dns_mode: "external", registration: ends(null) });
  const cases: [query: string, names: string[]][] = [
    ["source=purchased", [second, third]],
    ["source=connected", [first, fourth]],
    ["dns_mode=external", [fourth]],
    ["dns_mode=hosted", [first, second, third]],
    ["expires_before=2030-01-01T00:00:00Z", []],
    ["expires_before=2030-01-01T01:00:00%2B01:00", []],
    ["expires_before=2030-01-01T00:00:00.001Z", [second]],
    ["expires_before=2032-01-01T00:00:00Z&order=desc", [third, second]],
    ["tag=very%20important", [first, second]],
    [`tag=${important.toUpperCase()}`, [first, second]],
    [`tag=${other}`, [second]],
    [`tag=${other}&tag_id=${important}`, [second]],
    [`tag=Other&source=connected`, []],
    ["tag=nothing", []],
    [`tag=${account.id}`, []],
  ];
  for (const [query, expected] of cases) {
    const page = await list(account, query);
    expect([namesIn(page), page.total], query).toEqual([expected, expected.length]);
  }
});

test("sorts by age or by name, in either direction, for callers who see all and for others", async () => {
  const { account, names, workspaces, workspaceScope } = await withDomains(3, 3);
  const all = names.flat();
  const [first] = all;
  await move(account, first, workspaces[1]);
  const viewer = { role: "viewer" as const };
  const member = await newMember(
    account,
    { ...viewer, scope: workspaceScope(0) },
    { ...viewer, scope: workspaceScope(1) },
  );
  const byName = all.toSorted();
  for (const as of [account.owner, member]) {
    const sorted = async (query: string) => namesIn(await list(account, query, as));
    expect(await sorted("sort=created_at")).toEqual(all);
    expect(await sorted("sort=created_at&order=desc&page=2&page_size=4")).toEqual(all.toReversed().slice(4));
    expect(await sorted("sort=name")).toEqual(byName);
    expect(await sorted("sort=name&order=desc&page_size=2")).toEqual(byName.toReversed().slice(0, 2));
    const inSecond = [...(names[1] ?? []), first ?? ""];
    const where = `workspace_id=${workspaces[1]}`;
    expect(await sorted(where)).toEqual(inSecond);
    expect(await sorted(`${where}&order=desc`)).toEqual(inSecond.toReversed());
    expect(await sorted(`${where}&sort=created_at`)).toEqual([first, ...(names[1] ?? [])]);
    expect(await sorted(`${where}&sort=name&order=desc`)).toEqual(inSecond.toSorted().toReversed());
  }
  expect(namesIn(await list(account, "order=desc&page_size=4"))).toEqual(all.toReversed().slice(0, 4));
});

test("searches names in their Unicode and their xn-- form, in any case and Unicode composition", async () => {
  const account = await newAccount();
  const end = uniqueName("q");
  const { name } = await connected(account, { name: `bücher-${end}` });
  await connected(account);
  const wanted = [
    "büch",
    "BÜCH",
    "bu\u0308ch",
    "ｂüch",
    " büch ",
    name.slice(0, 9),
    name.toUpperCase(),
    end,
    "bücher-q",
  ];
  for (const text of wanted) {
    expect(await list(account, `search=${encodeURIComponent(text)}`), text).toMatchObject({
      items: [{ name }],
      total: 1,
    });
  }
  expect((await list(account, "search=.com")).total).toBe(2);
  for (const text of ["nobody-has-this", "%", "*", "b.cher"]) {
    expect((await list(account, `search=${encodeURIComponent(text)}`)).total, text).toBe(0);
  }
});

test("shows a caller with narrow grants the domains in their scopes, each once, and the total agrees", async () => {
  const { account, names, domainScope, workspaceScope, workspaces } = await withDomains(3, 2, 3);
  const [[, second], granted, [first, , third]] = names as [string[], string[], string[]];
  const member = await newMember(
    account,
    { capability: "domain.view", scope: domainScope(third) },
    { capability: "domain.view", scope: domainScope(second) },
    { role: "viewer", scope: workspaceScope(1) },
    { capability: "domain.view", scope: domainScope(granted[0]) },
    { capability: "dns.view", scope: domainScope(first) },
    { capability: "workspace.view", scope: workspaceScope(2) },
  );
  const seen = [...granted, second, third];
  const all = await list(account, "", member);
  expect([namesIn(all), all.total]).toEqual([seen, 4]);
  for (const [index, name] of seen.entries()) {
    const one = await list(account, `page_size=1&page=${index + 1}`, member);
    expect([namesIn(one), one.total]).toEqual([[name], 4]);
  }
  expect(await list(account, "page=5&page_size=1", member)).toMatchObject({ items: [], total: 4 });
  expect(namesIn(await list(account, "page=2&page_size=3", member))).toEqual([third]);
  expect(await list(account, `workspace_id=${workspaces[2]}`, member)).toMatchObject({
    items: [{ name: third }],
    total: 1,
  });
  expect(namesIn(await list(account, `workspace_id=${workspaces[1]}`, member))).toEqual(granted);
  expect(namesIn(await list(account, `search=${second?.slice(0, 10)}`, member))).toEqual([second]);
  expect(await list(account, `search=${first?.slice(0, 10)}`, member)).toMatchObject({ items: [], total: 0 });
});

test("a grant on a workspace covers the domains in it, a grant on a domain covers the domain", async () => {
  const { account, names, domainScope, workspaceScope, workspaces } = await withDomains(2, 0);
  const [first, second] = names[0] ?? [];
  const ofWorkspace = await newMember(account, { role: "viewer", scope: workspaceScope(0) });
  const ofDomain = await newMember(account, { role: "viewer", scope: domainScope(first) });
  const ofBoth = await newMember(
    account,
    { role: "viewer", scope: workspaceScope(0) },
    { role: "viewer", scope: domainScope(first) },
  );
  expect(await list(account, "", ofBoth)).toMatchObject({ total: 2 });
  await move(account, first, workspaces[1]);
  expect(await list(account, "", ofWorkspace)).toMatchObject({ items: [{ name: second }], total: 1 });
  expect(await list(account, "", ofDomain)).toMatchObject({ items: [{ name: first }], total: 1 });
  expect(await list(account, "", ofBoth)).toMatchObject({ items: [{ name: second }, { name: first }], total: 2 });
  const path = `/v1/public/accounts/${account.id}/domains/${first}`;
  expect((await request("GET", path, { token: ofWorkspace.token })).status).toBe(404);
});

test("sorts by the end of the registration: a domain without an end sorts as the latest", async () => {
  const { account, names } = await withDomains(4);
  const own = names.flat();
  const ends = ["2028-01-01T00:00:00.000Z", null, "2027-06-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"];
  for (const [index, name] of own.entries()) {
    const expires_at = ends[index] ?? null;
    const registration = { ...unregistered("pending"), status: "active" as const, expires_at };
    if (expires_at !== null) await setStored(account, name, { registration });
  }
  const [late, none, middle, early] = own;
  expect(namesIn(await list(account, "sort=expires_at"))).toEqual([early, middle, late, none]);
  expect(namesIn(await list(account, "sort=expires_at&order=desc&page_size=2"))).toEqual([none, late]);
});

test("a page costs two round trips, whatever its number", async () => {
  const { account } = await withDomains(9);
  const everything = { member: true, everything: true, superAdmin: false, grants: [] };
  const cost = async (page: number) => {
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    const context = { table: testTable(usage), permissions: everything } as unknown as Context;
    const { items } = await listDomains(account.id, { page, page_size: 3, order: "asc" }, context);
    return [items.length, usage.calls, usage.readUnits];
  };
  const first = await cost(1);
  expect(first.slice(0, 2)).toEqual([3, 2]);
  expect(await cost(3)).toEqual(first);
});

test.each([
  ["page=0", "page"],
  ["page_size=101", "page_size"],
  ["workspace_id=x", "workspace_id"],
  ["status=gone", "status"],
  ["tag_id=x", "tag_id"],
  ["tag=", "tag"],
  ["source=stolen", "source"],
  ["dns_mode=mine", "dns_mode"],
  ["expires_before=tomorrow", "expires_before"],
  ["sort=status", "sort"],
  ["order=newest", "order"],
  ["search=", "search"],
  ["search=%20", "search"],
  [`search=${"a".repeat(254)}`, "search"],
  ["name=example.com", "name"],
])("refuses ?%s", async (query, name) => {
  const { id, owner } = await newAccount();
  const answer = await request("GET", `/v1/public/accounts/${id}/domains?${query}`, { token: owner.token });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ loc: ["query", name] }]);
});
