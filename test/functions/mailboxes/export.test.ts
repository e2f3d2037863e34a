import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { exportKey, StoredExport } from "../../../shared/mail/mailboxes/export.ts";
import { asOwner, newWorkspace } from "../../support/auth.ts";
import { readCsv } from "../../support/csv.ts";
import { askExport } from "../../support/mailbox-exports.ts";
import { at, home, listed, person, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

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

test("an export of few mailboxes is in the answer as CSV: a header, then a line for each mailbox, oldest first", async () => {
  const account = await newAccount();
  const { name } = await home(account, { workspaceId: await newWorkspace(account, 'Sales, "EU"') });
  const [ada = ""] = await stocked(account, name, ["ada", "bob"]);
  for (const alias of ["sales", "*"]) await send(account, "POST", at(ada, "/aliases"), { alias });
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  const { status, body } = await askExport(account);
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

const fileFor = ["", "*/*", "text/*", "text/csv", "TEXT/CSV; header=present", "application/json;q=0.1, text/csv"];
const jsonFor = [
  "application/json",
  "application/json, text/csv;q=0.9",
  "application/*, */*;q=0.1",
  "text/csv;q=0, */*",
];
const undecided = [
  "application/json, text/csv",
  "application/json, text/plain, */*",
  "image/png",
  "application/json;q=0",
];

test("the answer is the file itself, as a download, unless the request prefers JSON", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  const { csv, created_at } = (await askExport(account)).body;
  const path = `/v1/public/accounts/${account.id}/mailboxes/export`;
  const sent = { token: account.owner.token, body: {} };
  const plain = await request("POST", path, sent);
  expect(plain.text).toBe(csv);
  for (const accept of [...fileFor, ...undecided]) {
    const { status, headers, text } = await request("POST", path, { ...sent, headers: { accept } });
    expect([status, text], accept).toEqual([200, csv]);
    expect(headers, accept).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="mailboxes-${created_at.slice(0, 10)}.csv"`,
      vary: "accept",
    });
  }
  for (const accept of jsonFor) {
    const { headers, body } = await request("POST", path, { ...sent, headers: { accept } });
    expect([headers["content-type"], headers["vary"], body.csv], accept).toEqual(["application/json", "accept", csv]);
    expect(headers).not.toHaveProperty("content-disposition");
  }
});

test("an account without mailboxes exports only the header", async () => {
  const account = await newAccount();
  const { body } = await askExport(account);
  expect([body.csv, body.row_count]).toEqual([`${columns.join(",")}\r\n`, 0]);
});

test("a cell that a spreadsheet would take for a formula gets an apostrophe at its start, and other cells do not change", async () => {
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
  const { csv } = (await askExport(account)).body;
  const [header = [], ...rows] = readCsv(csv);
  const column = (wanted: string) => rows.map((row) => row[header.indexOf(wanted)]);
  for (const wanted of ["first_name", "last_name"])
    expect(column(wanted)).toEqual(cells.map(([, exported]) => exported));
  expect(new Set(column("workspace"))).toEqual(new Set(["'=HYPERLINK(0)"]));
});

test("an export of more than 500 mailboxes is queued by one event, and a repeat with its idempotency key returns the same export", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(
    account,
    name,
    Array.from({ length: 501 }, (_, index) => `p${index}`),
  );
  const headers = { "idempotency-key": randomUUID(), accept: "text/csv" };
  const { status, body, headers: answered } = await askExport(account, { search: "p" }, { headers });
  expect(answered["location"]).toBe(`/v1/public/accounts/${account.id}/mailboxes/exports/${body.id}`);
  expect(answered).not.toHaveProperty("content-disposition");
  expect([status, body]).toEqual([
    202,
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
  const again = await askExport(account, { search: "p" }, { headers });
  expect([again.status, again.body, again.headers["location"]]).toEqual([202, body, answered["location"]]);
  const exports = (await recorded(account)).filter(({ resource_type }) => resource_type === "mailbox_export");
  expect(exports).toMatchObject([{ type: "mailbox_export.requested", resource_id: body.id }]);
  expect((await askExport(account, { search: "p1" })).body).toMatchObject({ status: "done", row_count: 111 });
});

test("a queued export stores only the caller's grants that allow to export", async () => {
  const account = await newAccount();
  const { id, name } = await home(account);
  await stocked(
    account,
    name,
    Array.from({ length: 501 }, (_, index) => `p${index}`),
  );
  const scope = { type: "domain" as const, id };
  const member = await newMember(
    account,
    { capability: "mailbox.view", scope },
    { capability: "mailbox.export", scope },
    { capability: "workspace.manage" },
  );
  const { body } = await askExport(account, {}, { as: member });
  const stored = await testTable().get(exportKey(account.id, body.id), StoredExport);
  expect(stored?.permissions).toMatchObject({
    everything: false,
    grants: [{ capability: "mailbox.export", scope }],
  });
});

test("a request sent again with its key gets no mailbox that the caller may not see any more", async () => {
  const account = await newAccount();
  const inOwnWorkspace = async () => home(account, { workspaceId: await newWorkspace(account, randomUUID()) });
  const places = [await inOwnWorkspace(), await inOwnWorkspace()];
  for (const { name } of places) await stocked(account, name, ["ada"]);
  const [kept, lost] = places.map(({ workspace_id: id }) => ({ type: "workspace", id }) as const);
  const member = await newMember(account, { capability: "mailbox.export", ...(kept && { scope: kept }) });
  const granted = await asOwner(account, "POST", "authorizations", {
    grant_kind: "capability",
    subject_type: "user",
    subject_id: member.id,
    capability_key: "mailbox.export",
    resource_type: "workspace",
    resource_id: lost?.id,
  });
  const headers = { "idempotency-key": randomUUID() };
  const program = { request_id: randomUUID(), session_id: "s", code: `mailboxes.export(account_id="${account.id}")` };
  const ask = async () => {
    const exported = await askExport(account, {}, { headers, as: member });
    const ran = await request("POST", "/v1/public/a2a", { token: member.token, body: program });
    return [exported.body.row_count, ran.body.responses[0].result.row_count];
  };
  expect(await ask()).toEqual([2, 2]);
  await asOwner(account, "DELETE", `authorizations/${granted.id}`);
  expect(await ask()).toEqual([1, 1]);
});

test("records the export with its actor and its number of rows, and without its contents", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  await askExport(account);
  const [change] = await recorded(account);
  expect(change).toMatchObject({
    type: "mailbox_export.finished",
    action: "mailboxes.export",
    actor_id: account.owner.id,
    after: { row_count: 1 },
  });
  expect(JSON.stringify(change)).not.toContain("ada@");
});

test.each(["suspended", "closed"] as const)(
  "is refused in a %s account, in which mailboxes can be listed",
  async (status) => {
    const account = await newAccount();
    const { name } = await home(account);
    await stocked(account, name, ["ada"]);
    await setAccountStatus(testTable(), account.id, status, new Date());
    const { status: refused, body } = await askExport(account);
    expect([refused, body.code]).toEqual([403, "account_suspended"]);
    expect((await listed(account)).items).toMatchObject([{ primary_email: `ada@${name}` }]);
  },
);
