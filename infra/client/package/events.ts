/** An event whose type is one of `Type`, about a resource of the kind `Resource`. */
export interface EventOf<Type extends string, Resource extends string, Data> {
  /** The event's id, a UUIDv7. A repeated delivery has the same id. */
  id: string;
  type: Type;
  /** The time of the change. */
  timestamp: string;
  account_id: string;
  /** The author of the change. */
  actor: { type: string; id: string };
  resource: { type: Resource; id: string };
  /**
   * The resource after the change. For a deletion, the resource before the deletion. Can be absent if the event is too
   * long.
   */
  data?: Data;
  /** The resource before the change. Absent for a creation, for a deletion, and if the event is too long. */
  previous_data?: Data;
  /** `true` if members are missing because the event is too long. In this case, read the resource with the API. */
  truncated?: boolean;
}
