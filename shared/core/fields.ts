import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

const limitBytes = 8_192;
const limitLevels = 20;

/** Whether objects and lists are nested at most `levels` deep. The value itself is the first level. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}

type MemberPath = (string | number)[];

/** The paths of strings and member names with half a surrogate pair, which has no UTF-8 form. */
function malformedTexts(value: unknown, path: MemberPath = []): MemberPath[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): MemberPath[] => {
    const memberPath = [...path, Array.isArray(value) ? Number(name) : name];
    return name.isWellFormed() ? malformedTexts(member, memberPath) : [memberPath];
  });
}

/**
 * A free-form object of the customer: at most 8 KiB of JSON. The depth is limited too, because deep values overflow the
 * stack of JSON.stringify.
 */
export const Attributes = z
  .record(z.string(), z.unknown())
  .refine((attributes) => isWithin(attributes, limitLevels), {
    error: `Attributes can be nested ${limitLevels} levels deep at most`,
    abort: true,
  })
  .refine((attributes) => Buffer.byteLength(JSON.stringify(attributes)) <= limitBytes, {
    error: "Attributes can have 8 KiB of JSON at most",
    abort: true,
  })
  .superRefine((attributes, context) => {
    for (const path of malformedTexts(attributes)) {
      context.addIssue({
        code: "custom",
        path,
        message: "This text has half a surrogate pair, which is not a character",
      });
    }
  });

/**
 * The schema for the time during which an old secret still works beside the new secret, in seconds. The time is at most
 * a week, and by default a day.
 */
export const gracePeriodSeconds = (description: string) =>
  z
    .int()
    .min(0)
    .max(604_800)
    .default(86_400)
    .meta({ description: `${description}. At most a week. The default is a day.` });

/** Whether an object already has each value that `members` gives. Undefined values are ignored. */
export const isSame = <T extends object>(object: T, members: { [M in keyof T]?: T[M] | undefined }): boolean =>
  Object.entries(members).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(object[name as keyof T], value),
  );
