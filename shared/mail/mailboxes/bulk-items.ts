import * as z from "zod";

import { inWords } from "../../http/words.ts";
import { localPartFault } from "./local-part.ts";
import { Mailbox, personName } from "./mailbox.ts";
import type { Person } from "./plan.ts";

const text = (description: string) => z.string().max(1_000).meta({ description });

/** One mailbox of many: what is wrong with it is told of it alone. */
export const BulkItem = z
  .strictObject({
    local_part: text("The part of the address before the @."),
    first_name: text("Given name of who has it."),
    last_name: text("Family name of who has it."),
  })
  .meta({ id: "MailboxBulkItem", description: "A mailbox to create." });
export type BulkItem = z.output<typeof BulkItem>;

const codes = ["invalid_local_part", "invalid_name", "duplicate_in_request", "address_taken", "not_attempted"] as const;

const Failure = z
  .object({
    index: z.int().min(0).meta({ description: "Its place in `items`." }),
    code: z.enum(codes).meta({
      description:
        "Why it was not created. `not_attempted`: the request's time was over; send it again, under another `Idempotency-Key`.",
    }),
    message: z.string().meta({ description: "Why, for people." }),
  })
  .meta({ id: "MailboxBulkFailure", description: "A mailbox that was not created." });
export type Failure = z.output<typeof Failure>;

export const BulkAnswer = z
  .object({
    created: z
      .array(
        z.object({
          index: z.int().min(0).meta({ description: "Its place in `items`." }),
          mailbox: Mailbox.meta({ description: "The mailbox." }),
        }),
      )
      .meta({ description: "The mailboxes that were created, in the order of the request." }),
    failed: z.array(Failure).meta({ description: "Those that were not, in the order of the request." }),
  })
  .meta({ id: "MailboxBulkResponse", description: "What came of each mailbox." });
export type BulkAnswer = z.output<typeof BulkAnswer>;

/** A mailbox that may be created, and its place in the request. */
export type Candidate = { index: number; person: Person };

const Name = personName("A name of a person.");

/** What is wrong with the names of an item; undefined when nothing is. */
function nameFault(item: BulkItem): string | undefined {
  for (const member of ["first_name", "last_name"] as const) {
    const issue = Name.safeParse(item[member], { error: inWords }).error?.issues[0];
    if (issue) return `${member}: ${issue.message}`;
  }
  return undefined;
}

/** What can be told of each item by itself and of those beside it. */
export function sortItems(items: readonly BulkItem[]): { good: Candidate[]; failed: Failure[] } {
  const seen = new Set<string>();
  const good: Candidate[] = [];
  const failed: Failure[] = [];
  for (const [index, item] of items.entries()) {
    const [localFault, namesFault] = [localPartFault(item.local_part), nameFault(item)];
    const person = {
      local_part: item.local_part.trim().toLowerCase(),
      first_name: item.first_name.trim(),
      last_name: item.last_name.trim(),
    };
    if (localFault !== undefined) failed.push({ index, code: "invalid_local_part", message: localFault });
    else if (namesFault !== undefined) failed.push({ index, code: "invalid_name", message: namesFault });
    else if (seen.has(person.local_part)) {
      failed.push({ index, code: "duplicate_in_request", message: "The same address stands further up." });
    } else {
      good.push({ index, person });
      seen.add(person.local_part);
    }
  }
  return { good, failed };
}
