import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { domainsRequest, uniqueName } from "../../support/domains.ts";
import { at, emailsIn, home, listed, person, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

/**
 * An account with one domain for each list of local parts. The domain is in a workspace of its own, and has a mailbox
 * for each local part in its list.
 */
async function withMailboxes(...locals: string[][]) {
  const account = await newAccount();
  const domains: { id: string; name: string; workspace_id: string; emails: string[]; ids: string[] }[] = [];
  for (const some of locals) {
    const { id, name, workspace_id } = await home(account);
    const ids = await stocked(account, name, some);
    domains.push({ id, name, workspace_id, ids, emails: some.map((local) => `${local}@${name}`) });
  }
  return { account, domains };
}

const refusalOf = async (account: Account, query: string) => {
  const { status, body } = await send(account, "GET", `mailboxes?${query}`);
  return [status, body.detail?.map(({ loc }: { loc: string[] }) => loc)];
};

test("pages oldest first with an exact total over all domains, and a page past the end is empty", async () => {
  const account = await newAccount();
  const [first, second] = [await home(account), await home(account)];
  const order = ["a", "b", "c", "d", "e"];
  for (const [index, local] of order.entries()) await stocked(account, (index % 2 ? second : first).name, [local]);
  const locals = async (query: Record<string, string>) =>
    emailsIn(await listed(account, query)).map((email) => email.split("@")[0]);
  expect(await locals({})).toEqual(order);
  expect(await locals({ page_size: "2", page: "2" })).toEqual(["c", "d"]);
  expect(await locals({ page_size: "2", page: "3" })).toEqual(["e"]);
  expect(await listed(account, { page_size: "2", page: "4" })).toEqual({ items: [], page: 4, page_size: 2, total: 5 });
});

test("pages have no gap after mailboxes are deleted", async () => {
  const { account, domains } = await withMailboxes(["a", "b", "c", "d"]);
  const [{ ids, emails, name } = { ids: [], emails: [], name: "" }] = domains;
  for (const id of [ids[0], ids[2]]) await send(account, "DELETE", at(id ?? ""));
  for (const filter of [{}, { domain: name }]) {
    expect(await listed(account, { ...filter, page: "2", page_size: "1" })).toMatchObject({ total: 2 });
    expect(emailsIn(await listed(account, filter))).toEqual([emails[1], emails[3]]);
  }
});

test("filters by domain, given as an id or any spelling of the name, and by workspace", async () => {
  const { account, domains } = await withMailboxes(["a", "b"], ["a", "c"], []);
  const [first, second, empty] = domains;
  if (!first || !second || !empty) throw new Error("no domains");
  for (const domain of [first.name, `${first.name.toUpperCase()}.`, first.id, first.id.toUpperCase()]) {
    expect(emailsIn(await listed(account, { domain }))).toEqual(first.emails);
  }
  expect(await listed(account, { domain: second.name, page: "2", page_size: "1" })).toMatchObject({
    items: [{ primary_email: second.emails[1] }],
    total: 2,
  });
  expect(emailsIn(await listed(account, { workspace_id: second.workspace_id }))).toEqual(second.emails);
  for (const nothing of [
    { domain: empty.name },
    { domain: uniqueName() },
    { workspace_id: empty.workspace_id },
    { workspace_id: account.id },
    { domain: first.name, workspace_id: second.workspace_id },
  ]) {
    expect(await listed(account, nothing)).toMatchObject({ items: [], total: 0 });
  }
  expect(emailsIn(await listed(account, { domain: first.id, workspace_id: first.workspace_id }))).toEqual(first.emails);
});

test("a filter with another account's domain, workspace or address finds nothing", async () => {
  const { domains } = await withMailboxes(["a"]);
  const { account } = await withMailboxes(["b"]);
  const [theirs] = domains;
  for (const filter of [
    { domain: theirs?.name ?? "" },
    { domain: theirs?.id ?? "" },
    { workspace_id: theirs?.workspace_id ?? "" },
    { search: theirs?.emails[0] ?? "" },
  ]) {
    expect(await listed(account, filter)).toMatchObject({ items: [], total: 0 });
  }
});

test("searches addresses and names, whatever the letter case, the width and the Unicode form", async () => {
  const account = await newAccount();
  const label = uniqueName("s", "example-x.com");
  const { name } = await home(account, { name: `bücher-${label}` });
  const other = await home(account);
  await stocked(account, name, [
    person("hugo.l", { first_name: "Zoë", last_name: "O’Neill" }),
    person("bob", { first_name: "Bob", last_name: "Stone" }),
  ]);
  await stocked(account, other.name, [person("hugom", { first_name: "A", last_name: "Ｗide" })]);
  const found: [search: string, locals: string[]][] = [
    ["HUGO", ["hugo.l", "hugom"]],
    ["o.l@", ["hugo.l"]],
    [`hugo.l@${name}`, ["hugo.l"]],
    [`HUGO.L@${name.toUpperCase()}.`, ["hugo.l"]],
    [`BOB@bücher-${label}`, ["bob"]],
    ["@bücher", ["hugo.l", "bob"]],
    ["@bu\u0308ch", ["hugo.l", "bob"]],
    ["@xn--b", ["hugo.l", "bob"]],
    [`m@${other.name.slice(0, 6)}`, ["hugom"]],
    ["zoë", ["hugo.l"]],
    ["ZOE\u0308", ["hugo.l"]],
    ["oë o’n", ["hugo.l"]],
    ["wide", ["hugom"]],
    ["  stone  ", ["bob"]],
    [`ugo.l@${name}`, []],
    ["nobody", []],
    ["%", []],
    ["*", []],
  ];
  for (const [search, locals] of found) {
    const page = await listed(account, { search });
    expect([page.items.map(({ local_part }) => local_part), page.total], search).toEqual([locals, locals.length]);
  }
  expect(await listed(account, { search: "hug", page: "2", page_size: "1" })).toMatchObject({
    items: [{ local_part: "hugom" }],
    total: 2,
  });
  expect(emailsIn(await listed(account, { search: "hugo", domain: other.name }))).toEqual([`hugom@${other.name}`]);
  expect(emailsIn(await listed(account, { search: "hugo", workspace_id: other.workspace_id }))).toEqual([
    `hugom@${other.name}`,
  ]);
  expect(await listed(account, { search: `hugom@${other.name}`, domain: name })).toMatchObject({ total: 0 });
  expect(await listed(account, { search: `hugom@${other.name}`, domain: other.id })).toMatchObject({ total: 1 });
});

test("finds a mailbox by its aliases and the catch-all, for every caller who can see the mailbox", async () => {
  const { account, domains } = await withMailboxes(["ada", "bob"], ["eve"]);
  const [first, second] = domains;
  if (!first || !second) throw new Error("no domains");
  for (const alias of ["countess", "*"]) await send(account, "POST", at(first.ids[0] ?? "", "/aliases"), { alias });
  const scope = { type: "domain" as const, id: first.id };
  const member = await newMember(account, { capability: "mailbox.view", scope });
  const stranger = await newMember(account, {
    capability: "mailbox.view",
    scope: { type: "domain", id: second.id },
  });
  for (const search of ["countess", "NTESS@", `countess@${first.name}`, "*@", `*@${first.name}`]) {
    for (const as of [account.owner, member]) {
      const page = await listed(account, { search }, as);
      expect([emailsIn(page), page.total], search).toEqual([[first.emails[0]], 1]);
    }
    expect(await listed(account, { search }, stranger), search).toMatchObject({ items: [], total: 0 });
  }
  await send(account, "DELETE", at(first.ids[0] ?? "", "/aliases/countess"));
  expect(await listed(account, { search: "countess" })).toMatchObject({ items: [], total: 0 });
});

test("filters by status, alone and with other filters", async () => {
  const { account, domains } = await withMailboxes(["ada", "bob", "cy"], ["eve"]);
  const [first, second] = domains;
  if (!first || !second) throw new Error("no domains");
  for (const id of [first.ids[1], second.ids[0]])
    await send(account, "PATCH", at(id ?? "", "/active"), { active: false });
  const cases: [query: Record<string, string>, emails: (string | undefined)[]][] = [
    [{ status: "paused" }, [first.emails[1], second.emails[0]]],
    [{ status: "paused", page: "2", page_size: "1" }, [second.emails[0]]],
    [{ status: "active" }, [first.emails[0], first.emails[2]]],
    [{ status: "paused", domain: first.name }, [first.emails[1]]],
    [{ status: "paused", search: "eve" }, [second.emails[0]]],
    [{ status: "paused", search: first.emails[1] ?? "" }, [first.emails[1]]],
    [{ status: "active", search: first.emails[1] ?? "" }, []],
    [{ status: "suspended" }, []],
  ];
  for (const [query, emails] of cases) {
    expect(emailsIn(await listed(account, query)), JSON.stringify(query)).toEqual(emails);
  }
  await send(account, "PATCH", at(first.ids[1] ?? "", "/active"), { active: true });
  expect(await listed(account, { status: "paused" })).toMatchObject({ total: 1 });
});

test("sorts by age or by address, in either direction, for callers with permissions on the account or on single domains", async () => {
  const { account, domains } = await withMailboxes(["m", "a"], ["z", "b"]);
  const [first, second] = domains;
  if (!first || !second) throw new Error("no domains");
  const view = (id: string) => ({ capability: "mailbox.view" as const, scope: { type: "domain" as const, id } });
  const member = await newMember(account, view(first.id), view(second.id));
  const byAge = [...first.emails, ...second.emails];
  const byEmail = byAge.toSorted();
  for (const as of [account.owner, member]) {
    const emails = async (query: Record<string, string>) => emailsIn(await listed(account, query, as));
    expect(await emails({ sort: "created_at" })).toEqual(byAge);
    expect(await emails({ sort: "created_at", order: "desc" })).toEqual(byAge.toReversed());
    expect(await emails({ sort: "primary_email" })).toEqual(byEmail);
    expect(await emails({ sort: "primary_email", order: "desc", page: "2", page_size: "3" })).toEqual(
      byEmail.slice(0, 1),
    );
    expect(await emails({ sort: "primary_email", domain: first.id })).toEqual(first.emails.toSorted());
    expect(await emails({ sort: "primary_email", search: "z@" })).toEqual([second.emails[0]]);
  }
  const pages = ["1", "2", "3"].map((page) => listed(account, { order: "desc", page, page_size: "3" }));
  const [one, two, three] = await Promise.all(pages);
  expect([one, two, three].map((page) => page && emailsIn(page))).toEqual([
    byAge.toReversed().slice(0, 3),
    byAge.slice(0, 1),
    [],
  ]);
  expect([one?.total, two?.total, three?.total]).toEqual([4, 4, 4]);
});

test("refuses an unknown `sort`, and names the known values", async () => {
  const account = await newAccount();
  const { status, body } = await send(account, "GET", "mailboxes?sort=quota");
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ["query", "sort"], msg: expect.stringContaining("primary_email") }]);
});

test("shows a caller with narrow grants only the mailboxes in their scopes, each once, and the totals agree", async () => {
  const { account, domains } = await withMailboxes(["a", "b", "c"], ["d", "e"], ["f", "g"], ["h"]);
  const [single, domain, workspace, hidden] = domains;
  if (!single || !domain || !workspace || !hidden) throw new Error("no domains");
  const view = (type: "workspace" | "domain" | "mailbox", id = "") => ({
    capability: "mailbox.view" as const,
    scope: { type, id },
  });
  const member = await newMember(
    account,
    view("mailbox", single.ids[2]),
    view("mailbox", single.ids[0]),
    view("mailbox", domain.ids[0]),
    view("mailbox", workspace.ids[0]),
    view("domain", domain.id),
    view("domain", workspace.id),
    view("workspace", workspace.workspace_id),
    { capability: "domain.view", scope: { type: "domain", id: hidden.id } },
    { capability: "mailbox.update", scope: { type: "mailbox", id: hidden.ids[0] ?? "" } },
  );
  const seen = [...workspace.emails, ...domain.emails, single.emails[0], single.emails[2]];
  const all = await listed(account, {}, member);
  expect([emailsIn(all), all.total]).toEqual([seen, 6]);
  for (const [index, email] of seen.entries()) {
    const one = await listed(account, { page_size: "1", page: String(index + 1) }, member);
    expect([emailsIn(one), one.total]).toEqual([[email], 6]);
  }
  expect(emailsIn(await listed(account, { page_size: "4", page: "2" }, member))).toEqual(seen.slice(4));

  const filtered: [filter: Record<string, string>, emails: (string | undefined)[]][] = [
    [{ domain: single.name }, [single.emails[0], single.emails[2]]],
    [{ domain: domain.id }, domain.emails],
    [{ domain: hidden.name }, []],
    [{ workspace_id: single.workspace_id }, [single.emails[0], single.emails[2]]],
    [{ workspace_id: workspace.workspace_id }, workspace.emails],
    [{ workspace_id: hidden.workspace_id }, []],
    [{ search: "b@" }, []],
    [{ search: "d@" }, [domain.emails[0]]],
    [{ search: "lovelace" }, seen],
    [{ search: single.emails[0] ?? "" }, [single.emails[0]]],
    [{ search: single.emails[1] ?? "" }, []],
    [{ search: "a@", domain: single.id }, [single.emails[0]]],
  ];
  for (const [filter, emails] of filtered) {
    const page = await listed(account, filter, member);
    expect([emailsIn(page), page.total], JSON.stringify(filter)).toEqual([emails, emails.length]);
  }
});

test("the mailboxes of a moved domain are listed in its new workspace, also for callers who see only one workspace", async () => {
  const { account, domains } = await withMailboxes(["a", "b"], ["c"]);
  const [moved, stays] = domains;
  if (!moved || !stays) throw new Error("no domains");
  const scope = (id: string) => ({ capability: "mailbox.view" as const, scope: { type: "workspace" as const, id } });
  const from = await newMember(account, scope(moved.workspace_id));
  const to = await newMember(account, scope(stays.workspace_id));
  await domainsRequest(account, "POST", `/${moved.name}/move`, { workspace_id: stays.workspace_id });
  const both = [...stays.emails, ...moved.emails];
  expect(await listed(account, { workspace_id: moved.workspace_id })).toMatchObject({ items: [], total: 0 });
  expect(emailsIn(await listed(account, { workspace_id: stays.workspace_id }))).toEqual(both);
  expect(await listed(account, {}, from)).toMatchObject({ items: [], total: 0 });
  expect(emailsIn(await listed(account, {}, to))).toEqual(both);
  const { items } = await listed(account);
  expect(items.map(({ workspace_id }) => workspace_id)).toEqual(Array(3).fill(stays.workspace_id));
});

test("the pages of a workspace go across its domains, also if some of them have no mailboxes", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const emails: string[] = [];
  for (const count of [0, 2, 0, 1, 2, 0]) {
    const { name } = await home(account, { workspaceId });
    const locals = Array.from({ length: count }, (_, index) => `p${index}`);
    await stocked(account, name, locals);
    emails.push(...locals.map((local) => `${local}@${name}`));
  }
  const pages = await Promise.all(
    ["1", "2", "3"].map((page) => listed(account, { workspace_id: workspaceId, page, page_size: "2" })),
  );
  expect(pages.map(emailsIn)).toEqual([emails.slice(0, 2), emails.slice(2, 4), emails.slice(4)]);
  expect(pages.map(({ total }) => total)).toEqual([5, 5, 5]);
});

test("refuses an invalid filter at its place", async () => {
  const account = await newAccount();
  const cases: [query: string, name: string][] = [
    ["page=0", "page"],
    ["page_size=101", "page_size"],
    ["domain=x", "domain"],
    ["domain=com", "domain"],
    ["workspace_id=x", "workspace_id"],
    ["search=", "search"],
    ["search=%20", "search"],
    [`search=${"a".repeat(321)}`, "search"],
    ["status=gone", "status"],
    ["sort=quota", "sort"],
    ["order=newest", "order"],
  ];
  for (const [query, name] of cases) {
    expect(await refusalOf(account, query), query).toEqual([422, [["query", name]]]);
  }
});
