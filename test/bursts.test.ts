import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { newGroup, newWorkspace } from "./support/auth.ts";
import { uniqueName } from "./support/domains.ts";
import { stranger } from "./support/forwarding.ts";
import { home, person, send } from "./support/mailboxes.ts";
import type { Answer } from "./support/request.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import type { Account } from "./support/world.ts";

/** The time for which the product tries before it answers 503 `busy` (`shared/table/table.ts`), in milliseconds. */
const contentionLimitMs = 15_000;

/**
 * Sends a request, and sends it again after a late 503 `busy`, as a client does. A `busy` before the product's time
 * limit is not repeated. On a busy machine, a hundred requests take longer than this limit.
 */
async function sendPatiently(account: Account, path: string, body: object): Promise<Answer> {
  const startedAt = performance.now();
  const answer = await send(account, "POST", path, body);
  const isLate = performance.now() - startedAt > contentionLimitMs;
  return answer.body.code === "busy" && isLate ? sendPatiently(account, path, body) : answer;
}

type Adding = (account: Account) => Promise<{ path: string; body: (index: number) => object }>;

/** Makes `count` workspaces. Returns a function that chooses one of them for each index, in turn. */
async function scopes(account: Account, count: number) {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(await newWorkspace(account, `Scope ${index}`));
  return (index: number) => ({ workspace_id: ids[index % count] });
}

/** For each list, the requests that add to it. The function first makes what these requests need. */
const lists: Record<string, Adding> = {
  workspaces: async () => ({ path: "workspaces", body: (index) => ({ name: `Workspace ${index}` }) }),
  domains: async (account) => {
    const workspace_id = await newWorkspace(account, "All");
    return { path: "domains", body: () => ({ name: uniqueName(), workspace_id }) };
  },
  mailboxes: async (account) => {
    const { name: domain } = await home(account);
    return { path: "mailboxes", body: (index) => ({ domain, ...person(`box${index}`) }) };
  },
  "DNS records": async (account) => {
    const { name: domain } = await home(account);
    const record = { domain, type: "A", value: "192.0.2.1" };
    return { path: "dns-records", body: (index) => ({ ...record, name: `host${index}` }) };
  },
  tags: async () => ({ path: "tags", body: (index) => ({ name: `Tag ${index}` }) }),
  // A scope has at most 50 master passwords and at most 20 forwarding rules.
  "master passwords": async (account) => {
    const scopeOf = await scopes(account, 2);
    return { path: "credentials", body: (index) => ({ name: `P ${index}`, generate: true, ...scopeOf(index) }) };
  },
  "forwarding rules": async (account) => {
    const scopeOf = await scopes(account, 5);
    return { path: "forwarding", body: (index) => ({ target_email: stranger(), ...scopeOf(index) }) };
  },
  groups: async () => ({ path: "auth/groups", body: (index) => ({ name: `Group ${index}` }) }),
  "members of a group": async (account) => ({
    path: `auth/groups/${(await newGroup(account, "Staff")).id}/members`,
    body: () => ({ subject_id: randomUUID(), subject_type: "user" }),
  }),
  "service accounts": async () => ({ path: "auth/service-accounts", body: (index) => ({ name: `Program ${index}` }) }),
};

test.each(Object.keys(lists))(
  "a hundred %s that are added at once are all stored",
  { timeout: 60_000 },
  async (name) => {
    const account = await newRoomyAccount();
    const { path, body } = await (lists[name] as Adding)(account);
    const count = async () => {
      const listed = await send(account, "GET", path);
      return Array.isArray(listed.body) ? listed.body.length : listed.body.total;
    };
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => sendPatiently(account, path, body(index))),
    );
    expect(answers.filter(({ status }) => status !== 201).map(({ text }) => text)).toEqual([]);
    expect(await count()).toBe(before + 100);
  },
);
