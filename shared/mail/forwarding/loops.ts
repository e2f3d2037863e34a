import { covers } from "../../auth/permissions.ts";
import { Problem } from "../../core/errors.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { scopesAround, type MailScope } from "../scoped/family.ts";
import { type Destination, destinationsOf } from "./destinations.ts";
import { targetsInRow, StoredTargets, targetKey } from "./rule.ts";

/** The range that `targetRowsOf` reads. */
export function targetsRange(accountId: string, scope: MailScope): { partition: string; from: string; to: string } {
  const { PK, SK } = targetKey(accountId, scope);
  return { partition: PK, from: SK, to: `${SK}~` };
}

/**
 * The rows with the targets of a scope's rules, whether or not mail goes to these targets at present. For a pattern,
 * the result has the rows of all patterns of its domain.
 */
export async function targetRowsOf(table: Reader, accountId: string, scope: MailScope): Promise<StoredTargets[]> {
  const { partition, from, to } = targetsRange(accountId, scope);
  return (await table.between(partition, from, to)).map((row) => StoredTargets.parse(row));
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

type PlannedRule = { id?: string; scope: MailScope };
/**
 * A copy at a mailbox: the scope of the rule that made the copy, and the ids of all existing rules that led to the
 * copy.
 */
type Copy = { mailbox: FoundMailbox; by: MailScope; path: readonly string[] };

/**
 * The ids of the rules that would forward copies of the planned rule back to the planned rule's scope; undefined if
 * there is no such loop. A rule never forwards a copy that a rule of the same scope made. A rule does not copy mail
 * that arrives at its own target. No copy arrives at an address without a mailbox, so a rule for such an address is
 * never in a loop.
 */
async function findLoop(
  table: Reader,
  accountId: string,
  planned: PlannedRule,
  places: ReadonlyMap<string, Destination>,
): Promise<readonly string[] | undefined> {
  if (planned.scope.type === "address") return undefined;
  const firsts = [...places.values()].flatMap(({ mailbox }) => mailbox ?? []);
  const loops = await Promise.all(firsts.map((first) => findLoopFrom(table, accountId, first, planned)));
  return loops.find((loop) => loop !== undefined);
}

async function findLoopFrom(
  table: Reader,
  accountId: string,
  first: FoundMailbox,
  planned: PlannedRule,
): Promise<readonly string[] | undefined> {
  const visited = new Set<string>();
  let copies: Copy[] = [{ mailbox: first, by: planned.scope, path: [] }];
  while (copies.length > 0) {
    const next: Copy[] = [];
    for (const { mailbox, by, path } of copies) {
      const isElsewhere = mailbox.mailbox.id !== first.mailbox.id;
      const isBack = isElsewhere && scopesOfMail(accountId, mailbox).some((scope) => isSameScope(scope, planned.scope));
      if (isBack) return path;
      next.push(...(await copiesFrom(table, accountId, { mailbox, by, path }, planned, visited)));
    }
    copies = next;
  }
  return undefined;
}

/**
 * Applies the rules to a copy at a mailbox, and returns the copies that other mailboxes then get. Leaves out the rules
 * of the scope `by` and the rules in `visited`.
 */
async function copiesFrom(
  table: Reader,
  accountId: string,
  { mailbox, by, path }: Copy,
  { id: plannedId }: PlannedRule,
  visited: Set<string>,
): Promise<Copy[]> {
  const scopes = scopesOfMail(accountId, mailbox).filter((scope) => !isSameScope(scope, by));
  const found = await Promise.all(
    scopes.map(async (scope) => (await targetRowsOf(table, accountId, scope)).map((row) => ({ scope, row }))),
  );
  const fresh = found.flat().filter(({ row: { rule_id } }) => rule_id !== plannedId && !visited.has(rule_id));
  for (const { row } of fresh) visited.add(row.rule_id);
  const addresses = fresh.flatMap(({ row }) => targetsInRow(row).map(({ target_email }) => target_email));
  const targets = await destinationsOf(table, accountId, addresses);
  return fresh.flatMap(({ scope, row }) =>
    targetsInRow(row).flatMap(({ target_email }) => {
      const target = targets.get(target_email)?.mailbox;
      const isElsewhere = target && target.mailbox.id !== mailbox.mailbox.id;
      return isElsewhere ? [{ mailbox: target, by: scope, path: [...path, row.rule_id] }] : [];
    }),
  );
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
