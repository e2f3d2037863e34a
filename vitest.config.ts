import { defineConfig } from "vitest/config";

const common = { pool: "forks" as const, testTimeout: 20_000, hookTimeout: 20_000 };

/** Tests that change what a process has one of: its environment, its clock, its servers. */
const apart = ["infra", "browser", "shared/providers", "functions/workers", "bench"].map(
  (part) => `test/${part}/**/*.test.ts`,
);

export default defineConfig({
  test: {
    ...common,
    globalSetup: ["test/support/global-setup.ts"],
    // One more than there are processors: some tests wait for time-outs and child processes.
    maxWorkers: "150%",
    reporters: [["default", { summary: false }], "./test/support/summary.ts"],
    projects: [
      // Most share a process with others, which spares loading everything for each file.
      {
        extends: true,
        test: { ...common, name: "together", include: ["test/**/*.test.ts"], exclude: apart, isolate: false },
      },
      { extends: true, test: { ...common, name: "apart", include: apart } },
    ],
  },
});
