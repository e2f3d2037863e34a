import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { mock } from "node:test";

import { readWords } from "../../infra/openapi/command-line.ts";
import "../support/rsa-keys.ts";
import { startSurroundings } from "../support/surroundings.ts";

readWords("Usage: npm run examples\n\nCalls every operation, and writes infra/openapi/examples.json.");

/** The time at which the examples happen. */
const start = Date.parse("2026-03-02T09:15:00Z");
mock.timers.enable({ apis: ["Date"], now: start });
// Before the modules are loaded that read the environment.
const tearDown = await startSurroundings();
try {
  const { hookCalls } = await import("../support/table-calls.ts");
  // Each transaction takes a second, so that things which are made one after another have different times.
  hookCalls(async ({ operation }, next) => {
    const answer = await next();
    if (operation === "TransactWriteItems") mock.timers.tick(1_000);
    return answer;
  });
  const { recordExamples } = await import("./record.ts");
  const recorded = await recordExamples((seconds) => mock.timers.setTime(start + seconds * 1_000));
  const file = resolve(import.meta.dirname, "../../infra/openapi/examples.json");
  await writeFile(file, `${JSON.stringify(recorded, null, 2)}\n`);
  process.stdout.write(`${Object.keys(recorded).length} operations in ${file}\n`);
} finally {
  await tearDown();
}
