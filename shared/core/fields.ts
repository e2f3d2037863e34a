import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

const limitBytes = 8_192;
const limitLevels = 20;

/** Whether a value has at most so many objects and lists inside of one another, itself counted. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}

type Place = (string | number)[];

/** The places of texts, and of names of members, that have half a surrogate pair: no character, and no UTF-8. */
function brokenTexts(value: unknown, place: Place = []): Place[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [place];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): Place[] => {
    const inside = [...place, Array.isArray(value) ? Number(name) : name];
    return name.isWellFormed() ? brokenTexts(member, inside) : [inside];
  });
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
    abort: true,
  })
  .superRefine((attributes, context) => {
    for (const path of brokenTexts(attributes)) {
      context.addIssue({ code: "custom", path, message: "Half a surrogate pair is no character" });
    }
  });

/** For how many seconds what is replaced still holds beside what replaces it: up to a week, a day if not said. */
export const overlapSeconds = (description: string) =>
  z
    .int()
    .min(0)
    .max(604_800)
    .default(86_400)
    .meta({ description: `${description}: up to a week, a day if not given.` });

/** Whether a thing has all these members with these values already: what would set them changes nothing. */
export const isSame = <T extends object>(thing: T, members: { [M in keyof T]?: T[M] | undefined }): boolean =>
  Object.entries(members).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(thing[name as keyof T], value),
  );
