import { change } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { isSame } from "../core/fields.ts";
import { idWithOrdinal, ordinalOf } from "../core/ids.ts";
import type { Context } from "../http/route.ts";
import { appendRows, readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { outcomeKey } from "./outcome.ts";
import type { WebhookServices } from "./services.ts";
import { mintSecret } from "./signing.ts";
import { requireToSee } from "./subscription.ts";
import { getWebhook, putWebhook, StoredWebhook, webhookKey, webhookKind, webhookLimit, webhooksOf } from "./webhook.ts";

type NewWebhook = { url: string; event_types: string[]; description?: string | null | undefined };
type WebhookPatch = { [M in keyof NewWebhook]?: NewWebhook[M] | undefined } & { active?: boolean | undefined };
type WithSecret = StoredWebhook & { secret: string };

/**
 * Creates an active webhook. Returns the webhook with its secret. No other answer shows the secret. Throws:
 * - 403 `would_escalate` if the caller may not see all events of the webhook
 * - 409 `limit_reached` if the account has 20 webhooks already
 * - 503 if the key service does not answer
 */
export async function addWebhook(
  accountId: string,
  input: NewWebhook,
  context: Context,
  { secrets }: WebhookServices,
): Promise<WithSecret> {
  const { table, commit, now } = context;
  await requireToSee(accountId, input.event_types, context);
  return commit(async () => {
    const { state } = await readList(table, webhooksOf(accountId));
    if (state.live >= webhookLimit) {
      throw new Problem("limit_reached", `An account can have at most ${webhookLimit} webhooks. Delete one first.`);
    }
    const id = idWithOrdinal(state.next);
    const { secret, sealed } = await mintSecret(secrets, { account_id: accountId, id });
    const at = now().toISOString();
    const webhook: StoredWebhook = {
      id,
      account_id: accountId,
      url: input.url,
      event_types: input.event_types,
      description: input.description ?? null,
      status: "active",
      disabled_reason: null,
      disabled_at: null,
      previous_secret_expires_at: null,
      created_at: at,
      updated_at: at,
      enabled_at: at,
      sealed_secret: sealed,
      previous_sealed_secret: null,
      version: 1,
    };
    return {
      value: { ...webhook, secret },
      writes: appendRows(state, [webhook]),
      changes: [change(webhookKind, "created", id, { after: webhook })],
    };
  });
}

/** The members that change when a caller enables or disables a webhook; none if the webhook already has this state. */
function statusChange({ status }: StoredWebhook, active: boolean | undefined, at: string): Partial<StoredWebhook> {
  if (active === undefined || active === (status === "active")) return {};
  return active
    ? { status: "active", disabled_reason: null, disabled_at: null, enabled_at: at }
    : { status: "disabled", disabled_reason: "by_user", disabled_at: at };
}

/**
 * Changes the members of a webhook that `patch` has. Throws:
 * - 403 `would_escalate` if the caller may not see all events of the webhook, before and after the change. This is
 *   checked only if `patch` sets the URL or the event types, or enables the webhook. The events before the change
 *   count, because their pending retries go to the new URL;
 * - 404 if there is no such webhook.
 */
export function updateWebhook(
  accountId: string,
  id: string,
  patch: WebhookPatch,
  context: Context,
): Promise<StoredWebhook> {
  const { table, commit, now } = context;
  return commit(async () => {
    const old = await getWebhook(table, accountId, id);
    const at = now().toISOString();
    const { url = old.url, event_types = old.event_types, description = old.description, active } = patch;
    const set = { url, event_types, description, ...statusChange(old, active, at) };
    const changed = { ...old, ...set, updated_at: at };
    const mustSeeEvents = patch.url !== undefined || patch.event_types !== undefined || active === true;
    if (mustSeeEvents) await requireToSee(accountId, [...old.event_types, ...event_types], context);
    if (isSame(old, set)) return { value: old, writes: [], changes: [], current: old };
    const updated: StoredWebhook = { ...changed, version: old.version + 1 };
    return {
      value: updated,
      writes: [putWebhook(updated)],
      changes: [change(webhookKind, "updated", id, { before: old, after: updated })],
    };
  });
}

/** The items that `deleteWebhook` reads. */
export const aheadOfDeletion = (accountId: string, id: string): Ahead =>
  aheadOfList(webhooksOf(accountId), [ordinalOf(id) ?? 0], [webhookKey(accountId, id)]);

/**
 * Deletes a webhook. Its pending deliveries are not sent, and its deliveries cannot be listed any more. Throws 404 if
 * there is no such webhook.
 */
export async function deleteWebhook(accountId: string, id: string, { table, commit }: Context): Promise<void> {
  const ordinal = ordinalOf(id);
  if (ordinal === undefined) throw notFound();
  await commit(async () => {
    const key = webhookKey(accountId, id);
    const { state, others } = await readList(table, webhooksOf(accountId), [ordinal], [key]);
    const webhook = StoredWebhook.safeParse(others[0]).data;
    if (webhook?.id !== id) throw notFound();
    const row = { if: { id, version: webhook.version } };
    return {
      value: undefined,
      writes: [...removeRows(state, [ordinal], row), { delete: outcomeKey(accountId, id) }],
      changes: [change(webhookKind, "deleted", id, { before: webhook })],
    };
  });
}

/**
 * Gives a webhook a new secret, and returns the webhook with the secret. No other answer shows the secret. For
 * `overlapSeconds` the previous secret signs too. Older secrets do not sign. Throws:
 * - 403 `would_escalate` if the caller may not see all events of the webhook
 * - 404 if there is no such webhook
 * - 503 if the key service does not answer
 */
export async function rotateSecret(
  accountId: string,
  id: string,
  overlapSeconds: number,
  context: Context,
  { secrets }: WebhookServices,
): Promise<WithSecret> {
  const { table, commit, now } = context;
  return commit(async () => {
    const old = await getWebhook(table, accountId, id);
    // With the secret, the caller can forge every event of the webhook. So the caller must be allowed to see all of
    // these events.
    await requireToSee(accountId, old.event_types, context);
    const { secret, sealed } = await mintSecret(secrets, { account_id: accountId, id });
    const at = now();
    const end = overlapSeconds === 0 ? null : new Date(at.getTime() + overlapSeconds * 1_000).toISOString();
    const rotated: StoredWebhook = {
      ...old,
      sealed_secret: sealed,
      previous_sealed_secret: end === null ? null : old.sealed_secret,
      previous_secret_expires_at: end,
      updated_at: at.toISOString(),
      version: old.version + 1,
    };
    return {
      value: { ...rotated, secret },
      writes: [putWebhook(rotated)],
      changes: [change(webhookKind, "secret_rotated", id, { before: old, after: rotated })],
    };
  });
}
