import { afterEach, expect, test, vi } from "vitest";

import { readAgain } from "../../../shared/table/read-again.ts";

afterEach(() => void vi.restoreAllMocks());

/** The longest waits there are, none of which is waited for. */
function waits(): number[] {
  const waited: number[] = [];
  vi.spyOn(Math, "random").mockReturnValue(1);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waited.push(ms);
    done();
  }) as typeof setTimeout);
  return waited;
}

test("a found result is answered at once, and a second read does not wait", async () => {
  const waited = waits();
  const answers = [undefined, "found"];
  expect(await readAgain(async () => answers.shift())).toBe("found");
  expect(waited).toEqual([]);
});

test("who never finds one thing has read thirty times, with waits that stay short, and is told 503", async () => {
  const waited = waits();
  let readings = 0;
  const never = async () => void (readings += 1);
  await expect(readAgain(never)).rejects.toMatchObject({ code: "busy", extras: { retry_after: 1 } });
  expect(readings).toBe(30);
  expect(waited).toEqual([10, 20, 40, ...Array.from({ length: 25 }, () => 80)]);
});
