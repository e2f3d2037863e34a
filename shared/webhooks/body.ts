import type { Event } from "../changes/event.ts";

/** An event as it comes from the bus: what was too long for that is left out already. */
export type PublishedEvent = Omit<Event, "data"> & { data?: Record<string, unknown>; truncated?: boolean };

const longestBytes = 20_000;

/**
 * The body of an event's deliveries: the event as JSON, of at most 20,000 bytes. One that is longer goes without
 * `previous_data`, then without `data`, and says so with `truncated: true`.
 */
export function bodyOf(event: PublishedEvent): string {
  const { previous_data: _, ...current } = event;
  const { data: __, ...bare } = current;
  const candidates = [event, { ...current, truncated: true }].map((candidate) => JSON.stringify(candidate));
  return (
    candidates.find((text) => Buffer.byteLength(text) <= longestBytes) ?? JSON.stringify({ ...bare, truncated: true })
  );
}
