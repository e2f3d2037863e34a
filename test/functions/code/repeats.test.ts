import { describe, expect, test } from "vitest";

import { userKey } from "../../../shared/accounts/standing.ts";
import { uniqueName } from "../../support/domains.ts";
import { request, type Answer } from "../../support/request.ts";
import {
  grant,
  newAccount,
  newMember,
  newSuperAdmin,
  testTable,
  type Account,
  type User,
} from "../../support/world.ts";

type Sent = { id?: string; key?: string };

const send = ({ token }: Pick<User, "token">, code: string, { id = "r", key }: Sent = {}): Promise<Answer> =>
  request("POST", "/v1/public/a2a", {
    token,
    body: { request_id: id, session_id: "s", code },
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
  });
const isReplay = ({ headers }: Answer): boolean => headers["idempotency-replayed"] === "true";
const workspacesOf = ({ id }: Account): string => `workspaces.list(account_id="${id}")`;
const add = ({ id }: Account, name: string): string => `workspaces.add(account_id="${id}", name="${name}")`;

/** Adds a workspace over REST, and returns its id. */
async function addOverRest(account: Account, name: string): Promise<string> {
  const { body } = await request("POST", `/v1/public/accounts/${account.id}/workspaces`, {
    token: account.owner.token,
    body: { name },
  });
  return body.id;
}

async function revokeAll({ id, owner }: Account, member: Pick<User, "id">): Promise<void> {
  for (const kind of ["authorizations", "role-assignments"]) {
    const path = `/v1/public/accounts/${id}/auth/${kind}`;
    const { body } = await request("GET", `${path}?subject_id=${member.id}`, { token: owner.token });
    for (const { id: grant } of body) await request("DELETE", `${path}/${grant}`, { token: owner.token });
  }
}

async function assign({ id, owner }: Account, member: Pick<User, "id">, body: object): Promise<void> {
  const subject = { subject_type: "user", subject_id: member.id };
  const path = `/v1/public/accounts/${id}/auth/role-assignments`;
  const answer = await request("POST", path, { token: owner.token, body: { ...subject, ...body } });
  expect(answer.status).toBe(201);
}

describe("a repeat of a program by a caller who has lost permissions", () => {
  test.each([{}, { key: "k" }])("is refused, and does not get the stored answer (%j)", async (sent) => {
    const account = await newAccount();
    const member = await newMember(account, { role: "manager" }, { role: "viewer" });
    const code = `${workspacesOf(account)}\n${add(account, "Sales")}`;
    const first = await send(member, code, sent);
    expect(first.body.status).toBe("completed");
    expect(isReplay(await send(member, code, sent))).toBe(true);
    await revokeAll(account, member);
    const again = await send(member, code, sent);
    expect(isReplay(again)).toBe(false);
    expect(again.body).toMatchObject({ status: "failed", error: { code: "not_found" } });
    expect(again.text).not.toContain('Sales","status');
  });

  test("shows only the part that the caller can still see", async () => {
    const account = await newAccount();
    const one = await addOverRest(account, "One");
    await addOverRest(account, "Two");
    const member = await newMember(account, { role: "viewer" });
    expect((await send(member, workspacesOf(account))).body.result.last_value.total).toBe(2);
    await revokeAll(account, member);
    await assign(account, member, { role_key: "viewer", resource_type: "workspace", resource_id: one });
    const again = await send(member, workspacesOf(account));
    expect([isReplay(again), again.body.result.last_value.total]).toEqual([false, 1]);
  });

  test("is refused for a write to a deleted resource, if the caller now holds the capability only on another resource", async () => {
    const account = await newAccount();
    const [mine, other] = [await addOverRest(account, "Mine"), await addOverRest(account, "Other")];
    const member = await newMember(account, { role: "manager" });
    const code = `workspaces.delete(account_id="${account.id}", workspace_id="${mine}")`;
    expect((await send(member, code)).body.status).toBe("completed");
    await revokeAll(account, member);
    await assign(account, member, { role_key: "manager", resource_type: "workspace", resource_id: other });
    expect((await send(member, code)).body).toMatchObject({ status: "failed", error: { code: "not_found" } });
  });
});

describe("a stored answer with something that the caller cannot see any more is not returned:", () => {
  test("a list of accounts, after the caller has lost one of them", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const member = await newMember(account, { role: "viewer" });
    await grant(other, member, { role: "viewer" });
    const first = await send(member, "accounts.list()");
    expect(first.body.result.last_value.total).toBe(2);
    expect((await send(member, "accounts.list()")).text).toBe(first.text);
    await revokeAll(other, member);
    const again = await send(member, "accounts.list()");
    expect([isReplay(again), again.body.result.last_value.items]).toEqual([
      false,
      [expect.objectContaining({ id: account.id })],
    ]);
  });

  test("a list of all accounts, after the caller has stopped being a super admin", async () => {
    const { clientId } = await newAccount();
    const admin = await newSuperAdmin();
    const code = `accounts.list(client_id="${clientId}")`;
    expect((await send(admin, code)).body.result.last_value.total).toBe(1);
    expect(isReplay(await send(admin, code))).toBe(true);
    await testTable().attempt({ delete: userKey(admin.id) });
    const again = await send(admin, code);
    expect([isReplay(again), again.body.result.last_value.total]).toEqual([false, 0]);
  });

  test("a domain or its records, after the domain has moved to a workspace that the caller cannot see", async () => {
    const account = await newAccount();
    const [one, two] = [await addOverRest(account, "One"), await addOverRest(account, "Two")];
    const own = `account_id="${account.id}"`;
    const name = uniqueName();
    const domain = `domain="${name}"`;
    const { owner } = account;
    await send(owner, `domains.add(${own}, workspace_id="${one}", name="${name}")`);
    const member = await newMember(account, { role: "viewer", scope: { type: "workspace", id: one } });
    const programs = [
      `domains.get(${own}, ${domain})`,
      `domains.list(${own})`,
      `me.get()\ndns_records.list(${own}, ${domain})`,
    ];
    for (const code of programs) expect((await send(member, code)).body.status).toBe("completed");
    await send(owner, `domains.move(${own}, ${domain}, workspace_id="${two}")`);
    const answers = await Promise.all(programs.map((code) => send(member, code)));
    expect(answers.map(isReplay)).toEqual([false, false, false]);
    expect(answers[0]?.body.error).toMatchObject({ code: "not_found" });
    expect(answers[1]?.body.result.last_value.total).toBe(0);
  });

  test("but an answer about resources that cannot move out of the caller's scope is returned", async () => {
    const account = await newAccount();
    const one = await addOverRest(account, "One");
    const member = await newMember(account, { role: "manager", scope: { type: "workspace", id: one } });
    const code = `w = workspaces.get(account_id="${account.id}", workspace_id="${one}")\nworkspaces.update(account_id="${account.id}", workspace_id=w.id, name=f"{w.name} more")`;
    const first = await send(member, code);
    expect(first.body.result.last_value.name).toBe("One more");
    const again = await send(member, code);
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
  });

  test("and the program runs again, but makes its writes only once", async () => {
    const account = await newAccount();
    const one = await addOverRest(account, "One");
    const member = await newMember(account, { role: "manager", scope: { type: "workspace", id: one } });
    const domain = uniqueName();
    const code = `domains.list(account_id="${account.id}").total\ndomains.add(account_id="${account.id}", workspace_id="${one}", name="${domain}")`;
    const [first, again] = [await send(member, code), await send(member, code)];
    expect([isReplay(again), again.body.status]).toEqual([false, "completed"]);
    expect(again.body.responses[1]).toEqual(first.body.responses[1]);
    expect(again.body.responses[0].result.total).toBe(1);
  });
});

test("a repeat of a program that deleted a resource gets the same answer, if the caller still has the permission", async () => {
  const account = await newAccount();
  const member = await newMember(account, { role: "manager" }, { role: "viewer" });
  const mine = await addOverRest(account, "Mine");
  const code = `workspaces.delete(account_id="${account.id}", workspace_id="${mine}")\n${add(account, "Next")}`;
  const first = await send(member, code);
  expect(first.body.status).toBe("completed");
  await assign(account, member, { role_key: "billing_viewer" });
  const more = await send(member, code);
  expect([more.text, isReplay(more)]).toEqual([first.text, true]);
});

describe("with one Idempotency-Key", () => {
  const missing = "00000000-0000-4000-8000-000000000000";
  const failing = (account: Account) =>
    `${add(account, "Sales")}\nworkspaces.get(account_id="${account.id}", workspace_id="${missing}")`;

  test("a failed program can run again, another program is refused, and nothing is done twice", async () => {
    const account = await newAccount();
    const sent = { key: "k" };
    expect((await send(account.owner, failing(account), sent)).body).toMatchObject({ status: "failed" });
    for (const code of [`me.get()\n${add(account, "Sales")}`, add(account, "Other"), "me.get()"]) {
      const other = await send(account.owner, code, sent);
      expect(other).toMatchObject({ status: 422, body: { detail: [{ loc: ["header", "idempotency-key"] }] } });
    }
    const again = await send(account.owner, failing(account), sent);
    expect(again.body.responses).toMatchObject([{ status: "completed" }, { status: "failed" }]);
    expect((await send(account.owner, workspacesOf(account))).body.result.last_value.total).toBe(1);
  });

  test("a program with a mistake can be corrected, because none of it ran", async () => {
    const account = await newAccount();
    const sent = { key: "k" };
    expect((await send(account.owner, add(account, "Sales").replace("name", "nme"), sent)).body.status).toBe("failed");
    expect((await send(account.owner, add(account, "Sales"), sent)).body.status).toBe("completed");
  });

  test("the key counts for A2A messages too, and the message's id does not", async () => {
    const account = await newAccount();
    const message = (code: string, messageId: string) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: { messageId, role: "ROLE_USER", contextId: "c", parts: [{ data: { code, request_id: "r" } }] },
      },
    });
    const headers = { "a2a-version": "1.0", "idempotency-key": "k" };
    const { token } = account.owner;
    const tell = (code: string, id: string, more = {}) =>
      request("POST", "/v1/public/a2a", { token, headers: { ...headers, ...more }, body: message(code, id) });
    const first = await tell(add(account, "Sales"), "m1");
    const again = await tell(add(account, "Sales"), "m2");
    expect([again.body.result.task.artifacts, isReplay(again)]).toEqual([first.body.result.task.artifacts, true]);
    expect(await tell("me.get()", "m3")).toMatchObject({ status: 422 });
    expect((await tell("me.get()", "m4", { "idempotency-key": "a b" })).body.error).toMatchObject({ code: -32602 });
  });
});

describe("every request counts towards its caller's rate limit, and the answer has the state of the limit:", () => {
  /** Sends 150 requests at once. Returns the answers, grouped by their status. */
  async function flood(token: string, sent: { body: unknown; headers?: Record<string, string> }) {
    const answers = await Promise.all(
      Array.from({ length: 150 }, () => request("POST", "/v1/public/a2a", { token, ...sent })),
    );
    for (const { headers } of answers) expect(headers["ratelimit"]).toMatch(/^"default";r=\d+;t=\d+$/);
    return Map.groupBy(answers, ({ status }) => status);
  }

  test("an invalid envelope", async () => {
    const { owner } = await newAccount();
    const byStatus = await flood(owner.token, { body: {} });
    expect(new Set(byStatus.keys())).toEqual(new Set([422, 429]));
  });

  test("a key that was used for another program", async () => {
    const { owner } = await newAccount();
    await send(owner, "me.get()", { key: "k" });
    const body = { request_id: "r", session_id: "s", code: "accounts.list()" };
    const byStatus = await flood(owner.token, { body, headers: { "idempotency-key": "k" } });
    expect(new Set(byStatus.keys())).toEqual(new Set([422, 429]));
  });

  test("a notification, a body with a forbidden member, and a body that is no message", async () => {
    for (const body of ['{"jsonrpc":"2.0","method":"x"}', '{"jsonrpc":"2.0","__proto__":{}}', "[]", "{"]) {
      const { owner } = await newAccount();
      const { headers } = await request("POST", "/v1/public/mcp", { token: owner.token, body });
      expect(headers["ratelimit"], body).toContain("r=99;");
    }
  });

  test.each([1, 8, 60, 100])("a program of score %i is charged this score, and no more", async (score) => {
    const { owner } = await newAccount();
    const { headers } = await send(owner, "me.get()\n".repeat(score));
    const left = Number(/r=(\d+)/.exec(headers["ratelimit"] ?? "")?.[1]);
    expect(left).toBeGreaterThanOrEqual(100 - score);
    expect(left).toBeLessThan(100 - score + 5);
  });

  test("a program that costs more than the quota runs if half of the quota is left, and leaves a debt; a refused program writes nothing", async () => {
    const { owner } = await newAccount();
    const more = "me.get()\n".repeat(150);
    expect((await send(owner, more)).status).toBe(200);
    expect((await send(owner, "me.get()", { id: "after" })).status).toBe(429);
    const { owner: other } = await newAccount();
    await send(other, "me.get()\n".repeat(55), { id: "first" });
    expect((await send(other, more)).status).toBe(429);
    for (const { id } of [owner, other]) {
      expect(await testTable().between(`PRINCIPAL#${id}`, "IDEMPOTENCY#", "IDEMPOTENCY#~")).toHaveLength(1);
    }
  });
});
