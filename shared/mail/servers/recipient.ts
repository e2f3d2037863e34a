import { readHeads } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import { withoutTag, destinationsOf, type Destination } from "../forwarding/destinations.ts";
import { isSameScope, targetsOf } from "../forwarding/loops.ts";
import { rules } from "../forwarding/rule.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { scopesAround, type MailScope } from "../scoped/family.ts";
import { findRecipient } from "./find-account.ts";

/**
 * The destination of mail for an address. `none`: the domain is here, but no mailbox has the address. `unknown`: the
 * domain is not here.
 */
type Route =
  | {
      kind: "mailbox" | "alias" | "catch_all";
      mailbox: string;
      mailbox_id: string;
      account_id: string;
      /** The copies that forwarding rules make. */
      copies: MailCopy[];
    }
  | { kind: "none" | "unknown" };

/**
 * Finds the destination of mail for an address: an alias leads to its mailbox, an address without a mailbox to the
 * catch-all.
 */
export async function routeOf(table: Reader, given: string): Promise<Route> {
  const read = readAddress(given);
  if (!read) return { kind: "unknown" };
  const { accountId, account, domain, isProved, address, mailbox } = await findRecipient(
    table,
    { ...read, local: withoutTag(read.local) },
    true,
  );
  if (!domain || !account || account.status === "closed") return { kind: "unknown" };
  if (!isProved) return { kind: "unknown" };
  // Paused and suspended mailboxes still get their mail.
  if (!address || !mailbox) return { kind: "none" };
  const email = `${mailbox.local_part}@${domain.name}`;
  // A suspended account receives its mail, but no copies are sent.
  const copies = account.status === "suspended" ? [] : await copiesOf(table, accountId, { mailbox, domain });
  return { kind: address.kind, mailbox: email, mailbox_id: mailbox.id, account_id: accountId, copies };
}

/** A copy of a mail: to a mailbox of the account, with its id, or to an address elsewhere. */
type MailCopy = { address: string; mailbox_id: string | null };

/** The most times that a copy is forwarded between mailboxes of the account; also the most copies of one mail. */
const longestChain = 4;
const mostCopies = 100;

const mailboxAddress = ({ mailbox, domain }: FoundMailbox): string => `${mailbox.local_part}@${domain.name}`;

type Step = { found: FoundMailbox; by: MailScope | undefined };
type Target = { address: string; by: MailScope; homeId: string | undefined };

/**
 * The copies of a mailbox's mail that active rules make: the rules for the mailbox, and the rules for each mailbox of
 * the account that gets a copy. Each address gets one copy, and the mailbox itself gets none. A rule does not forward a
 * copy that a rule of the same scope made.
 */
async function copiesOf(table: Reader, accountId: string, first: FoundMailbox): Promise<MailCopy[]> {
  // Most accounts have no rule, and one read shows it. The rules of the scopes take a read for each scope.
  const [all] = await readHeads(table, [rules.list(accountId)]);
  if (all?.live === 0) return [];
  const mailboxes = new Map([[first.mailbox.id, first]]);
  const outside = new Set<string>();
  let steps: Step[] = [{ found: first, by: undefined }];
  for (let chain = 0; chain < longestChain && steps.length > 0; chain += 1) {
    const targets = await targetsFrom(table, accountId, steps);
    const here = await destinationsOf(
      table,
      accountId,
      targets.map(({ address }) => address),
    );
    const next: Step[] = [];
    for (const target of targets) {
      if (mailboxes.size + outside.size > mostCopies) break;
      const destination = destinationOf(target, here.get(target.address));
      if (destination === "outside") outside.add(target.address);
      else if (destination !== "nowhere" && !mailboxes.has(destination.mailbox.id)) {
        mailboxes.set(destination.mailbox.id, destination);
        next.push({ found: destination, by: target.by });
      }
    }
    steps = next;
  }
  return [
    ...[...mailboxes.values()]
      .filter(({ mailbox }) => mailbox.id !== first.mailbox.id)
      .map((found) => ({ address: mailboxAddress(found), mailbox_id: found.mailbox.id })),
    ...[...outside].map((address) => ({ address, mailbox_id: null })),
  ];
}

/**
 * The destination of a copy.
 * - An `internal` target gets copies only while it is a mailbox in the domain that the rule was created for.
 * - The address of a recipient who agreed counts as external until the account proves that it owns the domain.
 */
function destinationOf({ homeId }: Target, place: Destination | undefined): FoundMailbox | "outside" | "nowhere" {
  if (homeId !== undefined) return (place?.domain.id === homeId && place.mailbox) || "nowhere";
  if (!place?.isProved) return "outside";
  return place.mailbox ?? "nowhere";
}

/** The targets of all active rules that apply to some mailboxes. */
async function targetsFrom(table: Reader, accountId: string, steps: readonly Step[]): Promise<Target[]> {
  const wanted = steps.flatMap(({ found: { domain }, by }) =>
    scopesAround(accountId, domain).filter((scope) => by === undefined || !isSameScope(scope, by)),
  );
  const scopes = [...new Map(wanted.map((scope) => [`${scope.type}#${scope.id}`, scope])).values()];
  const places = await Promise.all(scopes.map((scope) => targetsOf(table, accountId, scope)));
  return places.flatMap((some, index) =>
    some.flatMap(({ target_email: address, flows, target_domain_id: homeId }) => {
      const by = scopes[index];
      return flows && by ? [{ address, by, homeId }] : [];
    }),
  );
}
