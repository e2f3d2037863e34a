import { createHmac } from "node:crypto";

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
