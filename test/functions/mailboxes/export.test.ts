import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../functions/mailboxes/export.ts";
import { changesOf, StoredChange } from "../../../shared/changes/record.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { newWorkspace } from "../../support/auth.ts";
import { readCsv } from "../../support/csv.ts";
import { uniqueName } from "../../support/domains.ts";
import { at, home, listed, person, send, stocked } from "../../support/mailboxes.ts";
import { answerOf, eventOf } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account, type User } from "../../support/world.ts";

type Options = { as?: User; headers?: Record<string, string> };

const ask = (account: Account, filter: object = {}, options: Options = {}) =>
  send(account, "POST", "mailboxes/export", filter, options);

/** The addresses in an export, in its order. */
async function emailsOf(account: Account, filter: object = {}, as?: User): Promise<string[]> {
  const { status, body, text } = await ask(account, filter, as ? { as } : {});
  if (status !== 200) throw new Error(text);
  const [header, ...rows] = readCsv(body.csv);
  expect(rows).toHaveLength(body.row_count);
  return rows.map((row) => row[header?.indexOf("email") ?? -1] ?? "");
}

const columns = [
  "id",
  "email",
  "local_part",
  "domain",
  "workspace",
  "first_name",
  "last_name",
  "status",
  "aliases",
  "quota_allowed",
  "quota_used",
  "created_at",
  "updated_at",
];

test("few mailboxes are in the answer as CSV: a header, then a line for each, oldest first", async () => {
  const account = await newAccount();
  const { name } = await home(account, { workspaceId: await newWorkspace(account, 'Sales, "EU"') });
  const [ada = ""] = await stocked(account, name, ["ada", "bob"]);
  for (const alias of ["sales", "*"]) await send(account, "POST", at(ada, "/aliases"), { alias });
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  const { status, body } = await ask(account);
  expect([status, body]).toEqual([
    200,
    {
      id: null,
      status: "done",
      row_count: 2,
      csv: expect.any(String),
      download_url: null,
      created_at: expect.stringMatching(/Z$/),
      finished_at: body.created_at,
      expires_at: null,
    },
  ]);
  const [first, second] = (await listed(account)).items;
  const gibibytes = String(10 * 2 ** 30);
  const place = [name, 'Sales, "EU"'];
  expect(readCsv(body.csv)).toEqual([
    columns,
    [
      ada,
      `ada@${name}`,
      "ada",
      ...place,
      "Ada",
      "Lovelace",
      "paused",
      `sales@${name} *@${name}`,
      gibibytes,
      "0",
      first?.created_at,
      first?.updated_at,
    ],
    [
      second?.id,
      `bob@${name}`,
      "bob",
      ...place,
      "Ada",
      "Lovelace",
      "active",
      "",
      gibibytes,
      "0",
      second?.created_at,
      second?.updated_at,
    ],
  ]);
});

test("is the file itself for who asks for text/csv, with nothing else", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  const { csv } = (await ask(account)).body;
  const asText = async (accept: string) => {
    const { token } = account.owner;
    const path = `/v1/public/accounts/${account.id}/mailboxes/export`;
    return answerOf(await handler(eventOf("POST", path, { token, body: {}, headers: { accept } })));
  };
  for (const accept of ["text/csv", "TEXT/CSV; header=present", "application/json;q=0.1, text/csv"]) {
    const { status, headers, text } = await asText(accept);
    expect([status, headers["content-type"], text], accept).toEqual([200, "text/csv; charset=utf-8", csv]);
  }
  for (const accept of ["*/*", "application/json", "text/*", "text/csvx"]) {
    expect((await ask(account, {}, { headers: { accept } })).body.csv, accept).toBe(csv);
  }
});

test("an account without mailboxes exports the header", async () => {
  const account = await newAccount();
  const { body } = await ask(account);
  expect([body.csv, body.row_count]).toEqual([`${columns.join(",")}\r\n`, 0]);
});

test("a cell that a spreadsheet would take for a formula begins with an apostrophe, and every other one is as it is", async () => {
  const account = await newAccount();
  const { name } = await home(account, { workspaceId: await newWorkspace(account, "=HYPERLINK(0)") });
  const cells: [given: string, exported: string][] = [
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["＝1", "'＝1"],
    ['="a",1', '\'="a",1'],
    ['say "hi"', 'say "hi"'],
    ["a,b", "a,b"],
    ["a=b", "a=b"],
    ["'quoted", "'quoted"],
    ["Zoë 🦊", "Zoë 🦊"],
    ['"', '"'],
  ];
  await stocked(
    account,
    name,
    cells.map(([given], index) => person(`p${index}`, { first_name: given, last_name: given })),
  );
  const { csv } = (await ask(account)).body;
  const [header = [], ...rows] = readCsv(csv);
  const column = (wanted: string) => rows.map((row) => row[header.indexOf(wanted)]);
  for (const wanted of ["first_name", "last_name"])
    expect(column(wanted)).toEqual(cells.map(([, exported]) => exported));
  expect(new Set(column("workspace"))).toEqual(new Set(["'=HYPERLINK(0)"]));
});

test("exports what the list shows by the same filters", async () => {
  const account = await newAccount();
  const label = uniqueName("x", "example-x.com");
  const [first, second] = [await home(account, { name: `bücher-${label}` }), await home(account)];
  await stocked(account, first.name, [person("ada", { last_name: "O’Neill" }), "bob", "dada"]);
  await stocked(account, second.name, ["ada"]);
  const filters: Record<string, string>[] = [
    {},
    { domain: first.name },
    { domain: `bücher-${label}` },
    { domain: second.id },
    { workspace_id: first.workspace_id },
    { domain: first.id, workspace_id: first.workspace_id },
    { domain: first.id, workspace_id: second.workspace_id },
    { search: "AD" },
    { search: `ada@${first.name}` },
    { search: `ADA@bücher-${label}` },
    { search: "@bücher" },
    { search: "o’neill" },
    { search: "ada", workspace_id: second.workspace_id },
    { search: "nobody" },
  ];
  for (const filter of filters) {
    const { items } = await listed(account, filter);
    expect(await emailsOf(account, filter), JSON.stringify(filter)).toEqual(
      items.map(({ primary_email }) => primary_email),
    );
  }
});

test("someone with narrow grants exports what these cover, each once", async () => {
  const account = await newAccount();
  const [single, domain, workspace, hidden] = [
    await home(account),
    await home(account),
    await home(account),
    await home(account),
  ];
  const ids = await stocked(account, single.name, ["a", "b", "c"]);
  for (const { name } of [domain, workspace, hidden]) await stocked(account, name, ["d"]);
  const may = (type: "workspace" | "domain" | "mailbox", id = "") => ({
    capability: "mailbox.export" as const,
    scope: { type, id },
  });
  const member = await newMember(
    account,
    may("mailbox", ids[2]),
    may("mailbox", ids[0]),
    may("domain", domain.id),
    may("workspace", workspace.workspace_id),
    may("domain", workspace.id),
    { capability: "mailbox.view" },
  );
  const own = [`d@${workspace.name}`, `d@${domain.name}`, `a@${single.name}`, `c@${single.name}`];
  expect(await emailsOf(account, {}, member)).toEqual(own);
  expect(await emailsOf(account, { search: "a@" }, member)).toEqual([own[2]]);
  expect(await emailsOf(account, { domain: single.name }, member)).toEqual(own.slice(2));
  expect(await emailsOf(account, { workspace_id: single.workspace_id }, member)).toEqual(own.slice(2));
  expect(await emailsOf(account, { workspace_id: domain.workspace_id }, member)).toEqual([own[1]]);
  const places = [{ domain: hidden.name }, { workspace_id: hidden.workspace_id }];
  for (const place of places) {
    const { status, body } = await ask(account, place, { as: member });
    expect([status, body.detail]).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", Object.keys(place)[0]], type: "not_found" })],
    ]);
  }
  const viewer = await newMember(account, { capability: "mailbox.view" });
  expect((await ask(account, {}, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.export",
  });
});

test("refuses what is no filter, and a place that is not there, at its place", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const theirs = await home(other);
  const cases: [filter: object, member: string, type: string][] = [
    [{ domain: "x" }, "domain", "value_error"],
    [{ domain: theirs.name }, "domain", "not_found"],
    [{ domain: uniqueName() }, "domain", "not_found"],
    [{ workspace_id: theirs.workspace_id }, "workspace_id", "not_found"],
    [{ search: "" }, "search", "string_too_short"],
    [{ search: "a\u0000" }, "search", "string_pattern_mismatch"],
    [{ format: "xlsx" }, "format", "extra_forbidden"],
  ];
  for (const [filter, member, type] of cases) {
    const { status, body } = await ask(account, filter);
    expect([status, body.detail], JSON.stringify(filter)).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], type })],
    ]);
  }
});

test("more than five hundred are queued, by one event, and a request sent again with its key is the same export", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(
    account,
    name,
    Array.from({ length: 501 }, (_, index) => `p${index}`),
  );
  const headers = { "idempotency-key": randomUUID(), accept: "text/csv" };
  const { status, body } = await ask(account, { search: "p" }, { headers });
  expect([status, body]).toEqual([
    200,
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "queued",
      row_count: 0,
      csv: null,
      download_url: null,
      created_at: expect.stringMatching(/Z$/),
      finished_at: null,
      expires_at: new Date(Date.parse(body.created_at) + 7 * 86_400_000).toISOString(),
    },
  ]);
  expect((await ask(account, { search: "p" }, { headers })).body).toEqual(body);
  const { rows } = await readEntries(testTable(), changesOf(account.id), { skip: 0, take: 100 }, new Date());
  const exports = rows
    .map((row) => StoredChange.parse(row))
    .filter(({ resource_type }) => resource_type === "mailbox_export");
  expect(exports).toMatchObject([{ type: "mailbox_export.requested", resource_id: body.id }]);
  expect((await ask(account, { search: "p1" })).body).toMatchObject({ status: "done", row_count: 111 });
});

test("says that it was exported, by whom and how much, and not what", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  await ask(account);
  const { rows } = await readEntries(testTable(), changesOf(account.id), { skip: 0, take: 1 }, new Date());
  expect(StoredChange.parse(rows[0])).toMatchObject({
    type: "mailbox_export.finished",
    action: "mailboxes.export",
    actor_id: account.owner.id,
    after: { row_count: 1 },
  });
  expect(JSON.stringify(rows[0])).not.toContain("ada@");
});
