import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { changeJournalOf } from "../shared/changes/record.ts";
import type { Route } from "../shared/http/route.ts";
import { readEntries } from "../shared/table/journal.ts";
import { callRest } from "./support/call.ts";
import { storedOf } from "./support/entry-points.ts";
import { examples, type Example } from "./support/examples.ts";
import { faults, withFault, type Fault } from "./support/faults.ts";
import type { Answer } from "./support/request.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import { isExhaustive, sampleOf, seed } from "./support/sample.ts";
import { testTable, type Account } from "./support/world.ts";

type Scene = { account: Account; example: Example; send: () => Promise<Answer> };

async function sceneOf(route: Route): Promise<Scene> {
  const account = await newRoomyAccount();
  const example = (await examples[route.name]?.(account)) ?? {};
  const headers = { "idempotency-key": randomUUID() };
  return { account, example, send: () => callRest(route, example, account.owner.token, headers) };
}

/**
 * The recorded changes of a function in an account: the number of requests that made them, and the number of changes.
 */
async function effectsOf(route: Route, { id }: Account): Promise<{ requests: number; changes: number }> {
  const keep = (row: Record<string, unknown>) => row["action"] === route.name && row["resource_type"] !== "account";
  const { rows } = await readEntries(testTable(), changeJournalOf(id), { skip: 0, take: 1_000, keep }, new Date());
  return { requests: new Set(rows.map((row) => row["request_id"])).size, changes: rows.length };
}

/**
 * The faults that are worth trying at a call: all for a transaction, some for other writes, and `throttled` for a read.
 */
const worthTrying = (command: string): readonly Fault[] => {
  if (command === "TransactWriteItems") return faults;
  if (command === "PutItem") return ["throttled", "answer lost once", "answer lost"];
  return command === "UpdateItem" ? ["throttled", "in conflict", "answer lost once"] : ["throttled"];
};

type Case = { fault: Fault; at: number };

/**
 * All faults that are worth trying at all calls. A sampling run tries only one fault at the last call, and two others.
 */
function casesOf(calls: readonly string[], what: string): Case[] {
  const all = calls.flatMap((command, at) => worthTrying(command).map((fault) => ({ fault, at })));
  if (isExhaustive) return all;
  const [last] = sampleOf(
    all.filter(({ at }) => at === calls.length - 1),
    1,
    `${what} last`,
  );
  const others = sampleOf(
    all.filter((one) => one !== last),
    2,
    what,
  );
  return [...(last ? [last] : []), ...others];
}

async function tryFault(route: Route, scene: Scene, { fault, at }: Case, changes: number): Promise<void> {
  const before = await storedOf(scene.account);
  const { value: answer } = await withFault(fault, at, scene.send);
  const place = `${fault} at call ${at}, TEST_SEED=${seed()}: ${answer.text}`;
  if (answer.status !== route.http.status) {
    expect(answer.body, place).toMatchObject({ status: 503 });
    expect(Number(answer.headers["retry-after"]), place).toBeGreaterThan(0);
    if (fault !== "answer lost" && !route.resumes) expect(await storedOf(scene.account), place).toEqual(before);
  }
  const again = await scene.send();
  if (route.http.method === "POST") {
    const isShown = route.shownOnce.length > 0 && again.body.code === "secret_already_shown";
    if (!isShown) expect(again.status, place).toBe(route.http.status);
    const effects = await effectsOf(route, scene.account);
    expect(effects.changes, place).toBe(changes);
    // A preview has no effect to repeat.
    const isEffectless = route.name === "auth.invitations.preview";
    if (!route.resumes) expect(effects.requests, place).toBe(isEffectless ? 0 : 1);
  } else {
    // Either request may have done the work. The second deletion has nothing left to delete if the first one is done.
    expect([route.http.status, ...(route.http.method === "DELETE" ? [404, 409] : [])], place).toContain(again.status);
  }
}

/**
 * The number of cases at the same time. It is small, because every new account is put into the list of all accounts.
 */
const atOnce = 4;

describe.each(routes.map((route) => [route.name, route] as const))("%s", (_, route) => {
  test(
    "succeeds, or gives a 503 after which it can be repeated, whichever call of the table fails and how",
    { timeout: 60_000 },
    async () => {
      const scene = await sceneOf(route);
      const { value, calls } = await withFault(undefined, -1, scene.send);
      const { changes } = await effectsOf(route, scene.account);
      expect(value.status).toBe(route.http.status);
      expect(calls.length).toBeGreaterThan(0);
      // A route that only reads changes nothing, so its cases share one scene.
      const isRead = route.access === "read";
      const next = casesOf(calls, route.name).values();
      const worker = async () => {
        for (const one of next) await tryFault(route, isRead ? scene : await sceneOf(route), one, changes);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
    },
  );
});
