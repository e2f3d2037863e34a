import { randomUUID } from "node:crypto";

import type { Demo } from "../../infra/local/demo.ts";

type Call = { name: string; method: string; path: string; body?: unknown; token?: string | undefined; status: number };

type Load = {
  /** Makes the next call, or the few that belong together. */
  next: () => Promise<void>;
  /** Milliseconds of each request so far. */
  times: number[];
  /** Answers that were not what the request must get. */
  unexpected: string[];
  /** How often each kind of request was sent. */
  mix: Record<string, number>;
};

/** A mix of reads, writes that are undone again, programs and mistakes, as the owners of the demo accounts. */
export function newLoad(baseUrl: string, { accounts }: Demo): Load {
  const [times, unexpected, mix]: [number[], string[], Record<string, number>] = [[], [], {}];
  const send = async ({ name, method, path, body, token, status }: Call): Promise<Record<string, unknown>> => {
    mix[name] = (mix[name] ?? 0) + 1;
    const startedAt = performance.now();
    const answer = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    times.push(performance.now() - startedAt);
    if (answer.status !== status) unexpected.push(`${name}: ${answer.status} ${text.slice(0, 200)}`);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  let count = 0;
  const next = async (): Promise<void> => {
    const turn = count++;
    const account = accounts[turn % accounts.length];
    if (!account) throw new Error("there is no demo account");
    const scene = scenes[turn % scenes.length];
    await scene?.(send, { id: account.id, token: account.owner.token, turn });
  };
  return { next, times, unexpected, mix };
}

type Send = (call: Call) => Promise<Record<string, unknown>>;
type Caller = { id: string; token: string; turn: number };
type Scene = (send: Send, caller: Caller) => Promise<void>;

const under = (id: string, path: string): string => `/v1/public/accounts/${id}/${path}`;

const get =
  (name: string, pathOf: (caller: Caller) => string, status = 200): Scene =>
  async (send, caller) => {
    await send({ name, method: "GET", path: pathOf(caller), token: caller.token, status });
  };

const page =
  (name: string, path: string): Scene =>
  (send, caller) =>
    get(name, ({ id }) => under(id, `${path}?page=1&page_size=25`))(send, caller);

/** A workspace from its creation to its end. */
const workspace: Scene = async (send, { id, token }) => {
  const path = under(id, "workspaces");
  const body = { name: `Soak ${randomUUID()}` };
  const made = await send({ name: "workspaces.add", method: "POST", path, token, body, status: 201 });
  const one = `${path}/${String(made["id"])}`;
  await send({ name: "workspaces.get", method: "GET", path: one, token, status: 200 });
  const renamed = { name: `${body.name} again` };
  await send({ name: "workspaces.update", method: "PATCH", path: one, token, body: renamed, status: 200 });
  await send({ name: "workspaces.delete", method: "DELETE", path: one, token, status: 200 });
  await send({ name: "workspaces.get, deleted", method: "GET", path: one, token, status: 404 });
};

const tag: Scene = async (send, { id, token }) => {
  const path = under(id, "tags");
  const body = { name: `Soak ${randomUUID()}` };
  const made = await send({ name: "tags.add", method: "POST", path, token, body, status: 201 });
  await send({ name: "tags.delete", method: "DELETE", path: `${path}/${String(made["id"])}`, token, status: 200 });
};

const program: Scene = async (send, { id, token }) => {
  const code = [`workspaces.list(account_id="${id}")`, `domains.list(account_id="${id}")`, "me.get()"].join("\n");
  const body = { request_id: randomUUID(), session_id: "soak", code };
  await send({ name: "a program", method: "POST", path: "/v1/public/a2a", token, body, status: 200 });
};

const mistakes: Scene = async (send, { id, token }) => {
  const path = under(id, "workspaces");
  await send({ name: "without a token", method: "GET", path, status: 401 });
  await send({ name: "a bad body", method: "POST", path, token, body: { name: 7 }, status: 422 });
  await send({ name: "another's account", method: "GET", path: under(randomUUID(), "workspaces"), token, status: 404 });
};

/** Three quarters of all requests read. */
const scenes: readonly Scene[] = [
  page("workspaces.list", "workspaces"),
  get("me.get", () => "/v1/public/me"),
  page("domains.list", "domains"),
  workspace,
  page("mailboxes.list", "mailboxes"),
  page("audit.list", "audit-log"),
  get("accounts.get", ({ id }) => `/v1/public/accounts/${id}`),
  get("accounts.list", () => "/v1/public/accounts"),
  tag,
  page("tags.list", "tags"),
  page("dns_records.list", "dns-records"),
  program,
  page("webhooks.list", "webhooks"),
  page("billing.transactions.list", "billing/transactions"),
  mistakes,
];
