import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { describe, expect, onTestFinished, test, vi } from "vitest";

import {
  ApiError,
  CodeError,
  ConnectionError,
  HostedMail,
  HostedMailError,
  TimeoutError,
  type ErrorCode,
} from "#client";

import { portOf } from "../../support/listen.ts";

type Seen = { method: string; url: string; headers: Record<string, unknown>; body: unknown };
type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } | "hang" | "drop";

/** A client of a server that gives the replies one after another. `seen` has the requests to the server. */
async function connected(...replies: Reply[]) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const sent = await text(request);
      const { method = "", url = "", headers } = request;
      seen.push({ method, url, headers, body: sent === "" ? undefined : JSON.parse(sent) });
      const reply = replies.shift() ?? {};
      if (reply === "drop") request.socket.destroy();
      if (typeof reply === "string") return;
      response.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers });
      response.end(JSON.stringify(reply.body ?? { id: "1" }));
    })();
  });
  const base = `http://127.0.0.1:${await portOf(server)}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { base, seen, client: new HostedMail({ baseUrl: base, token: "secret" }) };
}

const account_id = "a";
const busy: Reply = { status: 503, headers: { "retry-after": "0" }, body: { code: "busy" } };

describe("a request", () => {
  test("has its arguments in the path, the query and the body", async () => {
    const { client, seen } = await connected();
    await client.mailboxes.update({ account_id, mailbox: "ann@example.com", first_name: "Ann" });
    await client.domains.delete({ account_id, domain: "a b", release: true });
    await client.domains.search({ account_id, workspace_id: "w", query: "bakery", tlds: ["com", "org"] });
    expect(seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["PATCH", "/v1/public/accounts/a/mailboxes/ann%40example.com", { first_name: "Ann" }],
      ["DELETE", "/v1/public/accounts/a/domains/a%20b?release=true", undefined],
      ["GET", expect.stringMatching(/\?workspace_id=w&query=bakery&tlds=com&tlds=org$/), undefined],
    ]);
  });

  test("has a date of the query in the API's form", async () => {
    const { client, seen } = await connected();
    const since = new Date(0) as unknown as string; // JavaScript without types can pass a date.
    await client.billing.transactions.list({ account_id, since });
    expect(seen[0]?.url).toContain("?since=1970-01-01T00%3A00%3A00.000Z");
  });

  test("has the payload of code mode as its body, without the account's id", async () => {
    const { client, seen } = await connected();
    await client.auth.groups.create({ account_id, payload: { account_id, name: "Support" } });
    expect(seen[0]).toMatchObject({ url: "/v1/public/accounts/a/auth/groups", body: { name: "Support" } });
  });

  test.each(["", "/", "/v1/public", "/v1/public/"])(
    "goes to the same place for a baseUrl that ends in %j",
    async (end) => {
      const { base, seen } = await connected();
      await new HostedMail({ baseUrl: base + end, token: () => Promise.resolve("other") }).me.get();
      expect(seen[0]).toMatchObject({ url: "/v1/public/me", headers: { authorization: "Bearer other" } });
    },
  );

  test("has the options of the call", async () => {
    const { client, seen } = await connected();
    await client.tags.update(
      { account_id, tag_id: "t", name: "n" },
      { ifMatch: '"1"', headers: { "X-Request-Id": "r" } },
    );
    expect(seen[0]?.headers).toMatchObject({ "if-match": '"1"', "x-request-id": "r" });
  });

  test("without an argument of the path is not sent", async () => {
    const { client, seen } = await connected();
    await expect(client.tags.delete({ account_id, tag_id: "" })).rejects.toThrow(
      "tags.delete needs the argument tag_id.",
    );
    expect(seen).toEqual([]);
  });

  test.each([".", "..", "ann@example.com?x", "a/b", "%2e%2E", "ann@example.com%3Fx"])(
    "with the argument %j in the path is not sent, because it could reach another route",
    async (mailbox) => {
      const { client, seen } = await connected();
      const error = await client.mailboxes.delete({ account_id, mailbox }).catch((one: unknown) => one);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(
        /^mailboxes\.delete cannot send the argument mailbox: .* resource's id\.$/,
      );
      expect(seen).toEqual([]);
    },
  );

  test("is sent even before its answer is awaited, and only once", async () => {
    const { client, seen } = await connected();
    const sent = client.tags.delete({ account_id, tag_id: "t" });
    await Promise.all([sent, sent.withResponse(), sent]);
    expect(seen).toHaveLength(1);
  });
});

describe("an Idempotency-Key", () => {
  test("is on every POST, differs between calls, and stays the same when a call is repeated", async () => {
    const { client, seen } = await connected(busy, "drop");
    await client.tags.add({ account_id, name: "one" });
    await client.tags.add({ account_id, name: "one" });
    const keys = seen.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(keys[3]).not.toBe(keys[0]);
  });

  test("is on no other request, and a PATCH that failed is not repeated, even with a given key", async () => {
    const { client, seen } = await connected(busy, busy, "drop");
    const update = (options = {}) =>
      client.tags.update({ account_id, tag_id: "t", name: "n" }, options).catch((one: unknown) => one);
    expect(await update()).toMatchObject({ code: "busy" });
    for (const code of ["busy", undefined]) {
      const error = await update({ idempotencyKey: "mine" });
      expect(error).toBeInstanceOf(HostedMailError);
      expect(error).toMatchObject({ idempotencyKey: undefined, ...(code ? { code } : {}) });
    }
    expect(seen).toHaveLength(3);
    expect(seen[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("can be given, and an error contains it", async () => {
    const { client } = await connected({ status: 409, body: { code: "tag_name_taken" } });
    const error = await client.tags.add({ account_id, name: "n" }, { idempotencyKey: "mine" }).catch((one) => one);
    expect(error).toMatchObject({ status: 409, idempotencyKey: "mine" });
  });
});

describe("an error", () => {
  test("has the code, the request's id, the wait and the body", async () => {
    const body = { code: "rate_limited", detail: "Wait.", request_id: "r-1" };
    const { client } = await connected({ status: 429, headers: { "retry-after": "60" }, body });
    const error = await client.me.get().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toBeInstanceOf(HostedMailError);
    expect(error).toMatchObject({ name: "ApiError", status: 429, requestId: "r-1", retryAfterSeconds: 60, body });
    expect((error as ApiError).message).toBe("429 rate_limited: Wait. (request r-1)");
    expect((error as ApiError).code satisfies ErrorCode | (string & {})).toBe("rate_limited");
  });

  test("has the places of a 422", async () => {
    const detail = [{ loc: ["body", "name"], msg: "Too short", type: "too_short" }];
    const { client } = await connected({ status: 422, headers: { "x-request-id": "r-2" }, body: { detail } });
    const error = await client.tags.add({ account_id, name: "" }).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: "validation_failed", errors: detail });
    expect((error as Error).message).toBe("422 validation_failed: body.name: Too short (request r-2)");
  });

  test("from a proxy that does not answer with JSON is an ApiError too", async () => {
    const { client } = await connected({ status: 403, headers: { "content-type": "text/html" }, body: "no" });
    await expect(client.me.get()).rejects.toMatchObject({ status: 403, code: "unknown" });
  });

  test.each([
    ["text/html", "<p>Sign in</p>", "text/html, not JSON"],
    ["application/json", "{", "JSON that is not valid"],
    ["application/json", "", "JSON that is not valid"],
    [undefined, "", "no content type, not JSON"],
  ])(
    "because of a successful answer that is not JSON (%s %j) names the address, and the request is not repeated",
    async (type, body, found) => {
      let times = 0;
      const fetch = () => {
        times += 1;
        const headers = type === undefined ? {} : { "content-type": type };
        return Promise.resolve(new Response(new TextEncoder().encode(body), { headers }));
      };
      const client = new HostedMail({ baseUrl: "http://127.0.0.1:1", token: "t", fetch });
      const error = await client.tags.delete({ account_id, tag_id: "t" }).catch((one: unknown) => one);
      expect(error).toBeInstanceOf(HostedMailError);
      expect((error as Error).message).toBe(
        `DELETE http://127.0.0.1:1/v1/public/accounts/a/tags/t answered ${found}. Check the address of the API.`,
      );
      expect(times).toBe(1);
      const added = client.tags.add({ account_id, name: "n" }, { idempotencyKey: "mine" });
      await expect(added).rejects.toMatchObject({ name: "HostedMailError", idempotencyKey: "mine" });
    },
  );

  test("does not come from an answer whose type is in Accept, but comes from every other type", async () => {
    const csv = { headers: { "content-type": "text/csv; charset=utf-8" }, body: "a" };
    const html = { headers: { "content-type": "text/html" }, body: "a" };
    const { client } = await connected(csv, csv, csv, html);
    for (const Accept of ["text/csv", "application/json;q=0.5, text/*", "*/*"])
      expect(await client.audit.list({ account_id }, { headers: { Accept } })).toBe('"a"');
    await expect(client.audit.list({ account_id }, { headers: { Accept: "text/csv" } })).rejects.toThrow("text/html");
  });

  test("because of a missing answer is a ConnectionError with the reason", async () => {
    const client = new HostedMail({ baseUrl: "http://127.0.0.1:1", token: "t", retries: 0 });
    const error = await client.me.get().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toMatch(/^GET http:\/\/127\.0\.0\.1:1\/v1\/public\/me had no answer: .+[^.]\.$/);
    expect((error as Error).cause).toBeInstanceOf(TypeError);
  });

  test("because of a try that takes too long is a TimeoutError, and the next try can succeed", async () => {
    let hangs = 2;
    const fetch = (_: string, { signal }: RequestInit): Promise<Response> =>
      hangs-- > 0
        ? new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))))
        : Promise.resolve(Response.json({ id: "1" }));
    const client = new HostedMail({ baseUrl: "http://127.0.0.1:1", token: "t", timeoutMs: 20, fetch });
    const error = await client.me.get({}, { retries: 0 }).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(await client.me.get({}, { retries: 1 })).toEqual({ id: "1" });
  });

  test.each([Infinity, 2 ** 31])("does not come from a timeoutMs of %s, which sets no limit", async (timeoutMs) => {
    const { base, seen } = await connected();
    const client = new HostedMail({ baseUrl: base, token: "t", timeoutMs, retries: 0 });
    expect(await client.tags.add({ account_id, name: "n" })).toEqual({ id: "1" });
    expect(seen).toHaveLength(1);
  });

  test.each([0, -1, Number.NaN])("of a timeoutMs of %s is a TypeError, and nothing is sent", async (timeoutMs) => {
    const { client, seen } = await connected();
    const error = await client.tags.add({ account_id, name: "n" }, { timeoutMs }).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toBe(`timeoutMs must be a number of milliseconds above 0, not ${timeoutMs}.`);
    expect(seen).toEqual([]);
  });

  test.each(["secret\nother", "secret other", "s\u00e9cret"])(
    "of the token %j is a TypeError without the token, and nothing is sent",
    async (token) => {
      const { base, seen } = await connected();
      const error = await new HostedMail({ baseUrl: base, token }).me.get().catch((one: unknown) => one);
      expect(error).toBeInstanceOf(TypeError);
      expect(String((error as Error).stack)).not.toMatch(/s.cret/);
      expect(seen).toEqual([]);
    },
  );

  test("of an aborted request is the signal's reason, and the request is not repeated", async () => {
    const { client, seen } = await connected("hang");
    const stopping = new AbortController();
    const asked = client.tags.add({ account_id, name: "n" }, { signal: stopping.signal });
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    stopping.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    expect(seen).toHaveLength(1);
  });

  test("of a request that is aborted while its token is fetched is the signal's reason, and nothing is sent", async () => {
    const { base, seen } = await connected();
    const token = Promise.withResolvers<string>();
    const stopping = new AbortController();
    const client = new HostedMail({ baseUrl: base, token: () => token.promise });
    const asked = client.me.get({}, { signal: stopping.signal });
    stopping.abort(new Error("enough"));
    token.resolve("t");
    await expect(asked).rejects.toThrow("enough");
    expect(seen).toEqual([]);
  });

  test("of a token function that never answers is a TimeoutError", async () => {
    const { base, seen } = await connected();
    const token = () => new Promise<string>(() => {});
    const client = new HostedMail({ baseUrl: base, token, timeoutMs: 20, retries: 0 });
    await expect(client.me.get()).rejects.toThrow(TimeoutError);
    expect(seen).toEqual([]);
  });

  test("of a token function is thrown as it is, at once", async () => {
    const { base, seen } = await connected();
    const token = () => Promise.reject(new RangeError("no token"));
    await expect(new HostedMail({ baseUrl: base, token }).me.get()).rejects.toThrow(RangeError);
    expect(seen).toEqual([]);
  });

  test.each([
    [undefined, "The address of the API is missing."],
    ["api.example.com", "baseUrl is not an http(s) URL: api.example.com"],
  ])("for baseUrl %j says what to give", (baseUrl, message) => {
    expect(() => new HostedMail({ baseUrl })).toThrow(message);
  });
});

describe("a list", () => {
  const pageOf = (page: number, page_size: number, total: number): Reply => ({
    body: {
      items: Array.from({ length: Math.min(page_size, total - (page - 1) * page_size) }, (_, index) => ({ id: index })),
      page,
      page_size,
      total,
    },
  });

  test("is read by `for await` only as far as the loop runs, in pages of 100", async () => {
    const { client, seen } = await connected(pageOf(1, 100, 250), pageOf(2, 100, 250));
    let count = 0;
    for await (const _ of client.tags.list({ account_id })) if (++count === 150) break;
    expect(seen.map(({ url }) => url.split("?")[1])).toEqual(["page_size=100&page=1", "page_size=100&page=2"]);
  });

  test("begins at the requested page, and ends after the last page", async () => {
    const { client, seen } = await connected(pageOf(2, 10, 30), pageOf(3, 10, 30));
    const ids = [];
    for await (const { id } of client.tags.list({ account_id, page: 2, page_size: 10 })) ids.push(id);
    expect([ids.length, seen.length]).toEqual([20, 2]);
  });

  test("that is awaited is one page, which can read the next page", async () => {
    const { client, seen } = await connected(pageOf(1, 10, 15), pageOf(2, 10, 15));
    const first = await client.tags.list({ account_id, page_size: 10 });
    expect([first.total, first.hasNextPage, Object.keys(first)]).toEqual([
      15,
      true,
      ["items", "page", "page_size", "total"],
    ]);
    const second = await first.nextPage();
    expect([second?.items.length, second?.hasNextPage, await second?.nextPage()]).toEqual([5, false, undefined]);
    expect(seen.map(({ url }) => url.split("?")[1])).toEqual(["page_size=10", "page_size=10&page=2"]);
  });

  test("without pages is iterable too", async () => {
    const { client } = await connected(
      { body: [{ id: "1" }] },
      { body: { plans: [{ name: "Per mailbox" }], currency: "EUR" } },
    );
    for await (const { id } of client.auth.service_accounts.list({ account_id })) expect(id).toBe("1");
    for await (const { name } of client.billing.plans.list({ account_id })) expect(name).toBe("Per mailbox");
  });
});

describe("a program", () => {
  test("that fails throws a CodeError with the place, and a request that got 503 is repeated", async () => {
    const error = { code: "unknown_function", message: "There is no me.gett.", line: 2, column: 1 };
    const { client, seen } = await connected(busy, {
      body: { request_id: "r-3", status: "failed", responses: [], error },
    });
    const thrown = await client.code("1\nme.gett()", { session_id: "s" }).catch((one: unknown) => one);
    expect(thrown).toBeInstanceOf(CodeError);
    expect(thrown).toMatchObject({
      ...error,
      message: expect.stringContaining("at line 2, column 1: There is no me.gett."),
    });
    expect(seen.map(({ body }) => body)).toEqual([seen[1]?.body, { ...(seen[0]?.body as object), session_id: "s" }]);
  });

  test("has a random request_id, which is also its session, and an error contains the id for a repeat", async () => {
    const error = { code: "not_found", message: "There is no such tag.", line: 1, column: 1 };
    const failed = (request_id: string): Reply => ({ body: { request_id, status: "failed", responses: [], error } });
    const { client, seen } = await connected("drop", { status: 504, body: {} }, failed("r-4"));
    const unanswered = await client.code("1", { retries: 0 }).catch((one: unknown) => one);
    expect(unanswered).toBeInstanceOf(ConnectionError);
    const request_id = (unanswered as ConnectionError).programRequestId;
    expect(request_id).toMatch(/^[0-9a-f]{32}$/);
    const late = await client.code("1", { retries: 0, request_id }).catch((one: unknown) => one);
    expect(late).toMatchObject({ name: "ApiError", status: 504, programRequestId: request_id });
    await client.code("1", { request_id }).catch((one: unknown) => one);
    const sent = { request_id, session_id: request_id, code: "1" };
    expect(seen.map(({ body }) => body)).toEqual([sent, sent, sent]);
  });

  test("with an idempotencyKey and without a request_id gets a request_id that depends only on the key", async () => {
    const { base, seen } = await connected();
    const idempotencyKey = "k".repeat(255);
    for (const options of [{}, {}, { request_id: "mine" }, { idempotencyKey: "other" }]) {
      await new HostedMail({ baseUrl: base }).code("1", { idempotencyKey, ...options });
    }
    const [first, again, mine, other] = seen.map(({ body }) => body as Record<string, unknown>);
    expect(first).toEqual({
      request_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      session_id: first?.["request_id"],
      code: "1",
    });
    expect(again).toEqual(first);
    expect(mine).toEqual({ request_id: "mine", session_id: "mine", code: "1" });
    expect(other?.["request_id"]).not.toBe(first?.["request_id"]);
  });
});
