import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { clock, dayMs, hourMs, minuteMs, setClockAhead } from "../../../shared/core/time.ts";
import { reasonOf, StartProblem, startCommand } from "../command-line.ts";
import { type Answer, isJson, jsonAnswer, parseJson } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";

const ClockState = z.object({ ahead_ms: z.int().min(0) });

/** The time by which a request moves the clock ahead. */
const Advance = z
  .strictObject({
    days: z.int().min(0).max(3_650).default(0),
    hours: z.int().min(0).max(87_600).default(0),
    minutes: z.int().min(0).max(525_600).default(0),
  })
  .refine(({ days, hours, minutes }) => days + hours + minutes > 0, {
    error: "Give the days, hours or minutes to move the clock ahead",
  });

/** The latest time of the clock, in milliseconds since 1970. Times are compared as text, with a year of four digits. */
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

const fileIn = (dataDir: string): string => join(dataDir, "clock.json");

/**
 * Sets the clock of this process as far ahead as the product's clock at its last run. The product and the commands that
 * use its data call this function. Throws `StartProblem` if the file of the clock is not valid.
 */
export const restoreClock = async (dataDir: string): Promise<void> => setClockAhead(await readAhead(dataDir));

/**
 * Reads how far ahead the product's clock was at its last run, in milliseconds; 0 if the file does not exist. Throws
 * `StartProblem` if the file is not valid, because without this offset stored times would be in the future.
 */
async function readAhead(dataDir: string): Promise<number> {
  const file = fileIn(dataDir);
  if (!existsSync(file)) return 0;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new StartProblem(`${file} cannot be read: ${reasonOf(error)}`);
  });
  const { success, data } = ClockState.safeParse(parseJson(text));
  if (success) return data.ahead_ms;
  throw new StartProblem(
    `${file} does not say how far the clock was moved. Write {"ahead_ms":N} into the file, where N is the number of milliseconds, or delete all data: ${startCommand(dataDir, "--reset")}`,
  );
}

/**
 * `/_local/clock`: the product's clock. The clock never goes back. Access tokens use the machine's time instead.
 * - GET: the time.
 * - POST: moves the clock ahead by `days`, `hours` and `minutes`, and answers after `onMoved`, which does the work that
 *   is due. A time after the year 9999 is refused with 422.
 */
export async function clockPaths(dataDir: string, onMoved: () => Promise<void>): Promise<LocalPath[]> {
  let aheadMs = await readAhead(dataDir);
  setClockAhead(aheadMs);
  const timeAnswer = (status: number): Answer =>
    jsonAnswer(status, { now: clock().toISOString(), ahead_seconds: Math.round(aheadMs / 1000) });
  const move = async ({ headers, body }: LocalRequest): Promise<Answer> => {
    if (!isJson({ headers })) return jsonAnswer(415, { message: "Send the body as `Content-Type: application/json`." });
    const { success, data, error } = Advance.safeParse(parseJson(body.toString()));
    if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
    const newAheadMs = aheadMs + data.days * dayMs + data.hours * hourMs + data.minutes * minuteMs;
    if (Date.now() + newAheadMs > latestMs)
      return jsonAnswer(422, { message: "The clock cannot be later than the year 9999." });
    aheadMs = newAheadMs;
    await writeFile(`${fileIn(dataDir)}.new`, JSON.stringify({ ahead_ms: aheadMs }), { mode: 0o600, flush: true });
    await rename(`${fileIn(dataDir)}.new`, fileIn(dataDir));
    setClockAhead(aheadMs);
    await onMoved();
    return timeAnswer(200);
  };
  return [
    { method: "GET", path: "/_local/clock", handle: () => timeAnswer(200) },
    { method: "POST", path: "/_local/clock", handle: move },
  ];
}
