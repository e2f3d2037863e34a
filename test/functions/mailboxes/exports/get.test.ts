import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { runExport } from "../../../../functions/workers/make-mailbox-export.ts";
import { filesHere } from "../../../../shared/billing/services.ts";
import { exportKey } from "../../../../shared/mail/mailboxes/export.ts";
import { isGenuine, readEmbedded } from "../../../../shared/providers/files/embedded.ts";
import { readCsv } from "../../../support/csv.ts";
import { queuedExport } from "../../../support/mailbox-examples.ts";
import { home, send, stocked } from "../../../support/mailboxes.ts";
import {
  newAccount,
  newMember,
  newServiceAccount,
  testTable,
  type Account,
  type User,
} from "../../../support/world.ts";

const get = (account: Account, id: string, as?: User) =>
  send(account, "GET", `mailboxes/exports/${id}`, undefined, as ? { as } : {});

const run = ({ id: accountId }: Account, id: string) =>
  runExport(accountId, id, { table: testTable(), files: filesHere(), now: () => new Date() });

const change = (account: Account, id: string, set: Record<string, unknown>) =>
  testTable().attempt({ update: exportKey(account.id, id), set });

async function scene() {
  const account = await newAccount();
  const { id: domainId, name } = await home(account);
  await stocked(account, name, ["ada", "bob"]);
  return { account, domainId, name, id: await queuedExport(account) };
}

test("shows a queued export, and when it is done its number of rows and its download URL", async () => {
  const { account, name, id } = await scene();
  const queued = await get(account, id);
  expect([queued.status, queued.body]).toEqual([
    200,
    {
      id,
      status: "queued",
      row_count: 0,
      csv: null,
      download_url: null,
      created_at: expect.stringMatching(/Z$/),
      finished_at: null,
      expires_at: expect.stringMatching(/Z$/),
    },
  ]);
  await run(account, id);
  const { body } = await get(account, id);
  expect(body).toEqual({
    ...queued.body,
    status: "done",
    row_count: 2,
    download_url: expect.any(String),
    finished_at: expect.stringMatching(/Z$/),
  });
  const url = new URL(body.download_url);
  const key = url.pathname.replace("/_local/files/", "");
  const file = (await readEmbedded(process.env["FILES_DIR"] ?? "", key))?.toString() ?? "";
  expect(readCsv(file).map(([, email]) => email)).toEqual(["email", `ada@${name}`, `bob@${name}`]);
});

test("the download URL is signed for an hour, and its file name has the day of the export", async () => {
  const { account, id } = await scene();
  await run(account, id);
  const before = Math.floor(Date.now() / 1_000);
  const { download_url, created_at } = (await get(account, id)).body;
  const { pathname, searchParams } = new URL(download_url);
  const { expires = "", filename = "", signature = "" } = Object.fromEntries(searchParams);
  const key = pathname.replace("/_local/files/", "");
  const ticket = { key, filename, expires: Number(expires), signature };
  const secret = Buffer.from(process.env["FILES_KEY"] ?? "", "base64");
  expect(isGenuine(secret, ticket)).toBe(true);
  expect(isGenuine(secret, { ...ticket, key: key.replace(id, account.id) })).toBe(false);
  expect(key).toMatch(new RegExp(`^exports/${account.id}/${id}/[0-9a-f-]{36}\\.csv$`));
  expect(filename).toBe(`mailboxes-${created_at.slice(0, 10)}.csv`);
  expect(ticket.expires - before).toBeGreaterThanOrEqual(3_600);
  expect(ticket.expires - before).toBeLessThan(3_660);
});

test("shows an export to the caller who requested the export, and to callers who can export the whole account", async () => {
  const { account, domainId, id } = await scene();
  const scope = { type: "domain" as const, id: domainId };
  const may = { capability: "mailbox.export" as const };
  const [asker, neighbour, everything, viewer] = [
    await newMember(account, { ...may, scope }),
    await newMember(account, { ...may, scope }),
    await newServiceAccount(account, may),
    await newMember(account, { capability: "mailbox.view" }),
  ];
  const grants = [{ id: "a", capability: "mailbox.export", scope }];
  await change(account, id, { requested_by: asker.id, permissions: { everything: false, grants } });
  for (const who of [asker, everything, account.owner]) expect((await get(account, id, who)).status).toBe(200);
  expect((await get(account, id, neighbour)).body).toMatchObject({ status: 404, code: "not_found" });
  expect((await get(account, id, viewer)).body).toMatchObject({ required_capability: "mailbox.export" });
});

test("404 for the caller who requested the export, after one of the caller's permissions to export has ended", async () => {
  const { account, domainId, id } = await scene();
  const { id: otherId } = await home(account);
  const may = { capability: "mailbox.export" as const };
  const asker = await newMember(account, { ...may, scope: { type: "domain", id: domainId } });
  const held = (type: string, scopeId: string) => ({
    id: scopeId,
    role: "editor",
    scope: { type, id: scopeId },
  });
  const cases: [permissions: object, status: number][] = [
    [{ everything: false, grants: [held("domain", domainId)] }, 200],
    [{ everything: false, grants: [held("domain", domainId), held("domain", otherId)] }, 404],
    [{ everything: false, grants: [{ id: "whole", ...may }] }, 404],
    [{ everything: true, grants: [] }, 404],
    [{ everything: false, grants: [held("domain", domainId), { id: "other", capability: "mailbox.view" }] }, 200],
  ];
  for (const [permissions, status] of cases) {
    await change(account, id, { requested_by: asker.id, permissions });
    expect((await get(account, id, asker)).status, JSON.stringify(permissions)).toBe(status);
    expect((await get(account, id)).status).toBe(200);
  }
});

test("200 for the caller who requested the export, after a permission was replaced by a wider one, or the resource of a permission was deleted", async () => {
  const { account, domainId, id } = await scene();
  const { id: otherId, workspace_id } = await home(account);
  const asker = await newMember(account, {
    capability: "mailbox.export",
    scope: { type: "workspace", id: workspace_id },
  });
  const grantOn = (type: string, scopeId: string) => ({ id: scopeId, role: "editor", scope: { type, id: scopeId } });
  const cases: [grants: object[], status: number][] = [
    [[grantOn("domain", otherId)], 200],
    [[grantOn("domain", otherId), grantOn("mailbox", randomUUID()), grantOn("domain", randomUUID())], 200],
    [[grantOn("domain", otherId), grantOn("domain", domainId)], 404],
  ];
  for (const [grants, status] of cases) {
    await change(account, id, { requested_by: asker.id, permissions: { everything: false, grants } });
    expect((await get(account, id, asker)).status, JSON.stringify(grants)).toBe(status);
  }
});

test("404 for the caller who requested the export, after a permission on a deleted mailbox was revoked", async () => {
  const { account, name, id } = await scene();
  const { id: otherId } = await home(account);
  const [mailboxId = ""] = await stocked(account, name, ["cy"]);
  const may = (type: "domain" | "mailbox", of: string) => ({
    capability: "mailbox.export" as const,
    scope: { type, id: of },
  });
  const [kept, lost] = [
    await newMember(account, may("domain", otherId), may("mailbox", mailboxId)),
    await newMember(account, may("domain", otherId)),
  ];
  const grants = [may("domain", otherId), may("mailbox", mailboxId)].map((one) => ({ id: one.scope.id, ...one }));
  await send(account, "DELETE", `mailboxes/${mailboxId}`);
  for (const [asker, status] of [[kept, 200] as const, [lost, 404] as const]) {
    await change(account, id, { requested_by: asker.id, permissions: { everything: false, grants } });
    expect((await get(account, id, asker)).status).toBe(status);
  }
});

test("404 for an expired export, an export of another account, and a missing one", async () => {
  const { account, id } = await scene();
  const other = await scene();
  for (const missing of [other.id, account.id]) expect((await get(account, missing)).status).toBe(404);
  await run(account, id);
  await change(account, id, { expires_at: new Date(Date.now() - 1).toISOString() });
  expect((await get(account, id)).body).toMatchObject({ status: 404, code: "not_found" });
  expect((await get(account, "x")).body.detail).toMatchObject([{ loc: ["path", "export_id"] }]);
});
