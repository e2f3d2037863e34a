import type { StoredChange } from "./record.ts";

/**
 * A change as EventBridge and webhooks get it. It names the actor by type and id, without e-mail and IP address.
 */
export type Event = {
  id: string;
  type: string;
  timestamp: string;
  account_id: string;
  actor: { type: string; id: string };
  resource: { type: string; id: string };
  /** The resource after the change, or before it if the resource was deleted. */
  data: Record<string, unknown>;
  /** The resource before the change, if it existed before and after. */
  previous_data?: Record<string, unknown>;
};

/** Converts a recorded change into its event. */
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
