import { globSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { declaredLimits, requestClasses } from "../../../shared/limits/limits.ts";
import { limitClasses } from "../../../shared/rate-limits/classes.ts";
import { setOwnLimit } from "../../../shared/rate-limits/own-limits.ts";
import { newWorkspace } from "../../support/auth.ts";
import { ruleTo, stranger } from "../../support/forwarding.ts";
import { inviting } from "../../support/invitations.ts";
import { request } from "../../support/request.ts";
import { grant, newAccount, newMember, testTable, type Account } from "../../support/world.ts";
import { classTable, listTable } from "./page.ts";

type Shown = { name: string; used: number | null; limit: number | null };
type ShownRequests = { class: string; per_minute: number; burst: number; is_own: boolean };

async function limitsOf({ id, owner }: Account, token = owner.token) {
  const { status, body } = await request("GET", `/v1/public/accounts/${id}/limits`, { token });
  expect(status).toBe(200);
  return body as { limits: Shown[]; requests: ShownRequests[] };
}

const usedIn = ({ limits }: { limits: Shown[] }) =>
  Object.fromEntries(limits.flatMap(({ name, used }) => (used === null ? [] : [[name, used]])));

test("shows the use of each limit that counts for the whole account", async () => {
  const account = await newAccount();
  const before = usedIn(await limitsOf(account));
  expect(Object.keys(before)).toEqual(expect.arrayContaining(["tags", "webhooks", "domains", "master_passwords"]));
  expect(new Set(Object.values(before))).toEqual(new Set([0]));
  const workspace_id = await newWorkspace(account, "Sales");
  const path = `/v1/public/accounts/${account.id}`;
  const { token } = account.owner;
  for (const name of ["red", "blue"]) await request("POST", `${path}/tags`, { token, body: { name } });
  await request("POST", `${path}/credentials`, { token, body: { name: "Relay", generate: true, workspace_id } });
  expect(usedIn(await limitsOf(account))).toEqual({ ...before, workspaces: 1, tags: 2, master_passwords: 1 });
});

test("a verification mail and an invitation count towards the same limit", async () => {
  const account = await newAccount();
  await ruleTo(account, stranger());
  await inviting(account, stranger(), { roles: [{ role_key: "viewer" }] });
  expect(usedIn(await limitsOf(account))).toMatchObject({ forwarding_mails: 2, forwarding_rules: 1 });
});

test("does not count items that the caller may not see", async () => {
  const account = await newAccount();
  const id = await newWorkspace(account, "Sales");
  const narrow = await newMember(account, { capability: "domain.view", scope: { type: "workspace", id } });
  expect(usedIn(await limitsOf(account, narrow.token))).toEqual({ tags: 0 });
  const viewer = await newMember(account, { role: "viewer" });
  const hidden = new Set(["master_passwords", "groups", "roles", "webhooks", "forwarding_mails"]);
  const seen = Object.keys(usedIn(await limitsOf(account))).filter((name) => !hidden.has(name));
  expect(Object.keys(usedIn(await limitsOf(account, viewer.token)))).toEqual(seen);
});

test("counts verification mails and invitations for a caller who may see both", async () => {
  const account = await newAccount();
  await ruleTo(account, stranger());
  const member = await newMember(account, { capability: "forwarding.view" });
  expect(usedIn(await limitsOf(account, member.token))).not.toHaveProperty("forwarding_mails");
  await grant(account, member, { capability: "auth.manage" });
  expect(usedIn(await limitsOf(account, member.token))).toMatchObject({ forwarding_mails: 1 });
});

test("shows every limit to every member of the account, and to nobody else", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const { limits } = await limitsOf(account, viewer.token);
  expect(limits.map(({ name, limit }) => [name, limit])).toEqual(declaredLimits.map(({ name, most }) => [name, most]));
  const { owner } = await newAccount();
  expect(await request("GET", `/v1/public/accounts/${account.id}/limits`, owner)).toMatchObject({ status: 404 });
});

test("shows the limits on requests, and which of them are the account's own", async () => {
  const account = await newAccount();
  await setOwnLimit(testTable(), account.id, "search", { perMinute: 7, burst: 5 });
  const { requests } = await limitsOf(account);
  expect(requests.map((one) => one.class)).toEqual(Object.keys(requestClasses));
  const { search, sensitive } = Object.fromEntries(requests.map((one) => [one.class, one]));
  expect(search).toMatchObject({ per_minute: 7, burst: 5, is_own: true });
  const { perMinute: per_minute, burst } = limitClasses.sensitive;
  expect(sensitive).toMatchObject({ per_minute, burst, is_own: false });
});

test("every limit that refuses with limit_reached is declared", () => {
  const refusing = globSync("{functions,shared}/**/*.ts").filter((file) =>
    /new Problem\(\s*"limit_reached"/.test(readFileSync(file, "utf8")),
  );
  expect(refusing.length).toBeGreaterThan(8);
  const declared = readFileSync("shared/limits/limits.ts", "utf8");
  const constants = (file: string): string[] =>
    [...readFileSync(file, "utf8").matchAll(/"limit_reached",\s*`[^`]*?\$\{([\w.]+)/g)].map(([, name = ""]) => name);
  for (const file of refusing) {
    for (const name of constants(file)) expect([file, name, declared.includes(name)]).toEqual([file, name, true]);
  }
});

const shownPer: Record<string, string> = { account_and_day: "account and day", service_account: "service account" };

const page = readFileSync("docs/limits.md", "utf8");

/** The rows of the table whose head begins with `head`. The cells have no padding. */
function rowsBelow(head: string): string[][] {
  const lines = page.split("\n");
  const from = lines.findIndex((line) => line.replaceAll(/\s+/g, " ").startsWith(head));
  expect([head, from]).not.toEqual([head, -1]);
  const rows = lines.slice(from + 2);
  return rows.slice(0, rows.indexOf("")).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("the page about limits has the same numbers", () => {
  const count = (most: number | null, unit: string): string =>
    most === null ? "none" : `${most.toLocaleString("en-US")}${unit === "bytes" ? " bytes" : ""}`;
  expect(rowsBelow("| Class | Requests")).toEqual(
    Object.entries(requestClasses).map(([name, counts]) => {
      const { perMinute, burst } = limitClasses[name as keyof typeof requestClasses];
      return [`\`${name}\``, String(perMinute), String(burst), counts];
    }),
  );
  expect(rowsBelow("| Limit | For each")).toEqual(
    declaredLimits.map(({ name, per, most, unit, description }) => [
      `\`${name}\``,
      shownPer[per] ?? per,
      count(most, unit),
      description,
    ]),
  );
});

test("the page about limits has every operation outside the default class, and every list in a body that has a limit", () => {
  expect(rowsBelow("| Class | Operations")).toEqual(classTable());
  expect(rowsBelow("| Operation | Member")).toEqual(listTable());
});
