import { execFile } from "node:child_process";
import { resolve } from "node:path";

const main = resolve(import.meta.dirname, "../../../infra/operator/main.ts");

/** Runs the operator's command as a person would, in an environment. */
export const operatorIn = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>((settle) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) =>
      settle({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });
