import * as z from "zod";

import { requireToHold } from "../access/escalation.ts";
import { line, orNothing } from "../core/text.ts";
import type { Context } from "../http/route.ts";
import { runtime } from "../http/runtime.ts";
import { urlFault } from "./address.ts";
import { eventTypes } from "./event-types.ts";
import { EventPattern, matches } from "./webhook.ts";

const allEventTypes = eventTypes();

/** The event types to suggest for a pattern that matches no type: the types with the same first part, or all types. */
function alternatives(pattern: string): string {
  const family = allEventTypes.filter(({ type }) => type.startsWith(`${pattern.split(".")[0]}.`));
  return (family.length > 0 ? family : allEventTypes).map(({ type }) => type).join(", ");
}

export const WebhookUrl = z
  .string()
  .superRefine((url, context) => {
    const fault = urlFault(url, { allowLoopback: runtime().env.WEBHOOK_LOOPBACK === "allow" });
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  })
  .meta({
    description:
      "The URL to which events are posted: https, at most 2,048 characters, with a host on the public internet, without credentials or a fragment.",
    examples: ["https://example.com/webhooks"],
  });

export const EventTypes = z
  .array(EventPattern)
  .min(1)
  .max(50)
  .superRefine((patterns, context) => {
    for (const [index, pattern] of patterns.entries()) {
      const isPattern = EventPattern.safeParse(pattern).success;
      if (!isPattern || allEventTypes.some(({ type }) => matches(pattern, type))) continue;
      const message = `No event type matches this. The event types are: ${alternatives(pattern)}`;
      context.addIssue({ code: "custom", path: [index], message });
    }
  })
  // Each type is stored once. Webhooks that an earlier version stored can have a type twice.
  .overwrite((patterns) => [...new Set(patterns)])
  .meta({ description: "The events to send: 1 to 50 event types, prefixes with `.*`, or `*` for every event." });

export const WebhookDescription = orNothing(line({ least: 0, most: 500, description: "What the webhook is for." }));

/** The event types, as a sentence of a route's description. */
export const eventTypesNote = `Event types: ${allEventTypes.map(({ type }) => `\`${type}\``).join(", ")}.`;

/**
 * Requires that the caller may see every event of the account that the patterns match. The receiver at the webhook's
 * URL gets all of these events. Throws 403 `would_escalate`, which names the missing capabilities.
 */
export async function requireToSee(accountId: string, patterns: readonly string[], context: Context): Promise<void> {
  const matched = allEventTypes.filter(({ type }) => patterns.some((pattern) => matches(pattern, type)));
  const needed = new Set(matched.map(({ seenWith }) => seenWith));
  await requireToHold(
    context,
    accountId,
    [...needed].map((capability) => ({ capability })),
  );
}
