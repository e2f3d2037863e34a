import type { Reader } from "../../table/table.ts";
import { placesIn, type Place } from "../forwarding/here.ts";
import { isSameScope, placesOf } from "../forwarding/loops.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { scopesAround, type MailScope } from "../scoped/family.ts";

/** A copy of a mail: for a mailbox of the account by its id, or for an address elsewhere. */
export type MailCopy = { address: string; mailbox_id: string | null };

/** How often copies are sent on from one mailbox of the account to the next, and how many there are at most. */
const longestChain = 4;
const mostCopies = 100;

const addressOf = ({ mailbox, domain }: FoundMailbox): string => `${mailbox.local_part}@${domain.name}`;

type Step = { found: FoundMailbox; by: MailScope | undefined };
type Target = { address: string; by: MailScope; homeId: string | undefined };

/**
 * Where copies of the mail of a mailbox go, by the rules that flow around it, and on from the mailboxes of the account
 * that get one: each address once, and never back to the mailbox itself. A rule sends no copies on of what rules of its
 * own scope brought.
 */
export async function copiesOf(table: Reader, accountId: string, first: FoundMailbox): Promise<MailCopy[]> {
  const mailboxes = new Map([[first.mailbox.id, first]]);
  const outside = new Set<string>();
  let steps: Step[] = [{ found: first, by: undefined }];
  for (let chain = 0; chain < longestChain && steps.length > 0; chain += 1) {
    const targets = await targetsFrom(table, accountId, steps);
    const here = await placesIn(
      table,
      accountId,
      targets.map(({ address }) => address),
    );
    const next: Step[] = [];
    for (const target of targets) {
      if (mailboxes.size + outside.size > mostCopies) break;
      const way = wayOf(target, here.get(target.address));
      if (way === "outside") outside.add(target.address);
      else if (way !== "nowhere" && !mailboxes.has(way.mailbox.id)) {
        mailboxes.set(way.mailbox.id, way);
        next.push({ found: way, by: target.by });
      }
    }
    steps = next;
  }
  return [
    ...[...mailboxes.values()]
      .filter(({ mailbox }) => mailbox.id !== first.mailbox.id)
      .map((found) => ({ address: addressOf(found), mailbox_id: found.mailbox.id })),
    ...[...outside].map((address) => ({ address, mailbox_id: null })),
  ];
}

/**
 * Where a copy goes. What was a mailbox of the account stays in the domain that it was in; whoever agreed elsewhere is
 * elsewhere until the account has proved that their domain is its own.
 */
function wayOf({ homeId }: Target, place: Place | undefined): FoundMailbox | "outside" | "nowhere" {
  if (homeId !== undefined) return (place?.domain.id === homeId && place.mailbox) || "nowhere";
  if (!place?.isProved) return "outside";
  return place.mailbox ?? "nowhere";
}

/** The targets of all rules that flow and apply to some mailboxes. */
async function targetsFrom(table: Reader, accountId: string, steps: readonly Step[]): Promise<Target[]> {
  const wanted = steps.flatMap(({ found: { domain }, by }) =>
    scopesAround(accountId, domain).filter((scope) => by === undefined || !isSameScope(scope, by)),
  );
  const scopes = [...new Map(wanted.map((scope) => [`${scope.type}#${scope.id}`, scope])).values()];
  const places = await Promise.all(scopes.map((scope) => placesOf(table, accountId, scope)));
  return places.flatMap((some, index) =>
    some.flatMap(({ target_email: address, flows, target_domain_id: homeId }) => {
      const by = scopes[index];
      return flows && by ? [{ address, by, homeId }] : [];
    }),
  );
}
