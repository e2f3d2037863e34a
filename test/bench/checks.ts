import { secondsOf, type Result } from "./harness.ts";

/** The time of the checks for which contributors wait: the templates and the tests. */
export const run = async (): Promise<Result> => ({
  figures: [
    { name: "npm run synth", value: secondsOf(["run", "synth"]), unit: "s", bar: 7 },
    { name: "npm run vitest", value: secondsOf(["run", "vitest"]), unit: "s", bar: 120 },
  ],
});
