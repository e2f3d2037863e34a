import * as z from "zod";

const word = "[a-z][a-z0-9_]*";

const everything = "*";

/** A pattern of event types: one type, all types under a prefix, or all types. */
export const EventPattern = z
  .string()
  .max(100)
  .regex(new RegExp(`^(?:\\*|${word}(?:\\.${word})*\\.(?:\\*|${word}))$`), {
    error: "Write *, a prefix with .* at its end, or an event type",
  })
  .meta({
    description:
      "A pattern of event types: one type (`workspace.created`), every type under a prefix (`auth.*`, `auth.group.*`), or every event (`*`).",
    examples: ["workspace.*"],
  });

/** Whether a pattern matches an event type. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === everything) return true;
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
