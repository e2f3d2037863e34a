import * as z from "zod";

const limitBytes = 8_192;
const limitLevels = 20;

/** Whether a value has at most so many objects and lists inside of one another, itself counted. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}

/** An object of the customer's own: bounded in bytes of JSON, and in depth, which JSON.stringify has to survive. */
export const Attributes = z
  .record(z.string(), z.unknown())
  .refine((attributes) => isWithin(attributes, limitLevels), {
    error: `Attributes may be nested ${limitLevels} levels deep at most`,
    abort: true,
  })
  .refine((attributes) => Buffer.byteLength(JSON.stringify(attributes)) <= limitBytes, {
    error: "Attributes may hold 8 KiB at most",
  });
