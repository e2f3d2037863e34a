import { expect, test } from "vitest";

import { handler as docs } from "../../functions/docs.ts";
import { handler as fallback } from "../../functions/fallback.ts";
import { answerOf, eventOf } from "../support/request.ts";

test.each([
  ["/", "/docs/overview"],
  ["/docs/", "/docs"],
  ["/docs/quickstart/", "/docs/quickstart"],
  ["/docs/reference/mailboxes.add/", "/docs/reference/mailboxes.add"],
])("a request for %s is redirected to %s by the docs and by the fallback", async (path, location) => {
  for (const handler of [docs, fallback]) {
    expect(answerOf(await handler(eventOf("GET", path)))).toMatchObject({ status: 302, headers: { location } });
  }
});

test("other addresses are not redirected", async () => {
  for (const path of ["/docs//", "/docs/../", "//evil.example/", "/v1/public/me/", "/docs/quickstart/x/"]) {
    expect(answerOf(await fallback(eventOf("GET", path))).headers).not.toHaveProperty("location");
  }
  expect(answerOf(await fallback(eventOf("POST", "/"))).headers).not.toHaveProperty("location");
});

test("a missing page is an HTML page for a browser, and a problem for a program", async () => {
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  for (const [handler, path] of [
    [docs, "/docs/nope"],
    [docs, "/docs/checkout"],
    [docs, "/docs/verify.html"],
    [docs, "/docs/invitation"],
    [docs, "/docs/reference/mailboxes.nope"],
    [fallback, "/nope"],
  ] as const) {
    const page = answerOf(await handler(eventOf("GET", path, { headers: { accept } })));
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    expect(page.text).toContain('<a href="/docs/overview">');
    expect(page.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    const problem = answerOf(await handler(eventOf("GET", path)));
    expect(problem).toMatchObject({ status: 404, body: { code: "not_found" } });
  }
  const refused = answerOf(await fallback(eventOf("PATCH", "/v1/public/me", { headers: { accept } })));
  expect(refused).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
});

test.each([
  ["/docs", "text/html; charset=utf-8"],
  ["/docs/overview", "text/html; charset=utf-8"],
  ["/docs/reference/mailboxes.add", "text/html; charset=utf-8"],
  ["/docs/reference/mailboxes", "text/html; charset=utf-8"],
  ["/docs/overview.md", "text/markdown; charset=utf-8"],
  ["/docs/reference/mailboxes.add.md", "text/markdown; charset=utf-8"],
  ["/llms.txt", "text/plain; charset=utf-8"],
  ["/docs/llms.txt", "text/plain; charset=utf-8"],
  ["/docs/favicon.svg", "image/svg+xml"],
  ["/docs/search.json", "application/json"],
])("%s has the type %s, and its policy allows nothing inline", async (path, type) => {
  const answer = answerOf(await docs(eventOf("GET", path)));
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, type]);
  expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
  expect(answer.headers["content-security-policy"]).not.toMatch(/unsafe|data:/);
});
