import { expect, test } from "vitest";

import { credentials, masterKey } from "../../../shared/mail/credentials/credential.ts";
import { scopedKey } from "../../../shared/mail/scoped/family.ts";
import type { Key } from "../../../shared/table/writes.ts";
import { afterReading } from "../../support/between.ts";
import { storedOf } from "../../support/entry-points.ts";
import { home, send } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const domain = await home(account);
  const body = { name: "Relay", generate: true, domain: domain.name };
  const { generated_secret: _, ...made } = (await send(account, "POST", "credentials", body)).body;
  const rename = (name: unknown, options = {}, id = made.id) =>
    send(account, "PATCH", `credentials/${id}`, { name }, options);
  return { account, domain, made, rename };
}

test("renames a master password, and changes nothing else", async () => {
  const { account, made, rename } = await scene();
  const { status, body, text } = await rename("  Newsletter ");
  expect([status, body]).toEqual([200, { ...made, name: "Newsletter", updated_at: body.updated_at }]);
  expect(text).not.toMatch(/secret|version/);
  expect((await send(account, "GET", "credentials")).body.items).toEqual([body]);
});

test("concurrent renames end in one of the names", async () => {
  const { account, rename } = await scene();
  const names = ["A", "B", "C", "D"];
  expect(statusesOf(await Promise.all(names.map((name) => rename(name))))).toEqual([200, 200, 200, 200]);
  expect(names).toContain((await send(account, "GET", "credentials")).body.items[0].name);
});

test("a rename keeps the time of the last use", async () => {
  const { account, made, rename } = await scene();
  const last_used_at = new Date().toISOString();
  await testTable().attempt({ update: scopedKey(credentials, account.id, made.id), set: { last_used_at } });
  expect((await rename("Other")).body).toMatchObject({ name: "Other", last_used_at });
  expect((await send(account, "GET", "credentials")).body.items).toMatchObject([{ name: "Other", last_used_at }]);
});

test("404 for a missing master password, for another account's, and for one that the caller cannot see", async () => {
  const { account, made, rename } = await scene();
  const other = await scene();
  for (const id of [other.made.id, account.id]) expect((await rename("X", {}, id)).body.code).toBe("not_found");
  expect((await other.rename("X", {}, made.id)).status).toBe(404);
  const scope = { type: "domain" as const, id: (await home(account)).id };
  const elsewhere = await newMember(account, { capability: "credential.manage", scope });
  expect((await rename("X", { as: elsewhere })).status).toBe(404);
});

test("needs credential.manage on the scope of the master password", async () => {
  const { account, domain, rename } = await scene();
  for (const scope of [
    { type: "domain" as const, id: domain.id },
    { type: "workspace" as const, id: domain.workspace_id },
  ]) {
    const manager = await newMember(account, { capability: "credential.manage", scope });
    expect((await rename(`By ${scope.type}`, { as: manager })).status).toBe(200);
  }
  const viewer = await newMember(account, { capability: "credential.view" });
  expect((await rename("X", { as: viewer })).body.required_capability).toBe("credential.manage");
});

test("refuses invalid values, and members that cannot be changed", async () => {
  const { account, made, rename } = await scene();
  const before = await storedOf(account);
  for (const name of ["", "  ", "a".repeat(101), "a\nb", 1, null]) {
    const { status, body } = await rename(name);
    expect([status, body.detail?.[0].loc]).toEqual([422, ["body", "name"]]);
  }
  for (const [member, value] of [
    ["active", "no"],
    ["active", null],
    ["expires_at", "tomorrow"],
    ["expires_at", new Date(Date.now() - 1).toISOString()],
  ] as const) {
    const { status, body } = await send(account, "PATCH", `credentials/${made.id}`, { name: "X", [member]: value });
    expect([status, body.detail?.[0].loc]).toEqual([422, ["body", member]]);
  }
  for (const member of ["value", "generate", "scope_id"]) {
    const { body } = await send(account, "PATCH", `credentials/${made.id}`, { name: "X", [member]: "x" });
    expect(body.detail).toMatchObject([{ loc: ["body", member], type: "extra_forbidden" }]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("each of two concurrent renames records the name that it replaced", async () => {
  const { account, made, rename } = await scene();
  const { status, body } = await afterReading(
    ({ SK }) => SK === scopedKey(credentials, account.id, made.id).SK,
    () => rename("Second"),
    () => rename("Third"),
  );
  expect([status, body.name]).toEqual([200, "Third"]);
  const told: { event_type: string; before: { name: string }; after: { name: string } }[] = (
    await send(account, "GET", "audit-log?page_size=100")
  ).body.items;
  const renames = told.filter(({ event_type }) => event_type === "credential.updated");
  expect(renames.map(({ before, after }) => `${before.name} → ${after.name}`).toReversed()).toEqual([
    "Relay → Second",
    "Second → Third",
  ]);
});

test("switches a master password off and on, sets and removes its expiry, and changes nothing else", async () => {
  const { account, made } = await scene();
  const change = async (body: object) => (await send(account, "PATCH", `credentials/${made.id}`, body)).body;
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const off = await change({ active: false });
  expect(off).toEqual({ ...made, active: false, updated_at: off.updated_at });
  expect(await change({ expires_at })).toMatchObject({ name: made.name, active: false, expires_at });
  expect(await change({ name: "Other" })).toMatchObject({ name: "Other", active: false, expires_at });
  const on = await change({ active: true, expires_at: null });
  expect(on).toMatchObject({ name: "Other", active: true, expires_at: null });
  expect(await change({})).toEqual(on);
  expect(await change({ active: true, name: "Other" })).toEqual(on);
  expect((await recorded(account, "credential.updated")).length).toBe(4);
});

test("a change also updates the item that logins read, even if another change came first", async () => {
  const { account, made } = await scene();
  const path = `credentials/${made.id}`;
  const isRead = ({ SK }: Key) => SK === scopedKey(credentials, account.id, made.id).SK;
  const rename = () => send(account, "PATCH", path, { name: "Other" });
  const off = await afterReading(isRead, rename, () => send(account, "PATCH", path, { active: false }));
  expect(off.body).toMatchObject({ name: "Other", active: false });
  const scope = { type: made.scope_type, id: made.scope_id };
  expect(await testTable().getMany([masterKey(account.id, scope, made.id)])).toMatchObject([{ active: false }]);
});
