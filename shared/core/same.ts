import { isDeepStrictEqual } from "node:util";

/** Whether a thing has all these members with these values already: what would set them changes nothing. */
export const isSame = <T extends object>(thing: T, members: { [M in keyof T]?: T[M] | undefined }): boolean =>
  Object.entries(members).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(thing[name as keyof T], value),
  );
