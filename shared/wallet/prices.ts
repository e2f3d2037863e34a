import * as z from "zod";

import type { Day } from "../core/days.ts";
import { PlanId, plans, type Plan } from "./catalogue.ts";

const MinorUnits = z.int().min(0).max(100_000_000);

const Prices = z.strictObject({
  minimum: MinorUnits,
  mailbox: MinorUnits,
  dedicatedIp: MinorUnits,
  sentMails: MinorUnits,
});

/**
 * What plans cost from months on, the oldest first; until then, and for plans that a list leaves out, what was before.
 * Invoices are made by the month, from what was used on its days: with prices that begin with a month no day that is
 * recorded already gets another price, as long as the lists of months that have begun stay as they are.
 */
export const PriceLists = z
  .array(
    z.strictObject({
      from: z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])-01$/, "the first day of a month"),
      plans: z.partialRecord(PlanId, Prices),
    }),
  )
  .max(12, "12 lists at most, as the environment of a function is small: put old ones into catalogue.ts")
  .refine((lists) => lists.every(({ from }, index) => index === 0 || (lists[index - 1]?.from ?? "") < from), {
    error: "the lists are not in the order of their months",
  });
type PriceLists = z.output<typeof PriceLists>;

let read: { text: string; lists: PriceLists } = { text: "[]", lists: [] };

/** The lists of this process, in PLAN_PRICES as JSON. */
function listsHere(): PriceLists {
  const text = process.env["PLAN_PRICES"] ?? "[]";
  if (text !== read.text) read = { text, lists: PriceLists.parse(JSON.parse(text)) };
  return read.lists;
}

/** A plan with its prices on a day. */
export function planAt(id: PlanId, day: Day): Plan {
  const found = listsHere().findLast((list) => list.from <= day && list.plans[id])?.plans[id];
  if (found === undefined) return plans[id];
  const { minimum, ...prices } = found;
  return { name: plans[id].name, minimum, prices };
}
