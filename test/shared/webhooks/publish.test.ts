import { expect, test } from "vitest";

import { eventOf, type Event, StoredChange } from "../../../shared/changes/record.ts";
import { publishInOrder } from "../../../shared/webhooks/publish.ts";
import { changeOf, labelOf, recordsOf } from "../../support/changes.ts";

/** `a1 b1` are the events of the first states of the things a and b. */
const events = (labels: string): Event[] =>
  labels.split(" ").map((label) => {
    const [record] = recordsOf("account", [changeOf(label.charAt(0), Number(label.slice(1)))]);
    const image = Object.entries(record?.dynamodb?.NewImage ?? {}).map(([name, { S, N }]) => [name, S ?? Number(N)]);
    return eventOf(StoredChange.parse(Object.fromEntries(image)));
  });

/** Publishes all but what `refuse` names; the calls it got, each as labels. */
function bus(refuse: string[] = []) {
  const calls: string[][] = [];
  const publish = async (given: readonly Event[]): Promise<number[]> => {
    calls.push(given.map(labelOf));
    return given.flatMap((event, index) => (refuse.includes(labelOf(event)) ? [index] : []));
  };
  return { calls, publish };
}

test("no call holds two events of one resource, and all leave in their order", async () => {
  const { calls, publish } = bus();
  expect(await publishInOrder(publish, events("a1 b1 a2 c1 a3 a4 b2"))).toEqual([]);
  expect(calls).toEqual([["a1", "b1"], ["a2", "c1"], ["a3"], ["a4", "b2"]]);
});

test("events after an unpublished event are held back for its resource, and for no other", async () => {
  const { calls, publish } = bus(["a2"]);
  expect(await publishInOrder(publish, events("a1 b1 a2 c1 a3 b2"))).toEqual([2, 4]);
  expect(calls).toEqual([["a1", "b1"], ["a2", "c1"], ["b2"]]);
});

test("nothing is published of nothing", async () => {
  const { calls, publish } = bus();
  expect(await publishInOrder(publish, [])).toEqual([]);
  expect(calls).toEqual([]);
});
