import type { Event } from "../changes/record.ts";
import type { EventPublisher } from "../providers/events/events.ts";

const resourceOf = ({ account_id, resource }: Event): string => `${account_id} ${resource.type} ${resource.id}`;

/**
 * Publishes the events of each resource in order. Returns the indexes of the events that were not published, ascending.
 * - No call contains two events of one resource.
 * - After an event fails, the later events of its resource are not sent.
 */
export async function publishInOrder(publish: EventPublisher, events: readonly Event[]): Promise<number[]> {
  const failed: number[] = [];
  const blocked = new Set<string>();
  for (const group of groupsOf(events)) {
    const unsent = group.filter(({ event }) => blocked.has(resourceOf(event)));
    const sent = group.filter(({ event }) => !blocked.has(resourceOf(event)));
    const refused = sent.length === 0 ? [] : await publish(sent.map(({ event }) => event));
    for (const { event, index } of [...unsent, ...refused.flatMap((position) => sent[position] ?? [])]) {
      failed.push(index);
      blocked.add(resourceOf(event));
    }
  }
  return failed.toSorted((a, b) => a - b);
}

type IndexedEvent = { event: Event; index: number };

/** Splits the events, in order, into groups. No group has two events of one resource. */
function groupsOf(events: readonly Event[]): IndexedEvent[][] {
  const groups: IndexedEvent[][] = [];
  let resources = new Set<string>();
  for (const [index, event] of events.entries()) {
    const group = groups.at(-1);
    if (group && !resources.has(resourceOf(event))) group.push({ event, index });
    else {
      groups.push([{ event, index }]);
      resources = new Set();
    }
    resources.add(resourceOf(event));
  }
  return groups;
}
