import { createRequire } from "node:module";

import { lambdaContext } from "./scene.ts";

export type Order = { event: string; times: number };

/** A Lambda that is warm: loads the module it is given and answers events one after another, as often as it is told. */
const [file = "", name = ""] = process.argv.slice(2);
type Response = { statusCode?: number; body?: string };
const { handler } = createRequire(import.meta.url)(file) as {
  handler: (event: object, context: object) => Promise<Response>;
};
let count = 0;

process.on("message", ({ event, times }: Order) => void serve(event, times));

/** Tells its parent the milliseconds of each, or what the first answer was that is no success. */
async function serve(text: string, times: number): Promise<void> {
  const ms: number[] = [];
  let body = "";
  for (let index = 0; index < times; index++) {
    const event = JSON.parse(text) as { body?: string; headers: Record<string, string> };
    if (event.body !== undefined) {
      event.body = JSON.stringify({ name: `${name} ${count++}` });
      event.headers["content-length"] = String(Buffer.byteLength(event.body));
    }
    const startedAt = performance.now();
    const response = await handler(event, { ...lambdaContext });
    ms.push(performance.now() - startedAt);
    body = response.body ?? "";
    if ((response.statusCode ?? 0) >= 300) {
      process.send?.({ failure: `${response.statusCode} ${body}` });
      return;
    }
  }
  process.send?.({ ms, body });
}
