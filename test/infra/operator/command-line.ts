import { execFile } from "node:child_process";
import { resolve } from "node:path";

import { operate, type CommandResult } from "../../../infra/operator/operate.ts";

const main = resolve(import.meta.dirname, "../../../infra/operator/operate.ts");

/** Runs the operator's command as a person would, in a process and an environment of its own. */
export const operatorIn = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  new Promise<CommandResult>((settle) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) =>
      settle({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });

/**
 * The same in this process, on the tests' table: what it says and would exit with. The environment stays as it was,
 * because a stage sets variables of the process.
 */
export async function operator(...args: string[]): Promise<CommandResult> {
  const before = { ...process.env };
  try {
    return await operate(args);
  } finally {
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(before, name)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
