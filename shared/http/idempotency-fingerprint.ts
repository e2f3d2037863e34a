import { createHash, createHmac } from "node:crypto";

import type { Key } from "../table/writes.ts";
import type { ParsedInput } from "./input.ts";

const ordered = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * The same for two requests that ask for the same: parsed input, its members in one order. Under the key, which is not
 * stored: a body can have a password in it, which nobody is to guess from here.
 */
export const fingerprintOf = (
  key: string,
  { params, query, body }: Pick<ParsedInput, "params" | "query" | "body">,
): string => createHmac("sha256", key).update(JSON.stringify({ params, query, body }, ordered)).digest("hex");

/** What a request goes by that has a key: its record, and who claimed that first; those of earlier versions do not say. */
export const requestIdOf = ({ PK, SK }: Key, first: string | undefined): string =>
  createHash("sha256")
    .update([PK, SK, ...(first === undefined ? [] : [first])].join(" "))
    .digest("base64url")
    .slice(0, 16);
