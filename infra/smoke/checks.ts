import { programReads, programWrites } from "./programs.ts";
import { reads } from "./reads.ts";
import type { Check } from "./run.ts";
import { Skip } from "./scene.ts";
import { accountWrites, writes } from "./writes.ts";

const feedback = (isAllowed: boolean): Check => ({
  name: "feedback.submit",
  writes: true,
  run: async ({ api, path, name }) => {
    if (!isAllowed) throw new Skip("feedback cannot be deleted; add --write-feedback to run this check");
    const body = {
      category: "other",
      title: name,
      description: "This feedback is from a smoke test. There is nothing to do.",
    } as const;
    await api.feedback.submit({ ...path, ...body });
  },
});

/** This check is always skipped, because payments cannot be undone. */
const billing: Check = {
  name: "billing: pay, change the plan",
  writes: true,
  run: () => Promise.reject(new Skip("the check would cost money, or leave a checkout open")),
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
