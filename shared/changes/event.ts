import type { StoredChange } from "./record.ts";

/** A change as it is published: to EventBridge, and to webhooks as their body. It says who, but not from where. */
export type Event = {
  id: string;
  type: string;
  timestamp: string;
  account_id: string;
  actor: { type: string; id: string };
  resource: { type: string; id: string };
  /** The resource as it is now, or was last. */
  data: Record<string, unknown>;
  /** The resource as it was before, when it was changed. */
  previous_data?: Record<string, unknown>;
};

/** The event that a recorded change is. */
export const eventOf = (change: StoredChange): Event => ({
  id: change.id,
  type: change.type,
  timestamp: change.at,
  account_id: change.account_id,
  actor: { type: change.actor_type, id: change.actor_id },
  resource: { type: change.resource_type, id: change.resource_id },
  data: change.after ?? change.before ?? {},
  ...(change.before && change.after ? { previous_data: change.before } : {}),
});
