import { execFile } from "node:child_process";
import { resolve } from "node:path";

import { operate, type CommandResult } from "../../../infra/operator/operate.ts";

const main = resolve(import.meta.dirname, "../../../infra/operator/operate.ts");

/** Runs the operator's command in a new process with this environment, as a person does. */
export const operatorIn = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  new Promise<CommandResult>((settle) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) =>
      settle({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });

/**
 * Runs the operator's command in this process, on the tests' table. Resolves to its output and its exit code. Restores
 * the environment afterwards, because a command with a stage sets environment variables.
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
