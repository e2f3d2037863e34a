import { covers } from "../../auth/permissions.ts";
import { Problem } from "../../core/errors.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { scopesAround, type MailScope } from "../scoped/family.ts";
import { type Destination, destinationsOf } from "./destinations.ts";
import { targetsInRow, StoredTargets, targetKey } from "./rule.ts";

/**
 * The rows with the targets of a scope's rules, whether or not mail goes to these targets at present. For a pattern,
 * the result has the rows of all patterns of its domain.
 */
export async function targetRowsOf(table: Reader, accountId: string, scope: MailScope): Promise<StoredTargets[]> {
  const { PK, SK } = targetKey(accountId, scope);
  return (await table.between(PK, SK, `${SK}~`)).map((row) => StoredTargets.parse(row));
}

export const isSameScope = (one: MailScope, other: MailScope): boolean =>
  one.type === other.type &&
  one.id === other.id &&
  (one.type !== "address" || other.type !== "address" || one.local === other.local);

/** The scopes that a mailbox's mail is in, widest first. */
export const scopesOfMail = (accountId: string, { mailbox, domain }: FoundMailbox): MailScope[] => [
  ...scopesAround(accountId, domain),
  { type: "mailbox", id: mailbox.id },
];

/** A new or changed rule. A new rule has no `id`. */
type PlannedRule = { id?: string; scope: MailScope };
/**
 * A copy at a mailbox: the scope of the rule that made the copy, and the ids of all existing rules that led to the
 * copy.
 */
type Copy = { mailbox: FoundMailbox; by: MailScope; path: readonly string[] };

/**
 * Looks up the rules of scopes and the mailboxes of addresses for one search. Looks up each scope and each address only
 * once.
 */
type Lookups = {
  rowsOf: (scope: MailScope) => Promise<StoredTargets[]>;
  mailboxAt: (addresses: readonly string[]) => Promise<(FoundMailbox | undefined)[]>;
};

function openLookups(table: Reader, accountId: string): Lookups {
  const rows = new Map<string, Promise<StoredTargets[]>>();
  const places = new Map<string, Promise<FoundMailbox | undefined>>();
  return {
    rowsOf: (scope) => {
      const key = scopeText(scope);
      const found = rows.get(key) ?? targetRowsOf(table, accountId, scope);
      rows.set(key, found);
      return found;
    },
    mailboxAt: (addresses) => {
      const unknown = [...new Set(addresses)].filter((address) => !places.has(address));
      if (unknown.length > 0) {
        const found = destinationsOf(table, accountId, unknown);
        for (const address of unknown) {
          places.set(
            address,
            found.then((destinations) => destinations.get(address)?.mailbox),
          );
        }
      }
      return Promise.all(addresses.map(async (address) => places.get(address)));
    },
  };
}

const scopeText = ({ type, id }: MailScope): string => `${type}#${id}`;

/**
 * Searches for a loop: other rules that would forward the copies of the planned rule back to the planned rule's scope.
 * Returns the ids of these rules; undefined if there is no loop. `places` are the destinations of the planned rule's
 * targets.
 * - A rule never forwards a copy that a rule of the same scope made. So the search leaves out such steps.
 * - A rule does not copy a mailbox's mail to the mailbox itself. So it is no loop if a copy comes back only to the
 *   mailbox to which the planned rule sent it.
 * - No copy arrives at an address without a mailbox. So a rule for such an address is never in a loop.
 */
async function findLoop(
  table: Reader,
  accountId: string,
  planned: PlannedRule,
  places: ReadonlyMap<string, Destination>,
): Promise<readonly string[] | undefined> {
  if (planned.scope.type === "address") return undefined;
  const firsts = [...places.values()].flatMap(({ mailbox }) => mailbox ?? []);
  const lookups = openLookups(table, accountId);
  const loops = await Promise.all(firsts.map((first) => findLoopFrom(lookups, accountId, first, planned)));
  return loops.find((loop) => loop !== undefined);
}

/**
 * Follows copies from the mailbox `first`, one step of all copies at a time. Returns the ids of the rules on a way back
 * to the scope of the planned rule; undefined if there is no way back.
 */
async function findLoopFrom(
  lookups: Lookups,
  accountId: string,
  first: FoundMailbox,
  planned: PlannedRule,
): Promise<readonly string[] | undefined> {
  const visited = new Set<string>();
  let copies: Copy[] = [{ mailbox: first, by: planned.scope, path: [] }];
  while (copies.length > 0) {
    const back = copies.find(
      ({ mailbox }) =>
        mailbox.mailbox.id !== first.mailbox.id &&
        scopesOfMail(accountId, mailbox).some((scope) => isSameScope(scope, planned.scope)),
    );
    if (back) return back.path;
    copies = await copiesFrom(lookups, accountId, copies, planned, visited);
  }
  return undefined;
}

/**
 * Applies the rules to copies at mailboxes, and returns the copies that other mailboxes then get. Leaves out the
 * planned rule, the rules in `visited`, and for each copy the rules of the scope `by` that made the copy. Adds the
 * applied rules to `visited`. If several rules of one scope copy to one mailbox, the same rules apply to all of these
 * copies, so only one of the copies is returned.
 */
async function copiesFrom(
  { rowsOf, mailboxAt }: Lookups,
  accountId: string,
  copies: readonly Copy[],
  { id: plannedId }: PlannedRule,
  visited: Set<string>,
): Promise<Copy[]> {
  const applied = copies.flatMap((copy) =>
    scopesOfMail(accountId, copy.mailbox)
      .filter((scope) => !isSameScope(scope, copy.by))
      .map((scope) => ({ ...copy, scope })),
  );
  const rows = await Promise.all(applied.map(({ scope }) => rowsOf(scope)));
  const sent: { from: FoundMailbox; by: MailScope; path: string[]; address: string }[] = [];
  for (const [index, { mailbox: from, scope: by, path }] of applied.entries()) {
    for (const row of rows[index] ?? []) {
      if (row.rule_id === plannedId || visited.has(row.rule_id)) continue;
      visited.add(row.rule_id);
      const addresses = targetsInRow(row).map(({ target_email }) => target_email);
      sent.push(...addresses.map((address) => ({ from, by, path: [...path, row.rule_id], address })));
    }
  }
  const targets = await mailboxAt(sent.map(({ address }) => address));
  const next = new Map<string, Copy>();
  for (const [index, { from, by, path }] of sent.entries()) {
    const mailbox = targets[index];
    if (!mailbox || mailbox.mailbox.id === from.mailbox.id) continue;
    const key = `${mailbox.mailbox.id} ${scopeText(by)}`;
    if (!next.has(key)) next.set(key, { mailbox, by, path });
  }
  return [...next.values()];
}

/**
 * Throws 409 `forwarding_loop` if rules of other scopes would forward copies of the planned rule back to the planned
 * rule's scope. `places` are the destinations of the planned rule's targets.
 */
export async function requireNoLoop(
  accountId: string,
  planned: PlannedRule,
  places: ReadonlyMap<string, Destination>,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<void> {
  const path = await findLoop(table, accountId, planned, places);
  if (!path) return;
  throw new Problem(
    "forwarding_loop",
    "Other rules would send the copies back to a mailbox whose mail this rule copies. Choose another target, or change the other rules.",
    covers(permissions, "forwarding.view", []) ? { conflicts_with: [...path] } : {},
  );
}
