import { afterEach, expect, test, vi } from "vitest";

import type { Event } from "../../../../shared/changes/record.ts";
import type { LogFields } from "../../../../shared/core/log.ts";
import { eventBridgePublisher } from "../../../../shared/providers/events/events.ts";
import { startEventBus, takeAll } from "../../../support/event-bus.ts";

afterEach(() => vi.unstubAllEnvs());

const event = (n: number, data: Record<string, unknown> = { n }): Event => ({
  id: `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`,
  type: "thing.updated",
  timestamp: "2026-01-02T03:04:05.000Z",
  account_id: "acc",
  actor: { type: "user", id: "u-1" },
  resource: { type: "thing", id: `t-${n}` },
  data,
  previous_data: { n: n - 1 },
});

const events = (count: number): Event[] => Array.from({ length: count }, (_, n) => event(n));

/** A publisher, the server that gets its calls and answers with `answer`, and the fields of the logged lines. */
async function publisherTo(answer: Parameters<typeof startEventBus>[0]) {
  const server = await startEventBus(answer);
  const logged: LogFields[] = [];
  const publish = eventBridgePublisher("the-bus", { error: (_, fields = {}) => void logged.push(fields) });
  return { publish, server, logged };
}

test("an event is one entry of PutEvents, signed, with its resource and its JSON as detail", async () => {
  const { publish, server } = await publisherTo(takeAll);
  expect(await publish([event(1)])).toEqual([]);
  const [call] = server.calls;
  expect(call?.headers).toMatchObject({
    "x-amz-target": "AWSEvents.PutEvents",
    "content-type": "application/x-amz-json-1.1",
    authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 .*\/events\/aws4_request/),
  });
  expect(call?.entries).toEqual([
    {
      EventBusName: "the-bus",
      Source: "hosted-mail",
      DetailType: "thing.updated",
      Resources: ["thing/t-1"],
      Time: Date.parse("2026-01-02T03:04:05.000Z") / 1000,
      Detail: JSON.stringify(event(1)),
    },
  ]);
});

test("more than ten events go in several calls, in their order", async () => {
  const { publish, server } = await publisherTo(takeAll);
  expect(await publish(events(23))).toEqual([]);
  expect(server.calls.map(({ entries }) => entries.length)).toEqual([10, 10, 3]);
  expect(server.details()).toEqual(events(23));
});

test("a call holds 256 KB at most, by UTF-8", async () => {
  const { publish, server } = await publisherTo(takeAll);
  const large = [1, 2, 3].map((n) => event(n, { text: "é".repeat(60_000) }));
  expect(await publish(large)).toEqual([]);
  expect(server.calls.map(({ entries }) => entries.length)).toEqual([2, 1]);
});

test("an event over 256 KB is published without its data, with `truncated: true`", async () => {
  const { publish, server } = await publisherTo(takeAll);
  expect(await publish([event(1, { text: "x".repeat(262_144) }), event(2)])).toEqual([]);
  const { data: _, previous_data: __, ...envelope } = event(1);
  expect(server.details()).toEqual([{ ...envelope, truncated: true }, event(2)]);
});

test("`publish` returns the indexes of the events that EventBridge refuses, counted over all calls", async () => {
  const refuse = new Set(["t-3", "t-11", "t-12"]);
  const { publish, logged } = await publisherTo(({ entries }) => {
    const answers = entries.map(({ Resources: [resource = ""] }, index) =>
      refuse.has(resource.slice("thing/".length))
        ? { ErrorCode: "ThrottlingException", ErrorMessage: "Slow down" }
        : { EventId: `event-${index}` },
    );
    const FailedEntryCount = answers.filter((answer) => "ErrorCode" in answer).length;
    return { status: 200, body: { FailedEntryCount, Entries: answers } };
  });
  expect(await publish(events(15))).toEqual([3, 11, 12]);
  expect(logged).toEqual([
    { count: 1, codes: ["ThrottlingException"] },
    { count: 2, codes: ["ThrottlingException"] },
  ]);
});

const throttled = { status: 400, body: { __type: "ThrottlingException", message: "Rate exceeded" } };

test("a call that is throttled once is made again", async () => {
  const { publish, server } = await publisherTo((call, count) => (count === 1 ? throttled : takeAll(call)));
  expect(await publish(events(2))).toEqual([]);
  expect(server.calls).toHaveLength(2);
});

test("when a whole call fails, earlier events stay published and later ones are not tried", async () => {
  const denied = { status: 400, body: { __type: "AccessDeniedException", message: "No" } };
  const { publish, server, logged } = await publisherTo((call, count) => (count === 2 ? denied : takeAll(call)));
  expect(await publish(events(21))).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  expect(server.calls).toHaveLength(2);
  expect(logged).toEqual([{ count: 10, codes: ["AccessDeniedException"] }]);
});

test("if no server answers, `publish` returns the indexes of all events, and does not reject", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", "http://127.0.0.1:9");
  const publish = eventBridgePublisher("the-bus", { error: () => {} });
  expect(await publish(events(2))).toEqual([0, 1]);
});
