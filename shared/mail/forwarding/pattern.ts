import * as z from "zod";

import { localPartFault, lowerAscii } from "../mailboxes/local-part.ts";
import { isPattern } from "../scoped/family.ts";

const canonical = (given: string): string => lowerAscii(given.trim());

/** Explains why a text is neither a local part nor a pattern. Undefined if the text is a local part or a pattern. */
function patternFault(text: string): string | undefined {
  if (text.indexOf("*") !== text.lastIndexOf("*")) return "A pattern has one * at most";
  return localPartFault(text.replace("*", "x"));
}

/** The schema of a local part, or of a pattern for local parts. Its output is in lower case. */
export const AddressPattern = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const message = patternFault(canonical(given));
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite(canonical);

/** The literal parts of a pattern, before and after its `*`. */
function aroundStar(pattern: string): [before: string, after: string] {
  const at = pattern.indexOf("*");
  return [pattern.slice(0, at), pattern.slice(at + 1)];
}

/** Whether a pattern matches a local part. The `*` stands for any characters, also for none. */
function matches(pattern: string, local: string): boolean {
  const [before, after] = aroundStar(pattern);
  return local.length >= before.length + after.length && local.startsWith(before) && local.endsWith(after);
}

/**
 * The patterns that match a local part, in the order of their precedence: the longest first. Of two patterns with the
 * same length, the pattern with more characters before the `*` comes first. Two different patterns that match the same
 * local part never have the same length and also the same number of characters before the `*`.
 */
export function patternsFor(local: string, patterns: readonly string[]): string[] {
  const matching = new Set(patterns.filter((pattern) => isPattern(pattern) && matches(pattern, local)));
  return [...matching].toSorted((a, b) => b.length - a.length || b.indexOf("*") - a.indexOf("*"));
}
