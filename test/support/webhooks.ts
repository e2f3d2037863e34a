import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { Webhook as Verifier } from "standardwebhooks";
import { vi } from "vitest";

import { changeJournalOf } from "../../shared/changes/record.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { timeOrderedId } from "../../shared/core/ids.ts";
import { createLog } from "../../shared/core/log.ts";
import type { Context } from "../../shared/http/route.ts";
import { secretsOf } from "../../shared/providers/secrets/factory.ts";
import { readEntries } from "../../shared/table/journal.ts";
import type { Table } from "../../shared/table/table.ts";
import type { DeliveryContext } from "../../shared/webhooks/deliver.ts";
import { createDelivery } from "../../shared/webhooks/dispatch.ts";
import { listDeliveries } from "../../shared/webhooks/list-deliveries.ts";
import type { PublishedEvent } from "../../shared/webhooks/signing.ts";
import { addWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { getWebhook } from "../../shared/webhooks/webhook.ts";
import { httpReceiver } from "../shared/webhooks/receiver.ts";
import { newTable } from "./changes.ts";
import { request, type Answer } from "./request.ts";
import type { Account, User } from "./world.ts";

export type Received = { headers: Record<string, string>; body: string };
type Reply = { status: number; headers?: Record<string, string>; after?: Promise<unknown> };

/**
 * Starts a receiver that keeps its requests. `answer` gives the answer to the n-th request, counted from 1. The default
 * is 204.
 */
export async function keepingReceiver(answer: (count: number) => Reply = () => ({ status: 204 })) {
  const received: Received[] = [];
  const { url } = await httpReceiver(async (incoming, response) => {
    const body = await text(incoming);
    const count = received.push({ headers: incoming.headers as Record<string, string>, body });
    const { status, headers, after } = answer(count);
    await after;
    response.writeHead(status, headers).end();
  });
  return { url, received };
}

/** The event in a request. Throws unless its signature holds for the secret at the time of sending. */
export function verified(secret: string, { headers, body }: Received): PublishedEvent {
  vi.useFakeTimers({ toFake: ["Date"], now: Number(headers["webhook-timestamp"]) * 1_000 });
  try {
    return new Verifier(secret).verify(body, headers) as PublishedEvent;
  } finally {
    vi.useRealTimers();
  }
}

/** Whether the signature of a request holds for a secret. */
export function holdsFor(secret: string, sent: Received): boolean {
  try {
    return verified(secret, sent).id === sent.headers["webhook-id"];
  } catch {
    return false;
  }
}

/** The context of the webhook workers on a table. The time stands still unless `clock.at` is set. */
export function workOn(table: Table, at = new Date()): DeliveryContext & { clock: { at: Date } } {
  const clock = { at };
  const secrets = secretsOf({ SECRETS_KEY_ID: undefined, SECRETS_KEY: process.env["SECRETS_KEY"] });
  const log = createLog("silent", {});
  return { table, secrets, log, allowLoopback: true, now: () => clock.at, random: () => 0.5, clock };
}

export function eventIn(accountId: string, type: string, now: Date, more: object = {}): PublishedEvent {
  return {
    id: timeOrderedId(now),
    type,
    timestamp: now.toISOString(),
    account_id: accountId,
    actor: { type: "user", id: randomUUID() },
    resource: { type: "workspace", id: randomUUID() },
    data: { name: "Sales" },
    ...more,
  };
}

/** An account on a table of its own, unless a table is given. No other deliveries are due on a new table. */
export async function newScene(given?: Table) {
  const table = given ?? (await newTable());
  const accountId = randomUUID();
  const work = workOn(table);
  const { now, log, clock } = work;
  const author = { action: "test", actor: { type: "user" as const, id: randomUUID() }, requestId: "r" };
  const context: Context = {
    principal: { type: "user", id: author.actor.id, email: "", groups: [] },
    permissions: { member: true, everything: true, superAdmin: false, grants: [] },
    requestId: "r",
    table,
    commit: recorder({ table, accountId, author, now }),
    answer: async (value) => value,
    chargeClass: async () => undefined,
    log,
    now,
  };
  const event = (type = "workspace.created", more: object = {}) => eventIn(accountId, type, now(), more);
  const find = (id: string) => getWebhook(table, accountId, id);
  const deliveries = async (id: string) =>
    (await listDeliveries(accountId, id, { page: 1, page_size: 100 }, context)).items;
  return {
    accountId,
    context,
    work,
    event,
    find,
    deliveries,
    subscribe: (url: string, ...event_types: string[]) =>
      addWebhook(accountId, { url, event_types: event_types.length > 0 ? event_types : ["*"] }, context, work),
    /** Writes a delivery as `dispatch` does, and makes no attempt, like a process that dies. */
    dieAfterCreating: async (id: string, what = event()) => createDelivery(what, await find(id), work),
    /** The recorded changes of a type, newest first. */
    changes: async (type: string) => {
      const keep = (row: Record<string, unknown>) => row["type"] === type;
      return (await readEntries(table, changeJournalOf(accountId), { skip: 0, take: 100, keep }, now())).rows;
    },
    passMinutes: (minutes: number) => {
      clock.at = new Date(clock.at.getTime() + minutes * 60_000);
    },
    passUntil: (at: string | null | undefined) => {
      clock.at = new Date(at ?? Number.NaN);
    },
  };
}

/** Sends a request about the webhooks of an account, for its owner unless another user is given. */
export const call = (
  { id, owner }: Account,
  method: string,
  path: string,
  body?: unknown,
  { token }: Pick<User, "token"> = owner,
): Promise<Answer> => request(method, `/v1/public/accounts/${id}/webhooks${path}`, { token, body });
