import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from "@aws-sdk/client-eventbridge";

import type { Event } from "../../changes/record.ts";
import type { Log } from "../../core/log.ts";

/**
 * Publishes events in order, and returns the indexes of the events that could not be published. A failure that can pass
 * by itself, such as a bus that does not answer, does not reject the promise. The events are then among these indexes.
 */
export type EventPublisher = (events: readonly Event[]) => Promise<number[]>;

/** The most bytes that PutEvents accepts in one entry, and in all entries of a call together. */
const limitBytes = 262_144;
const limitEntries = 10;

/**
 * Publishes to an EventBridge bus: Source `hosted-mail`, DetailType the event's type, Resources `<type>/<id>`, Detail
 * the event. An event whose entry has more than 256 KiB is published without `data` and `previous_data`, with
 * `truncated: true`. If events of a call are not published, logs their number and their error codes.
 */
export function eventBridgePublisher(busName: string, log: Pick<Log, "error">): EventPublisher {
  const client = new EventBridgeClient({
    maxAttempts: 4,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
  });
  return async (events) => {
    const entries = events.map((event) => entryOf(event, busName));
    const failed: number[] = [];
    for (const indexes of callsOf(entries)) {
      const outcome = await put(
        client,
        indexes.flatMap((index) => entries[index] ?? []),
      );
      const refused = indexes.filter((_, place) => outcome.codes[place] !== undefined);
      if (refused.length > 0)
        log.error("events not published", { count: refused.length, codes: distinct(outcome.codes) });
      failed.push(...refused);
      if (!outcome.hasFailed) continue;
      // The remaining calls are not tried, because they would probably fail too.
      const untried = [...entries.keys()].slice((indexes.at(-1) ?? 0) + 1);
      return [...failed, ...untried];
    }
    return failed;
  };
}

const distinct = (codes: readonly (string | undefined)[]): string[] => [
  ...new Set(codes.filter((code) => code !== undefined)),
];

/**
 * The result of one call. `codes` has the error code of each entry, or undefined for a published entry. `hasFailed`
 * says whether the call failed as a whole.
 */
type PublishResult = { codes: (string | undefined)[]; hasFailed: boolean };

async function put(client: EventBridgeClient, entries: PutEventsRequestEntry[]): Promise<PublishResult> {
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries }));
    // An entry that is missing from the answer has no id, so EventBridge did not accept this entry.
    const codes = entries.map((_, place) =>
      Entries[place]?.EventId ? undefined : (Entries[place]?.ErrorCode ?? "NoEventId"),
    );
    return { codes, hasFailed: false };
  } catch (error) {
    const code = error instanceof Error ? error.name : "Unknown";
    return { codes: entries.map(() => code), hasFailed: true };
  }
}

function entryOf(event: Event, busName: string): PutEventsRequestEntry {
  const { data: _, previous_data: __, ...envelope } = event;
  const entry = {
    EventBusName: busName,
    Source: "hosted-mail",
    DetailType: event.type,
    Resources: [`${event.resource.type}/${event.resource.id}`],
    Time: new Date(event.timestamp),
    Detail: JSON.stringify(event),
  };
  if (entryBytes(entry) <= limitBytes) return entry;
  return { ...entry, Detail: JSON.stringify({ ...envelope, truncated: true }) };
}

/** An entry's size as EventBridge counts it: 14 bytes for the time, and its texts in UTF-8. */
const entryBytes = ({ Source = "", DetailType = "", Detail = "", Resources = [] }: PutEventsRequestEntry): number =>
  14 + [Source, DetailType, Detail, ...Resources].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** Groups the entries into calls: the indexes of the entries in each call, in order. */
function callsOf(entries: readonly PutEventsRequestEntry[]): number[][] {
  const calls: number[][] = [];
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    const call = calls.at(-1);
    if (call && call.length < limitEntries && bytes + entryBytes(entry) <= limitBytes) {
      call.push(index);
      bytes += entryBytes(entry);
    } else {
      calls.push([index]);
      bytes = entryBytes(entry);
    }
  }
  return calls;
}
