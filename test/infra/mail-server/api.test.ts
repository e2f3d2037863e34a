import { createServer } from "node:http";

import { expect, test } from "vitest";

import { NoAnswer, openApi } from "../../../infra/mail-server/adapter/api.ts";
import { listen } from "../../support/listen.ts";

/** Serves an API that closes the connection at the first `closed` requests. `asked` has all requests. */
async function scene(closed: number) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (asked.length <= closed) request.socket.destroy();
    else response.end(JSON.stringify({ kind: "none" }));
  });
  return { asked, api: openApi({ api: `http://127.0.0.1:${await listen(server)}`, mail_key: "key" }) };
}

test("a request whose connection breaks is repeated once, also a report", async () => {
  const question = await scene(1);
  expect(await question.api.recipient("ada@example.com")).toEqual({ kind: "none" });
  expect(question.asked).toEqual(Array(2).fill("GET /internal/mail/recipient?address=ada%40example.com"));
  const report = await scene(1);
  expect(await report.api.report("usage", { batch_id: "1" })).toBe(200);
  expect(report.asked).toEqual(Array(2).fill("POST /internal/mail/usage"));
  const away = await scene(Infinity);
  await expect(away.api.recipient("ada@example.com")).rejects.toThrow(NoAnswer);
  expect(away.asked).toHaveLength(2);
});
