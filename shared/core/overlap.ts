import * as z from "zod";

/** For how many seconds what is replaced still holds beside what replaces it: up to a week, a day if not said. */
export const overlapSeconds = (description: string) =>
  z
    .int()
    .min(0)
    .max(604_800)
    .default(86_400)
    .meta({ description: `${description}: up to a week, a day if not given.` });
