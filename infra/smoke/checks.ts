import { programReads, programWrites } from "./programs.ts";
import { reads } from "./reads.ts";
import type { Check } from "./run.ts";
import { Skip } from "./scene.ts";
import { accountWrites, writes } from "./writes.ts";

const feedback = (isAllowed: boolean): Check => ({
  name: "feedback.submit",
  writes: true,
  run: async ({ api, path, name }) => {
    if (!isAllowed) throw new Skip("it cannot be taken back: --write-feedback does it");
    const body = {
      category: "other",
      title: name,
      description: "A smoke test was here. Nothing is to be done.",
    } as const;
    await api.feedback.submit({ path, body });
  },
});

/** Never run, as payments cannot be undone. */
const billing: Check = {
  name: "billing: pay, change the plan",
  writes: true,
  run: () => Promise.reject(new Skip("it costs money, or opens a checkout that stays open")),
};

/** All checks, in the order in which they run. */
export const checksFor = ({ writeFeedback }: { writeFeedback: boolean }): readonly Check[] => [
  ...reads,
  ...programReads,
  ...writes,
  ...accountWrites,
  ...programWrites,
  billing,
  feedback(writeFeedback),
];
