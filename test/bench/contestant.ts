import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { newWorkspace } from "../support/auth.ts";
import { eventOf } from "../support/request.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import type { User } from "../support/world.ts";

/** What a Lambda's process says of an order (lambda.mjs). */
export type Answer = { loadMs: number; ms: number[]; cpuMs: number; statusCode?: number; body?: string };
export type Operation = "read" | "list" | "add";

/** Starts the process of a Lambda. */
export const startLambda = (file: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  fork(join(import.meta.dirname, "lambda.mjs"), [file, ...args], {
    // The log line of each request is part of its work.
    env: { ...process.env, LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });

/** Has a Lambda answer an event some times, one after another. Throws if a response is no success, or the process ends. */
export async function ask(child: ChildProcess, event: object, times: number): Promise<Answer> {
  const waiting = new AbortController();
  const said = ["message", "exit"].map((name) => once(child, name, { signal: waiting.signal }));
  child.send({ event, times });
  const [answer] = (await Promise.race(said)) as [Answer | number];
  waiting.abort();
  if (typeof answer !== "object") throw new Error(`a Lambda's process ended with ${answer}`);
  if ((answer.statusCode ?? 200) >= 300) throw new Error(`${answer.statusCode} ${answer.body}`);
  return answer;
}

/** Has a Lambda that just started answer an event some times, and ends it. */
export async function askOnce(child: ChildProcess, event: object, times: number): Promise<Answer> {
  try {
    return await ask(child, event, times);
  } finally {
    child.kill();
  }
}

/** A new account with workspaces, and the events of the three requests that are compared, as API Gateway builds them. */
export async function newEvents(owner: User, workspaces: number): Promise<Record<Operation, object>> {
  const account = await newRoomyAccount({ owner });
  const ids: string[] = [];
  for (let index = 0; index < workspaces; index++) ids.push(await newWorkspace(account, `Workspace number ${index}`));
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  const sent = { token: owner.token, headers: { "user-agent": "bench" } };
  return {
    read: eventOf("GET", `${path}/${ids[7]}`, sent),
    list: eventOf("GET", `${path}?page=2&page_size=25`, sent),
    add: eventOf("POST", path, { ...sent, body: { name: "" } }),
  };
}
