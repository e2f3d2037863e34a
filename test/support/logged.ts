import { onTestFinished, vi } from "vitest";

import { runtime } from "../../shared/http/runtime.ts";

/** The lines that are logged until the test ends, at the most detailed level. */
export function logged(): string[] {
  const { env } = runtime();
  const lines: string[] = [];
  const { LOG_LEVEL } = env;
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => lines.push(String(chunk)) > 0);
  env.LOG_LEVEL = "debug";
  onTestFinished(() => {
    env.LOG_LEVEL = LOG_LEVEL;
    spy.mockRestore();
  });
  return lines;
}
