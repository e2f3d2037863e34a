import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import type { Principal } from "../../../shared/auth/principal.ts";
import { claimKey } from "../../../shared/http/idempotency.ts";
import { type Route, holdsSecret } from "../../../shared/http/route.ts";
import { afterReading } from "../../support/between.ts";
import { callRest } from "../../support/call.ts";
import { storedOf } from "../../support/entry-points.ts";
import { examples } from "../../support/examples.ts";
import { request, strangerFor } from "../../support/request.ts";
import { grant, newAccount, newMember, testTable, type Account, type User } from "../../support/world.ts";

const posts = routes.filter(({ http }) => http.method === "POST");
const add = posts.find(({ name }) => name === "workspaces.add");
if (!add) throw new Error("workspaces.add is gone");

const path = ({ id }: Pick<Account, "id">) => `/v1/public/accounts/${id}/workspaces`;
const post = (account: Account, name: string, key: string, { token }: Pick<User, "token"> = account.owner) =>
  request("POST", path(account), { token, body: { name }, headers: { "idempotency-key": key } });
const namesIn = async (account: Account): Promise<string[]> =>
  (await request("GET", path(account), { token: account.owner.token })).body.items.map(
    ({ name }: { name: string }) => name,
  );

/** Sends the example of a route with a new key. `send` repeats the request. */
async function firstSent(route: Route) {
  const account = await newAccount();
  const example = (await examples[route.name]?.(account)) ?? {};
  const headers = { "idempotency-key": randomUUID() };
  const send = () => callRest(route, example, account.owner.token, headers);
  return { account, example, first: await send(), send };
}

describe.each(posts.map((route) => [route.name, route] as const))("%s with an Idempotency-Key", (_, route) => {
  let sent: ReturnType<typeof firstSent> | undefined;
  const sharedSent = () => (sent ??= firstSent(route));

  test("has its effect once, and answers a repeat with the same bytes unless they hold a secret", async () => {
    const { account, first, send } = await sharedSent();
    expect(first.status).toBe(route.http.status);
    expect(first.headers["idempotency-replayed"]).toBeUndefined();
    const after = await storedOf(account);
    const repeat = await send();
    if (holdsSecret(route, first.body)) {
      expect(repeat.body).toMatchObject({ status: 409, code: "secret_already_shown" });
    } else {
      expect(repeat).toMatchObject({ status: first.status, text: first.text });
      expect(repeat.headers["location"]).toBe(first.headers["location"]);
      expect(repeat.headers["idempotency-replayed"]).toBe("true");
    }
    expect(await storedOf(account)).toEqual(after);
  });

  test("stores no secret", async () => {
    const { account, example, first } = await sharedSent();
    const { body } = first;
    const caller = route.public ? strangerFor(example) : account.owner.id;
    const records = await testTable().between(`PRINCIPAL#${caller}`, "!", "~");
    expect(records.filter(({ state }) => state === "done")).toHaveLength(1);
    const secrets = [
      body.token,
      body.secret,
      body.setup_key,
      body.relay_login?.password,
      body.generated_secret,
      body.password,
      body.auth_code,
    ].filter((secret) => typeof secret === "string");
    for (const secret of secrets) expect(JSON.stringify(records)).not.toContain(secret);
    expect(secrets.length > 0).toBe(holdsSecret(route, body));
  });
});

test("fifty requests at once with one key have one effect", { timeout: 30_000 }, async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(account, "Sales", "one")));
  expect(await namesIn(account)).toEqual(["Sales"]);
  const done = answers.filter(({ status }) => status === 201);
  expect(done.length).toBeGreaterThanOrEqual(1);
  expect(new Set(done.map(({ text }) => text)).size).toBe(1);
  for (const { body, headers } of answers.filter(({ status }) => status !== 201)) {
    expect(body).toMatchObject({ status: 409, code: "idempotency_in_flight" });
    expect(headers["retry-after"]).toBe("1");
  }
});

test("a key that was used for another request is a 422 that names the header", async () => {
  const account = await newAccount();
  await post(account, "Sales", "k");
  const { status, body } = await post(account, "Support", "k");
  expect([status, body.detail[0].loc]).toEqual([422, ["header", "idempotency-key"]]);
  const elsewhere = await newAccount({ owner: account.owner });
  expect((await post(elsewhere, "Sales", "k")).status).toBe(422);
  expect(await namesIn(account)).toEqual(["Sales"]);
  expect(await namesIn(elsewhere)).toEqual([]);
});

test("a body with its members in another order is the same request", async () => {
  const account = await newAccount();
  const groups = `/v1/public/accounts/${account.id}/auth/groups`;
  const send = (body: string) =>
    request("POST", groups, { token: account.owner.token, body, headers: { "idempotency-key": "k" } });
  const first = await send('{"name":"A","description":"b"}');
  expect((await send('{"description":"b","name":"A"}')).text).toBe(first.text);
});

test("a key belongs to its principal and its route", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "workspace.manage" }, { capability: "auth.manage" });
  const mine = await post(account, "Mine", "k");
  const theirs = await post(account, "Theirs", "k", member);
  expect([mine.status, theirs.status]).toEqual([201, 201]);
  const group = await request("POST", `/v1/public/accounts/${account.id}/auth/groups`, {
    token: account.owner.token,
    body: { name: "Mine" },
    headers: { "idempotency-key": "k" },
  });
  expect(group.status).toBe(201);
});

test("a repeat by a caller who has lost the permission is refused", async () => {
  const account = await newAccount();
  const member = await newMember(account, { role: "manager" });
  expect((await post(account, "Sales", "k", member)).status).toBe(201);
  const list = `/v1/public/accounts/${account.id}/auth/role-assignments`;
  const [assignment] = (await request("GET", list, { token: account.owner.token })).body;
  await grant(account, member, { capability: "dns.view" });
  await request("DELETE", `${list}/${assignment.id}`, { token: account.owner.token });
  expect((await post(account, "Sales", "k", member)).body).toMatchObject({ status: 403, code: "forbidden" });
});

test("a refused request may be sent again with the same key once it is corrected", async () => {
  const account = await newAccount();
  const { id } = (await post(account, "Sales", "other")).body;
  expect((await post(account, "Sales", "k")).body).toMatchObject({ code: "workspace_name_taken" });
  await request("DELETE", `${path(account)}/${id}`, { token: account.owner.token });
  const again = await post(account, "Sales", "k");
  expect([again.status, again.headers["idempotency-replayed"]]).toEqual([201, undefined]);
  expect((await post(account, "", "k2")).status).toBe(422);
  expect((await post(account, "Support", "k2")).status).toBe(201);
});

/** Claims a key like a request that is still running or has died. */
async function claimAsOther(account: Account, key: string, now: Date): Promise<void> {
  const principal: Principal = { type: "user", id: account.owner.id, email: "", groups: [] };
  const input = { params: { account_id: account.id }, query: {}, body: { name: "Sales" }, headers: {} };
  const claimed = await claimKey(testTable(), { principal, route: add as Route, key, input, now });
  expect(claimed).not.toHaveProperty("replay");
}

test("while the first request runs, a repeat is a 409 that says when to try again", async () => {
  const account = await newAccount();
  await claimAsOther(account, "k", new Date());
  const { body, headers } = await post(account, "Sales", "k");
  expect(body).toMatchObject({ status: 409, code: "idempotency_in_flight", retry_after: 1 });
  expect(headers["retry-after"]).toBe("1");
});

test("a request that died before its effect is taken over", async () => {
  const account = await newAccount();
  await claimAsOther(account, "k", new Date(Date.now() - 60_000));
  expect((await post(account, "Sales", "k")).status).toBe(201);
  expect((await post(account, "Sales", "k")).headers["idempotency-replayed"]).toBe("true");
});

test("a key is forgotten after 24 hours, even while its record is still in the table", async () => {
  const account = await newAccount();
  await claimAsOther(account, "k", new Date(Date.now() - 86_400_001));
  expect((await post(account, "Another", "k")).status).toBe(201);
});

test.each(["", " ", "with space", "é", "x".repeat(256)])("the key %j is refused with a 422", async (key) => {
  const account = await newAccount();
  const { status, body } = await post(account, "Sales", key);
  expect([status, body.detail[0].loc]).toEqual([422, ["header", "idempotency-key"]]);
  expect(await namesIn(account)).toEqual([]);
});

describe("a program with a key", () => {
  const run = ({ owner }: Account, code: string, key: string) =>
    request("POST", "/v1/public/a2a", {
      token: owner.token,
      body: { request_id: "r", session_id: "s", code },
      headers: { "idempotency-key": key },
    });
  const adding = ({ id }: Account, ...names: string[]) =>
    names.map((name) => `workspaces.add(account_id="${id}", name="${name}")`).join("\n");

  test("answers the same envelope again, and does nothing twice", async () => {
    const account = await newAccount();
    const code = `${adding(account, "Sales", "Support")}\nworkspaces.list(account_id="${account.id}")`;
    const first = await run(account, code, "k");
    expect(first.body.status).toBe("completed");
    await post(account, "Later", "other");
    const again = await run(account, code, "k");
    expect([again.text, again.headers["idempotency-replayed"]]).toEqual([first.text, "true"]);
    expect(await namesIn(account)).toEqual(["Sales", "Support", "Later"]);
  });

  test("is a 422 when the key was used for another program", async () => {
    const account = await newAccount();
    await run(account, adding(account, "Sales"), "k");
    const { status, body } = await run(account, adding(account, "Support"), "k");
    expect([status, body.detail[0].loc]).toEqual([422, ["header", "idempotency-key"]]);
  });

  test("that failed may be sent again: finished writes are not repeated, and the other writes are done", async () => {
    const account = await newAccount();
    const other = (await post(account, "Support", "other")).body;
    const failed = await run(account, adding(account, "Sales", "Support"), "k");
    expect(failed.body).toMatchObject({ status: "failed", error: { code: "workspace_name_taken" } });
    await request("DELETE", `${path(account)}/${other.id}`, { token: account.owner.token });
    const again = await run(account, adding(account, "Sales", "Support"), "k");
    expect(again.body.status).toBe("completed");
    expect(await namesIn(account)).toEqual(["Sales", "Support"]);
  });

  test("whose envelope holds a secret is not kept", async () => {
    const account = await newAccount();
    const code = `auth.service_accounts.create(account_id="${account.id}", name="Backup")`;
    expect((await run(account, code, "k")).body.status).toBe("completed");
    expect((await run(account, code, "k")).body).toMatchObject({ status: 409, code: "secret_already_shown" });
  });
});

test("if two requests take over the claim of a dead request, one runs, and the other gets a 409", async () => {
  const account = await newAccount();
  await claimAsOther(account, "k", new Date(Date.now() - 60_000));
  const { status, body } = await afterReading(
    ({ SK }) => SK.startsWith("IDEMPOTENCY#"),
    () => claimAsOther(account, "k", new Date()),
    () => post(account, "Sales", "k"),
  );
  expect([status, body.code]).toEqual([409, "idempotency_in_flight"]);
  expect(await namesIn(account)).toEqual([]);
});

test("a different request cannot take over the claim of a dead request", async () => {
  const account = await newAccount();
  await claimAsOther(account, "k", new Date(Date.now() - 60_000));
  const { status, body } = await post(account, "Support", "k");
  expect([status, body.detail[0].loc]).toEqual([422, ["header", "idempotency-key"]]);
  expect(await namesIn(account)).toEqual([]);
  expect((await post(account, "Sales", "k")).status).toBe(201);
});
