import { secondsOf, type Result } from "./harness.ts";

/** How long contributors wait for the templates and for the tests. */
export const run = async (): Promise<Result> => ({
  figures: [
    { name: "npm run synth", value: secondsOf(["run", "synth"]), unit: "s", bar: 7 },
    { name: "npm run vitest", value: secondsOf(["run", "vitest"]), unit: "s", bar: 120 },
  ],
});
