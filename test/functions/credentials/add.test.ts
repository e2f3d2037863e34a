import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { masterKey, StoredMaster } from "../../../shared/mail/credentials/credential.ts";
import { isPassword } from "../../../shared/mail/mailboxes/password.ts";
import type { WideScope } from "../../../shared/mail/scoped/family.ts";
import { newWorkspace } from "../../support/auth.ts";
import { publishedDocument } from "../../support/contract.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { home, isOwnPassword, send } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const strong = "correct horse battery";

const add = (account: Account, body: object, options = {}) =>
  send(account, "POST", "credentials", { name: "Relay", ...body }, options);

const mastersOf = async (account: Account, scope: WideScope) => {
  const { PK, SK } = masterKey(account.id, scope);
  return (await testTable().between(PK, SK, `${SK}~`)).map((row) => StoredMaster.parse(row));
};

test("shows a generated password only once, and stores only its hash", async () => {
  const account = await newAccount();
  const { status, body, headers, text } = await add(account, { name: "  Relay  ", generate: true });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: "Relay",
    scope_type: "account",
    scope_id: account.id,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: body.created_at,
    active: true,
    expires_at: null,
    last_used_at: null,
    generated_secret: expect.stringMatching(/^[a-km-zA-HJ-NP-Z2-9]{20}$/),
  });
  expect(headers["cache-control"]).toBe("no-store");
  const { generated_secret: secret, ...rest } = body;
  const [master] = await mastersOf(account, { type: "account", id: account.id });
  expect(await isOwnPassword(account, secret, master?.hash ?? "")).toBe(true);
  expect(JSON.stringify(await storedOf(account))).not.toContain(secret);
  expect((await send(account, "GET", "credentials")).body.items).toEqual([rest]);
  const [change] = await recorded(account);
  expect(change).toMatchObject({ type: "credential.created", resource_id: body.id, after: rest });
  expect(text).toContain(secret);
});

test("a master password can be inactive from the beginning, and its expiry must be in the future", async () => {
  const account = await newAccount();
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const given = { name: "Relay", generate: true, active: false, expires_at };
  expect((await add(account, given)).body).toMatchObject({ active: false, expires_at });
  const past = await add(account, { ...given, expires_at: new Date(Date.now() - 1).toISOString() });
  expect([past.status, past.body.detail[0].loc]).toEqual([422, ["body", "expires_at"]]);
});

test("a given password is in no answer, and counts untrimmed and in any Unicode composition", async () => {
  const account = await newAccount();
  const value = " Ünïcode pass phrase ";
  const { status, body, text } = await add(account, { value });
  expect([status, body.generated_secret]).toEqual([201, undefined]);
  expect(text).not.toContain("pass phrase");
  const [master] = await mastersOf(account, { type: "account", id: account.id });
  expect(await isPassword(value.normalize("NFD"), master?.hash ?? "")).toBe(true);
  expect(await isPassword(value.trim(), master?.hash ?? "")).toBe(false);
  expect(JSON.stringify(await storedOf(account))).not.toContain("pass phrase");
});

test("is for the account, for a workspace, or for a domain with any spelling of its name or its id", async () => {
  const account = await newAccount();
  const { id, name, workspace_id } = await home(account);
  const cases: [given: object, scope_type: string, scope_id: string][] = [
    [{}, "account", account.id],
    [{ workspace_id: workspace_id.toUpperCase() }, "workspace", workspace_id],
    [{ domain: `${name.toUpperCase()}.` }, "domain", id],
    [{ domain: id }, "domain", id],
  ];
  for (const [given, scope_type, scope_id] of cases) {
    const { status, body } = await add(account, { generate: true, ...given });
    expect([status, body.scope_type, body.scope_id]).toEqual([201, scope_type, scope_id]);
  }
  expect(await mastersOf(account, { type: "domain", id })).toHaveLength(2);
});

const refused: [body: object, member: string, message: string][] = [
  [{}, "value", "Give a value or generate: true"],
  [{ generate: false }, "value", "Give a value or generate: true"],
  [{ generate: true, value: strong }, "value", "Give either a value or generate: true, not both"],
  [{ value: "short pass" }, "value", "Write at least 12 characters"],
  [{ value: "" }, "value", "Write at least 12 characters"],
  [{ value: `${strong} `.repeat(13) }, "value", "Write at most 256 characters"],
  [{ value: "aaaaaaaaaaaa" }, "value", "Use at least 6 different characters"],
  [{ value: "abcabcabcabc" }, "value", "Use at least 6 different characters"],
  [{ value: "secret1secret1" }, "value", "The password is one text repeated. Choose another"],
  [{ value: "abcdefghijklmn" }, "value", "The password is a sequence of neighbouring characters. Choose another"],
  [{ value: "9876543210987" }, "value", "The password is a sequence of neighbouring characters. Choose another"],
  [{ value: `${strong}\u0000` }, "value", "Use only characters that can be typed, no control characters"],
  [{ value: `${strong}\n` }, "value", "Use only characters that can be typed, no control characters"],
  [{ value: `${strong}\ud800` }, "value", "Use only characters that can be typed, no control characters"],
  [{ generate: true, name: "" }, "name", "Write at least 1 character"],
  [{ generate: true, name: "a".repeat(101) }, "name", "Write at most 100 characters"],
  [{ generate: true, scope_type: "account" }, "scope_type", "This member is not known here"],
  [{ generate: true, domain: "x" }, "domain", "Write the name with its top-level domain, such as example.com"],
  [{ generate: true, workspace_id: "x" }, "workspace_id", "Not a UUID"],
];

test("refuses each invalid value with its own message, and stores nothing", async () => {
  const account = await newRoomyAccount();
  const before = await storedOf(account);
  for (const [body, member, msg] of refused) {
    const answer = await add(account, body);
    expect([answer.status, answer.body.detail], JSON.stringify(body)).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], msg })],
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("a too simple password has its own error type, and the API document tells which passwords these are", async () => {
  const account = await newAccount();
  for (const value of ["aaaaaaaaaaaa", "secret1secret1", "abcdefghijklmn"]) {
    expect((await add(account, { value })).body.detail).toMatchObject([{ type: "password_too_simple" }]);
  }
  const { MasterPasswordCreate } = publishedDocument().components.schemas;
  expect(JSON.stringify(MasterPasswordCreate?.["properties"])).toMatch(
    /12 to 256.*6 different.*repeated.*sequence.*password_too_simple/,
  );
});

test("refuses a domain and a workspace together", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await home(account);
  const { status, body } = await add(account, { generate: true, domain: name, workspace_id });
  expect([status, body.detail]).toEqual([
    422,
    [expect.objectContaining({ loc: ["body", "workspace_id"], msg: "Give either a domain or a workspace, not both" })],
  ]);
});

test("another account's domain or workspace gets the same answer as a missing one", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const theirs = await home(other);
  const cases: [given: object, member: string][] = [
    [{ domain: theirs.name }, "domain"],
    [{ domain: theirs.id }, "domain"],
    [{ domain: uniqueName() }, "domain"],
    [{ workspace_id: theirs.workspace_id }, "workspace_id"],
    [{ workspace_id: account.id }, "workspace_id"],
  ];
  const messages = new Set<string>();
  for (const [given, member] of cases) {
    const { status, body } = await add(account, { generate: true, ...given });
    expect([status, body.detail]).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], type: "not_found" })],
    ]);
    messages.add(body.detail[0].msg);
  }
  expect([...messages]).toEqual(["There is no such domain or workspace in this account, or you cannot see it"]);
});

test("is refused for a domain that is `releasing`", async () => {
  const account = await newAccount();
  const { id, name } = await home(account);
  await setStored(account, name, { status: "releasing", is_open: false });
  const { body } = await add(account, { generate: true, domain: id });
  expect(body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "releasing" });
});

test("a master password that is added while its workspace is deleted is deleted too, or is refused", async () => {
  const account = await newAccount();
  const workspace_id = await newWorkspace(account, "Sales");
  const [made, deleted] = await Promise.all([
    add(account, { generate: true, workspace_id }),
    send(account, "DELETE", `workspaces/${workspace_id}`),
  ]);
  expect([201, 422]).toContain(made.status);
  expect(deleted.status).toBe(200);
  expect((await send(account, "GET", "credentials")).body.total).toBe(0);
  expect(await mastersOf(account, { type: "workspace", id: workspace_id })).toEqual([]);
});

test("a repeated request with the same key makes no second password, and does not show the first again", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": randomUUID() };
  const first = await add(account, { generate: true }, { headers });
  const again = await add(account, { generate: true }, { headers });
  expect([first.status, again.status, again.body.code]).toEqual([201, 409, "secret_already_shown"]);
  expect((await send(account, "GET", "credentials")).body.total).toBe(1);
});

test("a repeated request with a given password is replayed, because its answer has no secret", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": randomUUID() };
  const first = await add(account, { value: "Correct-Horse-9-Staple" }, { headers });
  const again = await add(account, { value: "Correct-Horse-9-Staple" }, { headers });
  expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
  expect([first, again].map((one) => one.headers["idempotency-replayed"])).toEqual([undefined, "true"]);
  expect((await send(account, "GET", "credentials")).body.total).toBe(1);
  const other = await add(account, { value: "Another-Horse-9-Staple" }, { headers });
  expect([other.status, other.body.detail[0].type]).toEqual([422, "idempotency_key_reused"]);
});

test("a scope can have 50 master passwords, and another scope has its own limit", async () => {
  const account = await newAccount();
  const { id, name } = await home(account);
  for (let index = 0; index < 49; index++) {
    const credential_id = randomUUID();
    const key = masterKey(account.id, { type: "domain", id }, credential_id);
    await write({ put: { ...key, credential_id, hash: "none", tag: "" } });
  }
  const answers = [
    await add(account, { generate: true, domain: name }),
    await add(account, { generate: true, domain: name }),
  ];
  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [201, undefined],
    [409, "limit_reached"],
  ]);
  expect((await add(account, { generate: true })).status).toBe(201);
});

test("needs credential.manage on its scope", async () => {
  const account = await newAccount();
  const { id, name, workspace_id } = await home(account);
  const other = await home(account);
  const manager = await newMember(
    account,
    { capability: "credential.manage", scope: { type: "domain", id } },
    { capability: "credential.view", scope: { type: "domain", id } },
  );
  const by = (given: object) => add(account, { generate: true, ...given }, { as: manager });
  expect((await by({ domain: name })).status).toBe(201);
  expect((await by({ domain: other.name })).body.detail).toMatchObject([{ loc: ["body", "domain"] }]);
  expect((await by({ workspace_id })).body.detail).toMatchObject([{ loc: ["body", "workspace_id"] }]);
  const needed = { status: 403, code: "forbidden", required_capability: "credential.manage" };
  expect((await by({})).body).toMatchObject(needed);
  const blind = await newMember(account, { capability: "credential.manage", scope: { type: "domain", id } });
  expect((await add(account, { generate: true }, { as: blind })).body).toMatchObject(needed);
  const viewer = await newMember(account, { capability: "credential.view" });
  expect((await add(account, { generate: true, domain: name }, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "credential.manage",
  });
});
