import { covers } from "../../auth/permissions.ts";
import { Problem } from "../../core/errors.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { scopesAround, type MailScope } from "../scoped/family.ts";
import { destinationsOf } from "./destinations.ts";
import { targetKey, StoredTarget } from "./rule.ts";

/** The range that `targetsOf` reads. */
export function targetsRange(accountId: string, scope: MailScope): { partition: string; from: string; to: string } {
  const { PK, SK } = targetKey(accountId, scope);
  return { partition: PK, from: SK, to: `${SK}~` };
}

/** The targets of a scope's rules, whether or not copies are sent at present. */
export async function targetsOf(table: Reader, accountId: string, scope: MailScope): Promise<StoredTarget[]> {
  const { partition, from, to } = targetsRange(accountId, scope);
  return (await table.between(partition, from, to)).map((row) => StoredTarget.parse(row));
}

export const isSameScope = (one: MailScope, other: MailScope): boolean =>
  one.type === other.type && one.id === other.id;

type PlannedRule = { id?: string; scope: MailScope; target: string };
type Step = { mailbox: FoundMailbox; by: MailScope; path: readonly string[] };

/**
 * The rules that would forward copies of the planned rule back to its own scope; undefined if there is no such loop. A
 * rule never forwards a copy that a rule of the same scope made. A rule does not copy mail that arrives at its own
 * target.
 */
async function findLoop(
  table: Reader,
  accountId: string,
  planned: PlannedRule,
): Promise<readonly string[] | undefined> {
  const first = (await destinationsOf(table, accountId, [planned.target])).get(planned.target)?.mailbox;
  if (!first) return undefined;
  const visited = new Set<string>();
  let steps: Step[] = [{ mailbox: first, by: planned.scope, path: [] }];
  while (steps.length > 0) {
    const next: Step[] = [];
    for (const { mailbox, by, path } of steps) {
      const around = scopesAround(accountId, mailbox.domain);
      const isElsewhere = mailbox.mailbox.id !== first.mailbox.id;
      const isBack = isElsewhere && around.some((scope) => isSameScope(scope, planned.scope));
      if (isBack) return path;
      next.push(...(await stepsFrom(table, accountId, { mailbox, by, path }, planned, visited)));
    }
    steps = next;
  }
  return undefined;
}

/** The mailboxes that get copies of a mailbox's mail by rules of scopes other than `by`. */
async function stepsFrom(
  table: Reader,
  accountId: string,
  { mailbox: { mailbox, domain }, by, path }: Step,
  { id: plannedId }: PlannedRule,
  visited: Set<string>,
): Promise<Step[]> {
  const scopes = scopesAround(accountId, domain).filter((scope) => !isSameScope(scope, by));
  const found = await Promise.all(
    scopes.map(async (scope) => (await targetsOf(table, accountId, scope)).map((place) => ({ scope, place }))),
  );
  const fresh = found.flat().filter(({ place: { rule_id } }) => rule_id !== plannedId && !visited.has(rule_id));
  for (const { place } of fresh) visited.add(place.rule_id);
  const targets = await destinationsOf(
    table,
    accountId,
    fresh.map(({ place }) => place.target_email),
  );
  return fresh.flatMap(({ scope, place: { rule_id, target_email } }) => {
    const target = targets.get(target_email)?.mailbox;
    return target && target.mailbox.id !== mailbox.id ? [{ mailbox: target, by: scope, path: [...path, rule_id] }] : [];
  });
}

/** Throws 409 `forwarding_loop` if rules of other scopes would forward copies of a rule back to its scope. */
export async function requireNoLoop(
  accountId: string,
  planned: PlannedRule,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<void> {
  const path = await findLoop(table, accountId, planned);
  if (!path) return;
  throw new Problem(
    "forwarding_loop",
    "Other rules would send the copies back to the mail that this rule copies. Choose another target, or change those rules.",
    covers(permissions, "forwarding.view", []) ? { conflicts_with: [...path] } : {},
  );
}
