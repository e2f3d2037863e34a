import { afterEach, expect, test, vi } from "vitest";

import { readAgain } from "../../../shared/table/read-again.ts";

afterEach(() => void vi.restoreAllMocks());

/** Records the waits, each as long as it can be. The test itself does not wait. */
function waits(): number[] {
  const waited: number[] = [];
  vi.spyOn(Math, "random").mockReturnValue(1);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waited.push(ms);
    done();
  }) as typeof setTimeout);
  return waited;
}

test("a found result is returned at once, and there is no wait before the second read", async () => {
  const waited = waits();
  const answers = [undefined, "found"];
  expect(await readAgain(async () => answers.shift())).toBe("found");
  expect(waited).toEqual([]);
});

test("if nothing is found in thirty reads, a 503 is thrown, and each wait between the reads is at most 80 ms", async () => {
  const waited = waits();
  let readings = 0;
  const never = async () => void (readings += 1);
  await expect(readAgain(never)).rejects.toMatchObject({ code: "busy", extras: { retry_after: 1 } });
  expect(readings).toBe(30);
  expect(waited).toEqual([10, 20, 40, ...Array.from({ length: 25 }, () => 80)]);
});
