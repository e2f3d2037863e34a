import type { Event } from "../changes/event.ts";
import type { EventPublisher } from "../providers/events/events.ts";

const resourceOf = ({ account_id, resource }: Event): string => `${account_id} ${resource.type} ${resource.id}`;

/**
 * Publishes events so that the events of one resource leave in order: no call has two of them, and after a failure the
 * later ones are held back. Answers the indexes of the events that were not published, ascending.
 */
export async function publishInOrder(publish: EventPublisher, events: readonly Event[]): Promise<number[]> {
  const failed: number[] = [];
  const stuck = new Set<string>();
  for (const group of groupsOf(events)) {
    const held = group.filter(({ event }) => stuck.has(resourceOf(event)));
    const sent = group.filter(({ event }) => !stuck.has(resourceOf(event)));
    const refused = sent.length === 0 ? [] : await publish(sent.map(({ event }) => event));
    for (const one of [...held, ...refused.flatMap((place) => sent[place] ?? [])]) {
      failed.push(one.index);
      stuck.add(resourceOf(one.event));
    }
  }
  return failed.toSorted((a, b) => a - b);
}

type Placed = { event: Event; index: number };

/** Splits the events, in order, into groups that hold each resource once. */
function groupsOf(events: readonly Event[]): Placed[][] {
  const groups: Placed[][] = [];
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
