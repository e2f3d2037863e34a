import { randomUUID } from "node:crypto";

import { ApiError, connect, type HostedMail } from "#client";

import type { Demo } from "../../infra/local/demo.ts";

type Owner = { accountId: string; token: string };
/** Sends a request that must succeed, or be refused with a status. */
type Send = <T>(name: string, call: () => Promise<T>, refusedWith?: number) => Promise<T | undefined>;
type Caller = { api: HostedMail; stranger: HostedMail; path: { account_id: string }; send: Send };
type Step = (caller: Caller) => Promise<unknown>;

/** More owners for the demo's accounts: one person's rate limit is soon used up. */
export async function newOwners(baseUrl: string, { accounts }: Demo, each: number): Promise<Owner[]> {
  const owners: Owner[] = [];
  const headers = { "content-type": "application/json" };
  for (const { id: account_id, owner } of accounts) {
    const api = connect({ baseUrl, token: owner.token });
    for (let count = 0; count < each; count++) {
      const sub = randomUUID();
      const body = { grant_kind: "account_owner", subject_type: "user", subject_id: sub } as const;
      await api.auth.authorizations.grant({ path: { account_id }, body });
      const asked = { method: "POST", headers, body: JSON.stringify({ sub }) };
      const { token } = (await (await fetch(`${baseUrl}/_local/tokens`, asked)).json()) as { token: string };
      owners.push({ accountId: account_id, token });
    }
  }
  return owners;
}

/**
 * A mix of reads, writes that are undone again, programs and mistakes, by all owners in turn. `next` sends the next
 * request, or the few that belong together. `times` are the milliseconds of each request so far, `mix` counts them by
 * kind, and `unexpected` lists the answers that are wrong.
 */
export function newLoad(baseUrl: string, owners: readonly Owner[]) {
  const [times, unexpected, mix]: [number[], string[], Record<string, number>] = [[], [], {}];
  const timedFetch = async (request: Request): Promise<Response> => {
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
  const as = (token: string): HostedMail => connect({ baseUrl, token, retries: 0, fetch: timedFetch });
  const stranger = as("nobody");
  const callers = owners.map(({ accountId, token }): Caller => {
    return { api: as(token), stranger, path: { account_id: accountId }, send };
  });
  let turn = -1;
  const next = async (): Promise<void> => {
    turn += 1;
    const [caller, step] = [callers[turn % callers.length], steps[turn % steps.length]];
    if (caller) await step?.(caller);
  };
  return { next, times, unexpected, mix };
}

const query = { page: 1, page_size: 25 };

/** A workspace from its creation to its deletion. */
const workspace: Step = async ({ api, path, send }) => {
  const name = `Soak ${randomUUID()}`;
  const made = await send("workspaces.add", () => api.workspaces.add({ path, body: { name } }));
  const one = { ...path, workspace_id: made?.data.id ?? "" };
  await send("workspaces.get", () => api.workspaces.get({ path: one }));
  await send("workspaces.update", () => api.workspaces.update({ path: one, body: { name: `${name} again` } }));
  await send("workspaces.delete", () => api.workspaces.delete({ path: one }));
  await send("workspaces.get, deleted", () => api.workspaces.get({ path: one }), 404);
};

const tag: Step = async ({ api, path, send }) => {
  const made = await send("tags.add", () => api.tags.add({ path, body: { name: `Soak ${randomUUID()}` } }));
  await send("tags.delete", () => api.tags.delete({ path: { ...path, tag_id: made?.data.id ?? "" } }));
};

const program: Step = ({ api, path: { account_id }, send }) => {
  const code = `workspaces.list(account_id="${account_id}")\ndomains.list(account_id="${account_id}")\nme.get()`;
  return send("a program", () => api.code.a2a({ body: { request_id: randomUUID(), session_id: "soak", code } }));
};

const mistakes: Step = async ({ api, stranger, path, send }) => {
  await send("with a bad token", () => stranger.workspaces.list({ path }), 401);
  await send("a bad body", () => api.workspaces.add({ path, body: { name: "" } }), 422);
  await send("another's account", () => api.workspaces.list({ path: { account_id: randomUUID() } }), 404);
};

/** Three quarters of all requests read. */
const steps: readonly Step[] = [
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
