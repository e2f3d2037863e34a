import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

import { vi } from "vitest";

import { listen } from "./listen.ts";

type Entry = {
  Detail: string;
  DetailType: string;
  EventBusName: string;
  Resources: string[];
  Source: string;
  Time: number;
};
type Call = { headers: IncomingHttpHeaders; entries: Entry[] };
type Reply = { status: number; body: unknown };

type EventBusServer = { calls: Call[]; details: () => Record<string, unknown>[] };

/** The answer of EventBridge if it takes all entries. */
export const takeAll = ({ entries }: Call): Reply => ({
  status: 200,
  body: { FailedEntryCount: 0, Entries: entries.map((_, index) => ({ EventId: `event-${index}` })) },
});

/**
 * Serves PutEvents until the test ends, as the API reference of EventBridge describes it. The SDK in this process calls
 * this server.
 */
export async function startEventBus(answer: (call: Call, count: number) => Reply = takeAll): Promise<EventBusServer> {
  const calls: Call[] = [];
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = { headers: request.headers, entries: JSON.parse(await text(request)).Entries };
    calls.push(call);
    const { status, body } = answer(call, calls.length);
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", `http://127.0.0.1:${await listen(server)}`);
  return { calls, details: () => calls.flatMap(({ entries }) => entries.map(({ Detail }) => JSON.parse(Detail))) };
}
