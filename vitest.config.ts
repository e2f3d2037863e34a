import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

import SlowestFirst from "./test/support/slowest-first.ts";

// Node runs the program's TypeScript as it is; nothing has to be transformed for tests.
const experimental = { viteModuleRunner: false, nodeLoader: false };
// An engine for each process.
const setupFiles = ["test/support/setup.ts"];
const common = { testTimeout: 60_000, hookTimeout: 60_000, experimental, setupFiles };

/**
 * Tests that change their process for good (its environment, or the state it keeps of it), that read their whole table,
 * or that go on with their clock after a failure. Each has a process of its own.
 */
const apart = [
  "test/browser/invitation.test.ts",
  "test/budgets.test.ts",
  "test/functions/workers/{advance-*,end-grants,purge-mailboxes}.test.ts",
  "test/infra/cdk/as-shipped.test.ts",
  "test/infra/local/read-only.test.ts",
  "test/infra/mail-server/{mail-server,start}.test.ts",
  "test/infra/operator/person.test.ts",
  "test/infra/restore/*.test.ts",
  "test/shared/auth/decisions.test.ts",
  "test/stored/*-edition.test.ts",
];
const freezing = process.env["EDITION"] ? ["test/stored/freeze.ts"] : [];

export default defineConfig({
  test: {
    ...common,
    globalSetup: ["test/support/global-setup.ts"],
    // One more than there are processors: some tests wait for time-outs and child processes.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowestFirst },
    reporters: [["default", { summary: false }], "./test/support/summary.ts"],
    projects: [
      // `npm run freeze`, which writes what an edition stores.
      { extends: true, test: { ...common, name: "freeze", include: freezing } },
      { extends: true, test: { ...common, name: "apart", include: apart } },
      {
        extends: true,
        test: {
          ...common,
          name: "together",
          include: ["test/**/*.test.ts"],
          exclude: apart,
          isolate: false,
        },
      },
    ],
  },
});
