import { describe, expect, test, vi } from "vitest";

import { ApiError } from "../../../infra/client/package/api-error.ts";
import { itemsOf } from "../../../infra/client/package/items.ts";
import { retrying } from "../../../infra/client/package/retrying.ts";

type Reply = number | Error;

/** A server that answers one after the other, and says what came. */
function serverOf(replies: Reply[], retryAfter = "0") {
  const bodies: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    bodies.push(await request.text());
    const reply = replies.shift() ?? 200;
    if (reply instanceof Error) throw reply;
    return new Response("{}", { status: reply, headers: reply === 200 ? {} : { "retry-after": retryAfter } });
  };
  return { bodies, ask: retrying(fetch, { retries: 2, longestWaitMs: 1000 }) };
}

const get = () => new Request("http://127.0.0.1/");
const post = (headers: Record<string, string> = {}) =>
  new Request("http://127.0.0.1/", { method: "POST", body: "{}", headers });
const withKey = () => post({ "Idempotency-Key": "one" });

const gone = new TypeError("fetch failed");

describe("what is sent again", () => {
  test.each([
    ["a GET that is refused for now", get, [429, 503], 200, 3],
    ["a POST that did nothing as there were too many", post, [429], 200, 2],
    ["a POST with a key", withKey, [503], 200, 2],
    ["a POST with a key whose first request found no answer, and still runs", withKey, [gone, 409], 200, 3],
    ["a POST with a key that something on the way gave up", withKey, [502, 504], 200, 3],
  ] as const)("%s", async (_, request, replies: readonly Reply[], status, times) => {
    const { ask, bodies } = serverOf([...replies]);
    expect((await ask(request())).status).toBe(status);
    expect(bodies).toHaveLength(times);
    expect(new Set(bodies).size).toBe(1);
  });

  test("a GET that found no answer", async () => {
    const { ask, bodies } = serverOf([new TypeError("fetch failed")]);
    expect((await ask(get())).status).toBe(200);
    expect(bodies).toHaveLength(2);
  });
});

describe("what is not", () => {
  test.each([
    ["a POST without a key, of which nobody knows what it did", post, 503],
    ["a POST without a key that meets another", post, 409],
    ["what is refused for good", get, 404],
    ["a failure of ours", get, 500],
  ] as const)("%s", async (_, request, status) => {
    const { ask, bodies } = serverOf([status]);
    expect((await ask(request())).status).toBe(status);
    expect(bodies).toHaveLength(1);
  });

  test("a POST without a key that found no answer", async () => {
    const { ask, bodies } = serverOf([new TypeError("fetch failed")]);
    await expect(ask(post())).rejects.toThrow("fetch failed");
    expect(bodies).toHaveLength(1);
  });

  test("what would have to wait for longer than one wants to", async () => {
    const { ask, bodies } = serverOf([429], "60");
    expect((await ask(get())).status).toBe(429);
    expect(bodies).toHaveLength(1);
  });

  test("what was tried often enough: the last answer is the answer", async () => {
    const { ask, bodies } = serverOf([503, 503, 503, 200]);
    expect((await ask(get())).status).toBe(503);
    expect(bodies).toHaveLength(3);
  });
});

test("no wait is longer than the longest wait, with and without Retry-After", async () => {
  const waits: number[] = [];
  const timer = vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waits.push(ms);
    done();
  }) as typeof setTimeout);
  vi.spyOn(Math, "random").mockReturnValue(1);
  for (const retryAfter of ["1", undefined]) {
    const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    const answer = async () => new Response("{}", { status: 429, headers });
    await retrying(answer, { retries: 6, longestWaitMs: 1_500 })(get());
  }
  await retrying(() => Promise.reject(gone), { retries: 6, longestWaitMs: 1_500 })(get()).catch(() => undefined);
  timer.mockRestore();
  vi.restoreAllMocks();
  expect(waits).toHaveLength(18);
  expect(Math.max(...waits)).toBe(1_500);
});

test("a conflict that waiting does not mend is the answer at once", async () => {
  let times = 0;
  const ask = retrying(async () => new Response("{}", { status: (times += 1) > 0 ? 409 : 200 }), {
    retries: 2,
    longestWaitMs: 1000,
  });
  expect((await ask(withKey())).status).toBe(409);
  expect(times).toBe(1);
});

test("an error tells the key that its request had, to send it again with", () => {
  const { idempotencyKey } = new ApiError(new Response("{}", { status: 409 }), {}, withKey());
  expect(idempotencyKey).toBe("one");
});

test("a list is read as far as it is asked for, and ends where it ends", async () => {
  const asked: number[] = [];
  const list = async ({ page, page_size }: { page: number; page_size: number }) => {
    asked.push(page);
    const items = Array.from({ length: Math.min(page_size, 250 - (page - 1) * page_size) }, (_, index) => index);
    return { data: { items, total: 250 } };
  };
  let count = 0;
  for await (const _ of itemsOf(list)) if (++count === 150) break;
  expect(asked).toEqual([1, 2]);
  count = 0;
  for await (const _ of itemsOf(list)) count++;
  expect([count, asked.length]).toEqual([250, 5]);
});
