import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { notFound } from "../core/errors.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import { Timestamp } from "../core/time.ts";
import { rangeOfRows, readRows, rowKey, type List } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * Access patterns
 *   webhooks of an account, and one by the ordinal in its id   ACCOUNT#<id> / LIST#webhooks
 *   the last success of a webhook                              ACCOUNT#<id> / WEBHOOK_SUCCESS#<webhook id> (outcome.ts)
 *   deliveries of a webhook                                    delivery.ts
 */
/** The list of an account's webhooks. */
export const webhooksOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "webhooks" });

/** The most webhooks of an account. The limit is low, because each event reads all webhooks of its account. */
export const webhookLimit = 20;

export const WebhookParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  webhook_id: Id.meta({ description: "The webhook's id." }),
});

const word = "[a-z][a-z0-9_]*";

const everything = "*";

/** A pattern of event types: one type, all types under a prefix, or all types. */
export const EventPattern = z
  .string()
  .max(100)
  .regex(new RegExp(`^(?:\\*|${word}(?:\\.${word})*\\.(?:\\*|${word}))$`), {
    error: "Write *, a prefix with .* at its end, or an event type",
  })
  .meta({
    description:
      "A pattern of event types: one type (`workspace.created`), every type under a prefix (`auth.*`, `auth.group.*`), or every event (`*`).",
    examples: ["workspace.*"],
  });

/** Whether a pattern matches an event type. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === everything) return true;
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

export const Webhook = z
  .object({
    id: Id.meta({ description: "The webhook's id." }),
    account_id: Id.meta({ description: "The account whose events the webhook gets." }),
    url: z.string().meta({ description: "The URL to which events are posted." }),
    event_types: z.array(EventPattern).meta({ description: "The events that the webhook gets." }),
    description: z.string().nullable().meta({ description: "What the webhook is for." }),
    status: z.enum(["active", "disabled"]).meta({ description: "Whether the webhook gets events." }),
    disabled_reason: z.enum(["failing", "gone", "by_user"]).nullable().meta({
      description:
        "Why the webhook is disabled: `failing` after about three days without a success, `gone` after the receiver answered 410, `by_user` if a caller disabled it.",
    }),
    disabled_at: Timestamp.nullable().meta({ description: "When the webhook was disabled." }),
    previous_secret_expires_at: Timestamp.nullable().meta({
      description: "When the previous signing secret stops or stopped signing. Null if there is none.",
    }),
    created_at: Timestamp.meta({ description: "When the webhook was created." }),
    updated_at: Timestamp.meta({ description: "When the webhook last changed." }),
  })
  .meta({ id: "Webhook", description: "A subscription to the events of an account, posted to a URL." });

export const WebhookWithSecret = Webhook.extend({
  secret: z.string().meta({
    description: "The signing secret (`whsec_…`, Standard Webhooks). It is shown only once and stored encrypted.",
  }),
}).meta({ id: "WebhookWithSecret", description: "A webhook with its new signing secret." });

export const webhookKind = defineKind({
  name: "webhook",
  verbs: ["created", "updated", "deleted", "secret_rotated", "disabled", "tested", "redelivered"],
  view: Webhook,
  // The query of a URL often contains a credential, so the audit log and other webhooks get the URL without the query.
  redact: ({ url, ...view }) => ({ ...view, url: String(url).replace(/\?.*$/s, "?…") }),
  seenWith: "webhook.manage",
});

export const StoredWebhook = Webhook.extend({
  sealed_secret: z.string(),
  /** The previous secret. Deliveries are also signed with it until `previous_secret_expires_at`. */
  previous_sealed_secret: z.string().nullable(),
  /**
   * When the webhook was last enabled. Workers do not send deliveries that were created before this time. Absent if an
   * earlier version created the webhook, or enabled it again.
   */
  enabled_at: Timestamp.optional(),
  version: z.int(),
});
export type StoredWebhook = z.output<typeof StoredWebhook>;

/** The key of the webhook with this id. An id in another form gets an ordinal that no webhook ever has. */
export const webhookKey = (accountId: string, id: string): Key =>
  rowKey(webhooksOf(accountId), ordinalOf(id) ?? 2 ** 40);

/** Finds the webhook; undefined if the webhook does not exist. */
export async function findWebhook(table: Reader, accountId: string, id: string): Promise<StoredWebhook | undefined> {
  const webhook = await table.get(webhookKey(accountId, id), StoredWebhook);
  return webhook?.id === id ? webhook : undefined;
}

/** Finds the webhook. Throws 404 if the webhook does not exist. */
export async function getWebhook(table: Reader, accountId: string, id: string): Promise<StoredWebhook> {
  const webhook = await findWebhook(table, accountId, id);
  if (!webhook) throw notFound();
  return webhook;
}

/** The write that stores a new version of a webhook. The write fails unless the preceding version is stored now. */
export const putWebhook = (webhook: StoredWebhook): Write => ({
  put: { ...webhookKey(webhook.account_id, webhook.id), ...webhook },
  if: { id: webhook.id, version: webhook.version - 1 },
});

/** All webhooks of an account, oldest first, in one read. */
export async function allWebhooks(table: Reader, accountId: string): Promise<StoredWebhook[]> {
  const { partition, from, to } = rangeOfRows(webhooksOf(accountId));
  const rows = await table.between(partition, from, to);
  return rows.map((row) => StoredWebhook.parse(row));
}

/** A page of the account's webhooks, oldest first. */
export async function listWebhooks(
  table: Reader,
  accountId: string,
  page: PageQuery,
): Promise<{ items: StoredWebhook[]; total: number }> {
  const { rows, total } = await readRows(table, webhooksOf(accountId), spanOf(page));
  return { items: rows.map((row) => StoredWebhook.parse(row)), total };
}
