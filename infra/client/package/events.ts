/** An event of these types, about a resource of one kind. */
export interface EventOf<Type extends string, Resource extends string, Data> {
  /** The event's id, a UUIDv7. A repeated delivery has the same id. */
  id: string;
  type: Type;
  /** When the change was made. */
  timestamp: string;
  account_id: string;
  /** The author of the change. */
  actor: { type: string; id: string };
  resource: { type: Resource; id: string };
  /** The resource after the change, or before a deletion. Absent from an event that is too long. */
  data?: Data;
  /** The resource before the change. Absent for a creation, a deletion, and an event that is too long. */
  previous_data?: Data;
  /** `true` if members are missing because the event is too long. Read the resource instead. */
  truncated?: boolean;
}
