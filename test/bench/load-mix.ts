import { randomUUID } from "node:crypto";

import { ApiError, connect, type HostedMail } from "#client";

import type { Demo } from "../../infra/local/seed/demo.ts";

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

type Path = { account_id: string };
/** Sends a request that has to be answered, or refused with a status. */
type Send = <T>(name: string, call: () => Promise<T>, refusedWith?: number) => Promise<T | undefined>;
type Caller = { api: HostedMail; stranger: HostedMail; path: Path; send: Send };
type Scene = (caller: Caller) => Promise<unknown>;

type Owner = { accountId: string; token: string };

/** More owners for the demo's accounts: one person's rate limit is soon used up. */
export async function newOwners(baseUrl: string, { accounts }: Demo, each: number): Promise<Owner[]> {
  const owners: Owner[] = [];
  for (const { id: account_id, owner } of accounts) {
    const api = connect({ baseUrl, token: owner.token });
    for (let count = 0; count < each; count++) {
      const subject_id = randomUUID();
      const body = { grant_kind: "account_owner", subject_type: "user", subject_id } as const;
      await api.auth.authorizations.grant({ path: { account_id }, body });
      owners.push({ accountId: account_id, token: await tokenOf(baseUrl, subject_id) });
    }
  }
  return owners;
}

async function tokenOf(baseUrl: string, sub: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${baseUrl}/_local/tokens`, { method: "POST", headers, body: JSON.stringify({ sub }) });
  return ((await answer.json()) as { token: string }).token;
}

/** A mix of reads, writes that are undone again, programs and mistakes, by all owners in turn. */
export function newLoad(baseUrl: string, owners: readonly Owner[]): Load {
  const [times, unexpected, mix]: [number[], string[], Record<string, number>] = [[], [], {}];
  const timed = async (request: Request): Promise<Response> => {
    const startedAt = performance.now();
    const { body, status, statusText, headers } = await fetch(request);
    const text = body === null ? null : await new Response(body).text();
    times.push(performance.now() - startedAt);
    return new Response(text, { status, statusText, headers });
  };
  const send: Send = async (name, call, refusedWith) => {
    mix[name] = (mix[name] ?? 0) + 1;
    try {
      const answer = await call();
      if (refusedWith !== undefined) unexpected.push(`${name}: answered, not refused with ${refusedWith}`);
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== refusedWith) unexpected.push(`${name}: ${error.message.slice(0, 200)}`);
      return undefined;
    }
  };
  const as = (token: string): HostedMail => connect({ baseUrl, token, retries: 0, fetch: timed });
  const stranger = as("nobody");
  const callers = owners.map(({ accountId, token }) => ({
    api: as(token),
    stranger,
    path: { account_id: accountId },
    send,
  }));
  let count = 0;
  const next = async (): Promise<void> => {
    const turn = count++;
    const caller = callers[turn % callers.length];
    if (!caller) throw new Error("there is nobody to call");
    await scenes[turn % scenes.length]?.(caller);
  };
  return { next, times, unexpected, mix };
}

const query = { page: 1, page_size: 25 };

/** A workspace from its creation to its end. */
const workspace: Scene = async ({ api, path, send }) => {
  const name = `Soak ${randomUUID()}`;
  const made = await send("workspaces.add", () => api.workspaces.add({ path, body: { name } }));
  const one = { ...path, workspace_id: made?.data.id ?? "" };
  await send("workspaces.get", () => api.workspaces.get({ path: one }));
  await send("workspaces.update", () => api.workspaces.update({ path: one, body: { name: `${name} again` } }));
  await send("workspaces.delete", () => api.workspaces.delete({ path: one }));
  await send("workspaces.get, deleted", () => api.workspaces.get({ path: one }), 404);
};

const tag: Scene = async ({ api, path, send }) => {
  const made = await send("tags.add", () => api.tags.add({ path, body: { name: `Soak ${randomUUID()}` } }));
  await send("tags.delete", () => api.tags.delete({ path: { ...path, tag_id: made?.data.id ?? "" } }));
};

const program: Scene = ({ api, path: { account_id }, send }) => {
  const code = `workspaces.list(account_id="${account_id}")\ndomains.list(account_id="${account_id}")\nme.get()`;
  return send("a program", () => api.code.a2a({ body: { request_id: randomUUID(), session_id: "soak", code } }));
};

const mistakes: Scene = async ({ api, stranger, path, send }) => {
  await send("with a bad token", () => stranger.workspaces.list({ path }), 401);
  await send("a bad body", () => api.workspaces.add({ path, body: { name: "" } }), 422);
  await send("another's account", () => api.workspaces.list({ path: { account_id: randomUUID() } }), 404);
};

/** Three quarters of all requests read. */
const scenes: readonly Scene[] = [
  ({ api, path, send }) => send("workspaces.list", () => api.workspaces.list({ path, query })),
  ({ api, send }) => send("me.get", () => api.me.get()),
  ({ api, path, send }) => send("domains.list", () => api.domains.list({ path, query })),
  workspace,
  ({ api, path, send }) => send("mailboxes.list", () => api.mailboxes.list({ path, query })),
  ({ api, path, send }) => send("audit.list", () => api.audit.list({ path, query })),
  ({ api, path, send }) => send("accounts.get", () => api.accounts.get({ path })),
  ({ api, send }) => send("accounts.list", () => api.accounts.list()),
  tag,
  ({ api, path, send }) => send("tags.list", () => api.tags.list({ path, query })),
  ({ api, path, send }) => send("dns_records.list", () => api.dns_records.list({ path, query })),
  program,
  ({ api, path, send }) => send("webhooks.list", () => api.webhooks.list({ path, query })),
  ({ api, path, send }) => send("billing.transactions.list", () => api.billing.transactions.list({ path, query })),
  mistakes,
];
