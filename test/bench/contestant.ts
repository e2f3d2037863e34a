import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { newWorkspace } from "../support/auth.ts";
import { eventOf } from "../support/request.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import type { User } from "../support/world.ts";
import { inTurns, mapValues } from "./harness.ts";

/** The answer of a Lambda's process to an order (lambda.mjs). */
export type Answer = { loadMs: number; ms: number[]; cpuMs: number; statusCode?: number; body?: string };

/**
 * Starts the process of a Lambda. It ends when its variable goes out of scope. `ask` makes it answer an event several
 * times, one after another. `ask` throws if a response is no success, or if the process ends.
 */
export function startLambda(file: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const child = fork(join(import.meta.dirname, "lambda.mjs"), [file, ...args], {
    // The log line of each request is part of its work.
    env: { ...process.env, LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const ask = async (event: object, times: number): Promise<Answer> => {
    child.send({ event, times });
    const [answer] = (await Promise.race([once(child, "message"), ended])) as [Answer | number];
    if (typeof answer !== "object") throw new Error(`a Lambda's process ended with ${answer}`);
    if ((answer.statusCode ?? 200) >= 300) throw new Error(`${answer.statusCode} ${answer.body}`);
    return answer;
  };
  return { ask, [Symbol.dispose]: () => child.kill() };
}

/**
 * Makes all runners answer in turns, `times` requests in each round. Before these rounds, one round of `warmUp`
 * requests warms the runners up. If the answers to a read differ in this round, `race` throws.
 */
export async function race(
  runners: Record<string, (times: number) => Promise<Answer>>,
  { rounds, times, warmUp }: { rounds: number; times: number; warmUp: number },
): Promise<Record<string, Answer[]>> {
  const asking = (count: number) => mapValues(runners, (run) => () => run(count));
  const bodies: unknown[] = [];
  for (const [name, [first]] of Object.entries(await inTurns(1, asking(warmUp)))) {
    if (first?.statusCode === 200) bodies.push(JSON.parse(first.body ?? ""));
    if (!isDeepStrictEqual(bodies.at(-1), bodies[0])) throw new Error(`${name} answers otherwise: ${first?.body}`);
  }
  return inTurns(rounds, asking(times));
}

/** Makes the events of the three compared requests, as API Gateway builds them, in a new account with workspaces. */
export async function newEvents(owner: User, workspaces: number) {
  const account = await newRoomyAccount({ owner });
  const ids: string[] = [];
  for (let index = 0; index < workspaces; index++) ids.push(await newWorkspace(account, `Workspace number ${index}`));
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  const sent = { token: owner.token, headers: { "user-agent": "bench" } };
  return {
    get: eventOf("GET", `${path}/${ids[7]}`, sent),
    list: eventOf("GET", `${path}?page=2&page_size=25`, sent),
    add: eventOf("POST", path, { ...sent, body: { name: "" } }),
  };
}
