import { expect, test } from "vitest";

import { handler as docs } from "../../functions/docs.ts";
import { handler as fallback } from "../../functions/fallback.ts";
import { answerOf, eventOf } from "../support/request.ts";

test.each([
  ["/", "/docs/overview"],
  ["/docs/", "/docs"],
  ["/docs/quickstart/", "/docs/quickstart"],
])("who asks for %s is led to %s, whichever function the gateway asks", async (path, location) => {
  for (const handler of [docs, fallback]) {
    expect(answerOf(await handler(eventOf("GET", path)))).toMatchObject({ status: 302, headers: { location } });
  }
});

test("nothing but a page's address is led anywhere", async () => {
  for (const path of ["/docs//", "/docs/../", "//evil.example/", "/v1/public/me/", "/docs/quickstart/x/"]) {
    expect(answerOf(await fallback(eventOf("GET", path))).headers).not.toHaveProperty("location");
  }
  expect(answerOf(await fallback(eventOf("POST", "/"))).headers).not.toHaveProperty("location");
});

test("a page that is not there is a page in a browser, and a problem to a program", async () => {
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const page = answerOf(await docs(eventOf("GET", "/docs/nope", { headers: { accept } })));
  expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
  expect(page.text).toContain('<a href="/docs/overview">');
  expect(page.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
  const problem = answerOf(await docs(eventOf("GET", "/docs/nope")));
  expect(problem).toMatchObject({ status: 404, body: { code: "not_found" } });
});
