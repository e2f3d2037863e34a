import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { mock } from "node:test";

import { routes } from "../../functions/routes.ts";
import { readWords } from "../../infra/openapi/command-line.ts";
import "../support/rsa-keys.ts";

readWords("Usage: npm run examples\n\nCalls every operation, and writes infra/openapi/examples.json.");

/** The time at which the examples happen. */
const start = Date.parse("2026-03-02T09:15:00Z");
const file = resolve(import.meta.dirname, "../../infra/openapi/examples.json");
const before = await readFile(file, "utf8");

/** Calls every operation, and returns the examples as JSON. */
async function record(): Promise<string> {
  mock.timers.enable({ apis: ["Date"], now: start });
  // Imported now, because the file must have examples of new operations first. The surroundings must start before the
  // modules that read the environment are imported.
  const { startSurroundings } = await import("../support/surroundings.ts");
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
    process.stdout.write(`${Object.keys(recorded).length} operations in ${file}\n`);
    return `${JSON.stringify(recorded, null, 2)}\n`;
  } finally {
    await tearDown();
  }
}

// The OpenAPI document and the pages, which the product needs for its answers, need an example of every operation.
const blanks = routes.map(
  ({ name, http: { status } }) => [name, { arguments: {}, status, answer: { items: [{}] } }] as const,
);
await writeFile(file, JSON.stringify({ ...Object.fromEntries(blanks), ...JSON.parse(before) }));
let after = before;
try {
  after = await record();
} finally {
  await writeFile(file, after);
}
