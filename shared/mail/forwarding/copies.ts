import { readHeads } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import type { MailScope } from "../scoped/family.ts";
import { suppressedAmong } from "../suppressions/suppression.ts";
import { destinationsOf, type Destination } from "./destinations.ts";
import { isSameScope, scopesOfMail, targetRowsOf } from "./loops.ts";
import { patternsFor } from "./pattern.ts";
import { targetsInRow, rules, type StoredTargets } from "./rule.ts";

/** A copy of a mail: to a mailbox of the account, with its id, or to an address elsewhere. */
export type MailCopy = { address: string; mailbox_id: string | null };

/** The most rules that send on a copy, one after the other. */
const longestChain = 4;
/** The most copies of one mail. */
const mostCopies = 100;

/**
 * A mailbox that a mail reaches after a number of steps. `isKept` says whether the mailbox keeps the mail. It becomes
 * false only if a rule that keeps no copy sends the mail to an address elsewhere, or to a mailbox that the mail reaches
 * in the next step. In a circle of rules, the last rule sends the mail to a mailbox that the mail has reached before,
 * and this alone does not end `isKept`. So at least one place keeps the mail.
 */
type Reached = FoundMailbox & { steps: number; isKept: boolean };

/** A rule that sends on the mail of a mailbox, or of an address without a mailbox. `by` is the scope of the rule. */
type Sending = { from: Reached | undefined; by: MailScope; rule: StoredTargets };

/** Whether an account has a rule. Takes one read, so that mail to an account without rules costs no more. */
export async function hasRules(table: Reader, accountId: string): Promise<boolean> {
  const [all] = await readHeads(table, [rules.list(accountId)]);
  return all?.live !== 0;
}

/** The copies of a mail that arrives at a mailbox, and whether the mailbox itself keeps the mail. */
export async function copiesOfMailbox(
  table: Reader,
  accountId: string,
  found: FoundMailbox,
): Promise<{ copies: MailCopy[]; isKept: boolean }> {
  const first: Reached = { ...found, steps: 0, isKept: true };
  const sendings = await sendingsFrom(table, accountId, [{ reached: first, by: undefined }]);
  return { copies: await spread(table, accountId, sendings, first), isKept: first.isKept };
}

/**
 * The copies of a mail that arrives at an address without a mailbox. The rules of the address itself come before the
 * rules of a pattern. The rules of a longer pattern come before the rules of a shorter pattern. Skips rules that can
 * send to nobody at present. Empty if no rule sends the mail on.
 */
export async function copiesOfAddress(
  table: Reader,
  accountId: string,
  domainId: string,
  local: string,
): Promise<MailCopy[]> {
  const scope = (text: string): MailScope => ({ type: "address", id: domainId, local: text });
  const [own, ofPatterns] = await Promise.all([
    // If the local part of arriving mail has a star, this lookup would find the rules of patterns.
    local.includes("*") ? [] : targetRowsOf(table, accountId, scope(local)),
    targetRowsOf(table, accountId, scope("*")),
  ]);
  const patterns = ofPatterns.flatMap(({ address }) => address ?? []);
  const candidates = [
    { by: scope(local), sent: own },
    ...patternsFor(local, patterns).map((pattern) => ({
      by: scope(pattern),
      sent: ofPatterns.filter(({ address }) => address === pattern),
    })),
  ];
  for (const { by, sent } of candidates) {
    const sendings = sent.map((rule) => ({ from: undefined, by, rule }));
    const copies = await spread(table, accountId, sendings, undefined);
    if (copies.length > 0) return copies;
  }
  return [];
}

/**
 * Follows the rules step by step, beginning with `from`. Returns the copies to addresses elsewhere that the account has
 * not suppressed, and to the mailboxes that keep the mail. Leaves out the mailbox `first`.
 */
async function spread(
  table: Reader,
  accountId: string,
  from: readonly Sending[],
  first: Reached | undefined,
): Promise<MailCopy[]> {
  const mailboxes = new Map<string, Reached>();
  const external = new Set<string>();
  const isFull = (): boolean => mailboxes.size + external.size >= mostCopies;
  let sendings = from;
  for (let steps = 1; steps <= longestChain && sendings.length > 0; steps += 1) {
    const targets = sendings.flatMap((sending) =>
      targetsInRow(sending.rule).flatMap((target) => (target.flows ? [{ ...sending, target }] : [])),
    );
    const addresses = targets.map(({ target }) => target.target_email);
    const [here, suppressed] = await Promise.all([
      destinationsOf(table, accountId, addresses),
      suppressedAmong(table, accountId, addresses),
    ]);
    const next: { reached: Reached; by: MailScope }[] = [];
    for (const { from: sender, by, rule, target } of targets) {
      const address = target.target_email;
      const destination = destinationOf(target.target_domain_id, here.get(address), suppressed.has(address));
      if (destination === "nowhere") continue;
      if (destination === "external") {
        if (!external.has(address) && isFull()) continue;
        external.add(address);
        handOver(sender, rule);
        continue;
      }
      const { id } = destination.mailbox;
      const known = id === first?.mailbox.id ? first : mailboxes.get(id);
      if (!known && isFull()) continue;
      const reached = known ?? { ...destination, steps, isKept: true };
      if (!known) {
        mailboxes.set(id, reached);
        next.push({ reached, by });
      }
      if (reached.steps === steps) handOver(sender, rule);
    }
    sendings = steps < longestChain ? await sendingsFrom(table, accountId, next) : [];
  }
  return [
    ...[...mailboxes.values()]
      .filter(({ isKept }) => isKept)
      .map(({ mailbox, domain }) => ({ address: `${mailbox.local_part}@${domain.name}`, mailbox_id: mailbox.id })),
    ...[...external].map((address) => ({ address, mailbox_id: null })),
  ];
}

/** Notes that a mailbox does not keep the mail that a rule sends on, if the rule keeps no copy. */
function handOver(from: Reached | undefined, { keep_copy }: StoredTargets): void {
  if (from && !keep_copy) from.isKept = false;
}

/**
 * The destination of a copy.
 * - An `internal` target gets copies only while its address is a mailbox in the domain with the id `homeId`.
 * - The address of a recipient who agreed counts as external until the account proves that it owns the domain. An
 *   external address gets no copies while the account has suppressed the address.
 * - After that proof, the copies go to the mailbox of the address. If the address has no mailbox, no copies are sent.
 */
function destinationOf(
  homeId: string | undefined,
  place: Destination | undefined,
  isSuppressed: boolean,
): FoundMailbox | "external" | "nowhere" {
  const mailbox = place?.mailbox ?? "nowhere";
  if (homeId !== undefined) return place?.domain.id === homeId ? mailbox : "nowhere";
  if (!place?.isProved) return isSuppressed ? "nowhere" : "external";
  return mailbox;
}

/**
 * The rules that send on the mail of some mailboxes. If a rule sent the mail to a mailbox, leaves out the rules of the
 * same scope there. For example, a rule of a domain is not applied again to a mail that it has sent to another mailbox
 * of the domain.
 */
async function sendingsFrom(
  table: Reader,
  accountId: string,
  arrived: readonly { reached: Reached; by: MailScope | undefined }[],
): Promise<Sending[]> {
  const wanted = arrived.flatMap(({ reached, by }) =>
    scopesOfMail(accountId, reached)
      .filter((scope) => by === undefined || !isSameScope(scope, by))
      .map((scope) => ({ from: reached, by: scope, key: `${scope.type}#${scope.id}` })),
  );
  const scopes = new Map(wanted.map(({ key, by }) => [key, by]));
  const rows = await Promise.all([...scopes.values()].map((scope) => targetRowsOf(table, accountId, scope)));
  const found = new Map([...scopes.keys()].map((key, index) => [key, rows[index] ?? []]));
  return wanted.flatMap(({ from, by, key }) => (found.get(key) ?? []).map((rule) => ({ from, by, rule })));
}
