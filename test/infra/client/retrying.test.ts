import { describe, expect, test, vi } from "vitest";

import { ConnectionError } from "../../../infra/client/package/errors.ts";
import { retrying } from "../../../infra/client/package/retrying.ts";

type Reply = number | Error;

/** A server that gives the replies one after another. `sent` counts the requests. */
function serverOf(replies: readonly Reply[], retryAfter = "0") {
  const left = [...replies];
  let times = 0;
  const send = async () => {
    times += 1;
    const reply = left.shift() ?? 200;
    if (reply instanceof Error) throw reply;
    const headers = reply === 200 ? {} : { "retry-after": retryAfter };
    return { response: new Response("{}", { status: reply, headers }) };
  };
  const ask = async (isSafeToRepeat: boolean, signal?: AbortSignal) =>
    (await retrying(send, { retries: 2, longestWaitMs: 1000, isSafeToRepeat, signal })).response.status;
  return { ask, sent: () => times };
}

const gone = new ConnectionError("no answer", {});
const soon = (): string => new Date(Date.now() + 400).toUTCString();

describe("requests that are repeated", () => {
  test.each([
    ["a GET, or a POST with a key, that got 429 or 503", true, [429, 503], 3],
    ["a request without a key that got 429, and so had no effect", false, [429], 2],
    ["a POST with a key whose first request got no answer, and still runs", true, [gone, 409], 3],
    ["a POST with a key that a proxy answered with 502 or 504", true, [502, 504], 3],
  ] as const)("%s", async (_, isSafe, replies, times) => {
    const { ask, sent } = serverOf(replies);
    expect(await ask(isSafe)).toBe(200);
    expect(sent()).toBe(times);
  });

  test("a request whose answer has a date in Retry-After", async () => {
    const { ask, sent } = serverOf([429], soon());
    expect(await ask(false)).toBe(200);
    expect(sent()).toBe(2);
  });
});

describe("requests that are not repeated", () => {
  test.each([
    ["a PATCH without a key that got 503, and may have had an effect", false, 503],
    ["a PATCH without a key that got 409", false, 409],
    ["a request that got 404", true, 404],
    ["a request that got 500", true, 500],
  ] as const)("%s", async (_, isSafe, status) => {
    const { ask, sent } = serverOf([status]);
    expect(await ask(isSafe)).toBe(status);
    expect(sent()).toBe(1);
  });

  test("a PATCH without a key that got no answer", async () => {
    const { ask, sent } = serverOf([gone]);
    await expect(ask(false)).rejects.toBe(gone);
    expect(sent()).toBe(1);
  });

  test("a request that failed for another reason than the connection", async () => {
    const { ask, sent } = serverOf([new TypeError("no token")]);
    await expect(ask(true)).rejects.toThrow("no token");
    expect(sent()).toBe(1);
  });

  test.each(["60", new Date(Date.now() + 60_000).toUTCString()])(
    "a request whose Retry-After is longer than the longest wait: %s",
    async (retryAfter) => {
      const { ask, sent } = serverOf([429], retryAfter);
      expect(await ask(true)).toBe(429);
      expect(sent()).toBe(1);
    },
  );

  test("a request whose last allowed try has failed: the last answer is returned", async () => {
    const { ask, sent } = serverOf([503, 503, 503, 200]);
    expect(await ask(true)).toBe(503);
    expect(sent()).toBe(3);
  });

  test("a request that is aborted while it waits", async () => {
    const { ask, sent } = serverOf([429], "1");
    const stopping = new AbortController();
    const asked = ask(true, stopping.signal);
    stopping.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    expect(sent()).toBe(1);
  });
});

test("no wait is longer than the longest wait, with and without Retry-After", async () => {
  const waits: number[] = [];
  const timer = vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waits.push(ms);
    done();
  }) as typeof setTimeout);
  vi.spyOn(Math, "random").mockReturnValue(1);
  const rules = { retries: 6, longestWaitMs: 1_500, isSafeToRepeat: true, signal: undefined };
  for (const retryAfter of ["1", undefined]) {
    const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    await retrying(async () => ({ response: new Response("{}", { status: 429, headers }) }), rules);
  }
  await retrying(() => Promise.reject(gone), rules).catch(() => undefined);
  timer.mockRestore();
  vi.restoreAllMocks();
  expect(waits).toHaveLength(18);
  expect(Math.max(...waits)).toBe(1_500);
});

test("a 409 to the first try is returned at once", async () => {
  let times = 0;
  const send = async () => {
    times += 1;
    return { response: new Response("{}", { status: 409 }) };
  };
  await retrying(send, { retries: 2, longestWaitMs: 1000, isSafeToRepeat: true, signal: undefined });
  expect(times).toBe(1);
});
