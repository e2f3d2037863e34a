import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    maxWorkers: "100%",
    reporters: [["default", { summary: false }], "./test/support/summary.ts"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
