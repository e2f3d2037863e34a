import { afterEach, describe, expect, test, vi } from "vitest";

import { changeJournalOf } from "../../../shared/changes/record.ts";
import { timeOrderedId } from "../../../shared/core/ids.ts";
import { appendEntries } from "../../../shared/table/journal.ts";
import { entryPoints, through } from "../../support/entry-points.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, newServiceAccount, testTable, type Account, type User } from "../../support/world.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Stops the clock a minute from now, after the setup of the test. Returns functions that move it on and read it. */
function stopClock() {
  const startMs = Date.now() + 60_000;
  const iso = (seconds: number) => new Date(startMs + seconds * 1000).toISOString();
  vi.useFakeTimers({ toFake: ["Date"], now: startMs });
  return { iso, tick: (seconds: number) => vi.setSystemTime(startMs + seconds * 1000) };
}

const pathOf = ({ id }: Account, rest: string): string => `/v1/public/accounts/${id}/${rest}`;

const addWorkspace = async (account: Account, { token }: User, name: string): Promise<string> =>
  (await request("POST", pathOf(account, "workspaces"), { token, body: { name } })).body.id;

const logOf = (account: Account, query: string, token = account.owner.token) =>
  request("GET", pathOf(account, `audit-log?${query}`), { token });

test("a long user agent is cut to 300 characters, and a half of a character at the end becomes U+FFFD", async () => {
  const account = await newAccount();
  const headers = { "user-agent": `${"x".repeat(299)}😀` };
  await request("POST", pathOf(account, "workspaces"), {
    token: account.owner.token,
    headers,
    body: { name: "Sales" },
  });
  const { items } = (await logOf(account, "action=workspaces.add")).body;
  expect(items[0].user_agent).toBe(`${"x".repeat(299)}\ufffd`);
});

test("shows the actor, the change, the time, the request and the address, newest first", async () => {
  const account = await newAccount();
  const { iso, tick } = stopClock();
  const sent = { token: account.owner.token, headers: { "user-agent": "Tester/1.0" } };
  const added = await request("POST", pathOf(account, "workspaces"), { ...sent, body: { name: "Sales" } });
  tick(1);
  const path = pathOf(account, `workspaces/${added.body.id}`);
  const renamed = await request("PATCH", path, { ...sent, body: { name: "Support" } });
  tick(2);
  const deleted = await request("DELETE", path, sent);
  const { status, body } = await logOf(account, `since=${iso(0)}`);
  const same = {
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
    account_id: account.id,
    actor: { type: "user", id: account.owner.id, email: `${account.owner.id}@example.com` },
    resource: { type: "workspace", id: added.body.id },
    source_ip: "127.0.0.1",
    user_agent: "Tester/1.0",
  };
  const did = (action: string, event_type: string, seconds: number, { headers }: typeof added) => {
    return { ...same, action, event_type, occurred_at: iso(seconds), request_id: headers["x-request-id"] };
  };
  const items = [
    { ...did("workspaces.delete", "workspace.deleted", 2, deleted), before: renamed.body, after: null },
    { ...did("workspaces.update", "workspace.updated", 1, renamed), before: added.body, after: renamed.body },
    { ...did("workspaces.add", "workspace.created", 0, added), before: null, after: added.body },
  ];
  expect(status).toBe(200);
  expect(body).toEqual({ items, page: 1, page_size: 25, total: 3 });
});

test("names a service account as the actor, and has null for a missing User-Agent", async () => {
  const account = await newAccount();
  const program = await newServiceAccount(account, { capability: "workspace.manage" });
  const { iso } = stopClock();
  await addWorkspace(account, program, "Sales");
  const { body } = await logOf(account, `since=${iso(0)}`);
  const actor = { type: "service_account", id: program.id, email: `${program.publicId}@service-accounts.invalid` };
  expect(body).toMatchObject({ total: 1, items: [{ actor, user_agent: null }] });
});

test("has no entry for a read or a refused call", async () => {
  const account = await newAccount();
  const { token } = account.owner;
  const member = await newMember(account, { role: "viewer" });
  const { iso } = stopClock();
  const id = await addWorkspace(account, account.owner, "Sales");
  const path = pathOf(account, `workspaces/${id}`);
  const forgedPath = path.slice(0, -1) + (path.endsWith("0") ? "1" : "0");
  expect((await request("GET", path, { token })).status).toBe(200);
  const refused = [
    await request("POST", pathOf(account, "workspaces"), { token, body: { name: "Sales" } }),
    await request("PATCH", path, { token, body: { name: "" } }),
    await request("DELETE", path, { token: member.token }),
    await request("DELETE", forgedPath, { token }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([409, 422, 403, 404]);
  const { body } = await logOf(account, `since=${iso(0)}`);
  expect(body).toMatchObject({ total: 1, items: [{ event_type: "workspace.created" }] });
});

test("shows each account its own entries only, and only to members with auth.manage", async () => {
  const [mine, other] = [await newAccount(), await newAccount()];
  const member = await newMember(mine, { role: "manager" });
  const { iso } = stopClock();
  const id = await addWorkspace(mine, mine.owner, "Mine");
  const otherId = await addWorkspace(other, other.owner, "Other");
  expect((await logOf(mine, `since=${iso(0)}`)).body).toMatchObject({ total: 1, items: [{ resource: { id } }] });
  expect((await logOf(mine, `resource_id=${otherId}`)).body).toMatchObject({ total: 0, items: [] });
  expect((await logOf(mine, "", member.token)).body).toMatchObject({ status: 403, required_capability: "auth.manage" });
  expect((await logOf(mine, "", other.owner.token)).status).toBe(404);
});

describe.each(entryPoints)("by %s", (entryPoint) => {
  const list = async (account: Account, args: Record<string, unknown>) =>
    (await through(entryPoint)("audit.list", { account_id: account.id, ...args }, account.owner)).body;

  test("the pages together have every entry once, and the total is exact", async () => {
    const account = await newAccount();
    const { iso, tick } = stopClock();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      tick(index);
      ids.unshift(await addWorkspace(account, account.owner, `W${index}`));
    }
    const pages = [];
    for (const page of [1, 2, 3, 4]) pages.push(await list(account, { since: iso(0), page, page_size: 2 }));
    expect(pages.map(({ page, page_size, total }) => [page, page_size, total])).toEqual(
      [1, 2, 3, 4].map((page) => [page, 2, 5]),
    );
    const shown = pages.map(({ items }) => items.map((entry: { resource: { id: string } }) => entry.resource.id));
    expect(shown).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4), []]);
    for (const filter of [{}, { action: "workspaces.add" }]) {
      const { items } = await list(account, { since: iso(0), ...filter, order: "asc", page: 2, page_size: 2 });
      const second = items.map((entry: { resource: { id: string } }) => entry.resource.id);
      expect(second).toEqual(ids.toReversed().slice(2, 4));
    }
  });

  test("filters by actor, function, resource and time; an entry must match all given filters", async () => {
    const account = await newAccount();
    const member = await newMember(account, { role: "manager" });
    const { iso, tick } = stopClock();
    const first = await addWorkspace(account, account.owner, "First");
    tick(1);
    const second = await addWorkspace(account, member, "Second");
    tick(2);
    await request("DELETE", pathOf(account, `workspaces/${first}`), { token: member.token });
    const found = async (args: Record<string, unknown>) => {
      const { items, total } = await list(account, { since: iso(0), ...args });
      expect(total).toBe(items.length);
      return items.map((entry: { occurred_at: string }) => [iso(0), iso(1), iso(2)].indexOf(entry.occurred_at));
    };
    expect(await found({})).toEqual([2, 1, 0]);
    expect(await found({ actor_id: member.id.toUpperCase() })).toEqual([2, 1]);
    expect(await found({ action: "workspaces.add" })).toEqual([1, 0]);
    expect(await found({ resource_id: first })).toEqual([2, 0]);
    expect(await found({ resource_id: second, actor_id: account.owner.id })).toEqual([]);
    expect(await found({ since: iso(1) })).toEqual([2, 1]);
    expect(await found({ until: iso(1) })).toEqual([0]);
    expect(await found({ since: iso(1).replace("Z", "+00:00"), until: iso(2), action: "workspaces.add" })).toEqual([1]);
    expect(await found({ since: iso(3) })).toEqual([]);
  });

  test("refuses to filter more than 20,000 entries, and still counts them without a filter", async () => {
    const account = await newAccount();
    const now = new Date();
    const entries = Array.from({ length: 20_001 }, () => ({ id: timeOrderedId(now) }));
    // The counters of the entries are enough, because a refused search reads no entries.
    const counters = appendEntries(changeJournalOf(account.id), entries, now).filter((write) => "update" in write);
    await testTable().commit(async () => ({ value: undefined, writes: counters }));
    expect(await list(account, { action: "workspaces.add" })).toMatchObject({
      detail: [{ loc: ["query", "since"], msg: expect.stringContaining("Narrow the range with since and until") }],
    });
    expect((await list(account, {})).total).toBeGreaterThan(20_000);
  });

  test.each<[string, string, Record<string, string>?]>([
    ["actor_id", "somebody"],
    ["action", ""],
    ["resource_id", "x".repeat(101)],
    ["since", "yesterday"],
    ["until", "2026-02-30T00:00:00Z"],
    ["until", "2026-03-01T00:00:00Z", { since: "2026-03-01T00:00:00Z" }],
  ])("refuses %s=%s at its place", async (name, value, others = {}) => {
    const account = await newAccount();
    expect(await list(account, { [name]: value, ...others })).toMatchObject({
      detail: [{ loc: expect.arrayContaining([name]) }],
    });
  });
});

describe("a CSV file", () => {
  const csvOf = ({ id, owner }: Account, query = "") =>
    request("GET", `/v1/public/accounts/${id}/audit-log${query}`, {
      token: owner.token,
      headers: { accept: "text/csv" },
    });

  test("has all entries that match, not only a page, with the views as JSON and with formulas made harmless", async () => {
    const account = await newAccount();
    for (const name of ["One", "Two"]) await addWorkspace(account, account.owner, name);
    const { token } = account.owner;
    const headersOfThird = { "user-agent": "=1+1" };
    await request("POST", pathOf(account, "workspaces"), { token, body: { name: "Three" }, headers: headersOfThird });
    const { status, headers, text } = await csvOf(account, "?action=workspaces.add&page_size=1&order=asc");
    expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(headers["content-disposition"]).toBe('attachment; filename="audit-log.csv"');
    const [head = "", ...lines] = text.trimEnd().split("\r\n");
    expect(head).toMatch(/^occurred_at,action,event_type,actor_type,actor_id,actor_email,.*,before,after,.*,id$/);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain(`workspaces.add,workspace.created,user,${account.owner.id}`);
    expect(lines[0]).toContain(`""name"":""One""`);
    expect(lines[2]).toContain(",'=1+1,");
  });

  test("of more than 1,000 entries, or of more bytes than an answer can have, is refused with a 422 that says how many entries match", async () => {
    const account = await newAccount();
    const now = new Date();
    const entries = Array.from({ length: 1_001 }, (_, index) => ({
      id: timeOrderedId(now),
      type: "tag.created",
      account_id: account.id,
      at: now.toISOString(),
      action: index < 300 ? "tags.update" : "tags.add",
      // A quote has two bytes in JSON, three bytes in CSV, and six bytes in the JSON text of Lambda's answer.
      ...(index < 300 ? { after: JSON.stringify({ name: '"'.repeat(4_000) }) } : {}),
      actor_type: "user",
      actor_id: account.owner.id,
      request_id: String(index),
      resource_type: "tag",
      resource_id: String(index),
    }));
    for (let from = 0; from < entries.length; from += 40) {
      const writes = appendEntries(changeJournalOf(account.id), entries.slice(from, from + 40), now);
      await testTable().commit(async () => ({ value: undefined, writes }));
    }
    // The new account has two entries of its own.
    const refused: [query: string, msg: RegExp][] = [
      ["", /^1003 entries match, and a file has at most 1000\./],
      ["?action=tags.update", /^300 entries match, and together they are too large for a file\./],
    ];
    for (const [query, msg] of refused) {
      const { status, body } = await csvOf(account, query);
      expect([status, body.detail]).toMatchObject([422, [{ loc: ["query", "since"], type: "too_many" }]]);
      expect(body.detail[0].msg).toMatch(msg);
    }
    expect((await csvOf(account, "?action=tags.add")).status).toBe(200);
  });
});
