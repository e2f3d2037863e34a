import { expect, test } from "vitest";

import { eventOf, type Event, StoredChange } from "../../../shared/changes/record.ts";
import { publishInOrder } from "../../../shared/webhooks/publish.ts";
import { changeOf, labelOf, recordsOf } from "../../support/changes.ts";

/** The events of these labels. `a1` is the event of the first state of the resource a. */
const events = (labels: string): Event[] =>
  labels.split(" ").map((label) => {
    const [record] = recordsOf("account", [changeOf(label.charAt(0), Number(label.slice(1)))]);
    const image = Object.entries(record?.dynamodb?.NewImage ?? {}).map(([name, { S, N }]) => [name, S ?? Number(N)]);
    return eventOf(StoredChange.parse(Object.fromEntries(image)));
  });

/** A publisher that refuses the events with the labels in `refuse`, and its calls, each as labels. */
function bus(refuse: string[] = []) {
  const calls: string[][] = [];
  const publish = async (given: readonly Event[]): Promise<number[]> => {
    calls.push(given.map(labelOf));
    return given.flatMap((event, index) => (refuse.includes(labelOf(event)) ? [index] : []));
  };
  return { calls, publish };
}

test("no call has two events of one resource, and all events are published in their order", async () => {
  const { calls, publish } = bus();
  expect(await publishInOrder(publish, events("a1 b1 a2 c1 a3 a4 b2"))).toEqual([]);
  expect(calls).toEqual([["a1", "b1"], ["a2", "c1"], ["a3"], ["a4", "b2"]]);
});

test("after an unpublished event, only later events of the same resource are held back", async () => {
  const { calls, publish } = bus(["a2"]);
  expect(await publishInOrder(publish, events("a1 b1 a2 c1 a3 b2"))).toEqual([2, 4]);
  expect(calls).toEqual([["a1", "b1"], ["a2", "c1"], ["b2"]]);
});

test("no events cause no call", async () => {
  const { calls, publish } = bus();
  expect(await publishInOrder(publish, [])).toEqual([]);
  expect(calls).toEqual([]);
});
