import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

const limitBytes = 8_192;
const limitLevels = 20;

/** Whether objects and lists are nested at most `levels` deep in a value, the value itself included. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}

type MemberPath = (string | number)[];

/** The places of strings and member names with half a surrogate pair, which is no character and has no UTF-8 form. */
function brokenTexts(value: unknown, place: MemberPath = []): MemberPath[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [place];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): MemberPath[] => {
    const inside = [...place, Array.isArray(value) ? Number(name) : name];
    return name.isWellFormed() ? brokenTexts(member, inside) : [inside];
  });
}

/**
 * A free-form object of the customer. Its JSON is limited in bytes, and its depth is limited so that JSON.stringify can
 * handle it.
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
    for (const path of brokenTexts(attributes)) {
      context.addIssue({
        code: "custom",
        path,
        message: "This text has half a surrogate pair, which is not a character",
      });
    }
  });

/**
 * The schema of an overlap in seconds, during which the old secret works in addition to the new one: up to a week, a
 * day by default.
 */
export const gracePeriodSeconds = (description: string) =>
  z
    .int()
    .min(0)
    .max(604_800)
    .default(86_400)
    .meta({ description: `${description}. At most a week. The default is a day.` });

/**
 * Whether an object already has all given values, so that setting them would change nothing. Undefined values are
 * ignored.
 */
export const isSame = <T extends object>(thing: T, members: { [M in keyof T]?: T[M] | undefined }): boolean =>
  Object.entries(members).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(thing[name as keyof T], value),
  );
