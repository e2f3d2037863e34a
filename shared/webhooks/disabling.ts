import { randomUUID } from "node:crypto";

import { change, type Change } from "../changes/kind.ts";
import { recorder, type Commit } from "../changes/recorder.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { StoredDelivery } from "./delivery.ts";
import { isGone, isReceivers } from "./outcome.ts";
import { hasSucceededSince } from "./success.ts";
import { findWebhook, putWebhook, webhookKind, type StoredWebhook } from "./webhook.ts";

/** A `commit` for what the delivery of webhooks changes in an account by itself. */
export const systemCommit = (table: Table, accountId: string, now: () => Date): Commit =>
  recorder({
    table,
    accountId,
    author: {
      action: "system: webhooks.deliver",
      actor: { type: "system", id: "webhooks" },
      requestId: randomUUID(),
    },
    now,
  });

/** Why a failed delivery disables its webhook: the receiver is gone, or had no success since the delivery began. */
async function reasonOf(table: Reader, delivery: StoredDelivery): Promise<"gone" | "failing" | undefined> {
  const last = delivery.attempts.at(-1);
  if (delivery.status !== "failed" || !last) return undefined;
  if (isGone(last)) return "gone";
  if (!isReceivers(last)) return undefined;
  return (await hasSucceededSince(table, delivery, delivery.created_at)) ? undefined : "failing";
}

/** The writes and the change that disable the webhook of a delivery, where what became of it calls for that. */
export async function planDisabling(
  table: Reader,
  delivery: StoredDelivery,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const reason = await reasonOf(table, delivery);
  const old = reason && (await findWebhook(table, delivery.account_id, delivery.webhook_id));
  if (!reason || old?.status !== "active") return { writes: [], changes: [] };
  const at = now.toISOString();
  const disabled: StoredWebhook = {
    ...old,
    status: "disabled",
    disabled_reason: reason,
    disabled_at: at,
    updated_at: at,
    version: old.version + 1,
  };
  return {
    writes: [putWebhook(disabled)],
    changes: [change(webhookKind, "disabled", old.id, { before: old, after: disabled })],
  };
}
