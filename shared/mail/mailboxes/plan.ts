import { change, type Change } from "../../changes/kind.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { type StoredDomain, domainKey, notReady } from "../../domains/domain.ts";
import {
  appendRows,
  bodyWrites,
  headRemoval,
  readHeads,
  readList,
  rebuiltState,
  stateOf,
  type ListState,
} from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import {
  addressKey,
  defaultQuotaBytes,
  mailboxesIn,
  mailboxesOf,
  mailboxKind,
  type Login,
  type StoredMailbox,
} from "./mailbox.ts";
import { dueBlock, type DueBlock, namedOf, packWrite } from "./names.ts";
import { mailboxCore } from "./view.ts";

/** The user of a new mailbox, its local part, and its quota in bytes if this is not the default. */
export type Person = {
  local_part: string;
  first_name: string;
  last_name: string;
  quota_allowed?: number | undefined;
};

/** Thrown when a mailbox has the address already. */
export class AddressTaken extends Error {
  readonly local: string;
  readonly mailboxId: string;
  constructor(local: string, mailboxId: string) {
    super(`${local} is taken`);
    this.local = local;
    this.mailboxId = mailboxId;
  }
}

/**
 * The write that gives an address of a domain to a mailbox. The transaction throws `AddressTaken` when a mailbox has
 * the address already.
 */
export const addressWrite = (
  { account_id, id }: Pick<StoredDomain, "account_id" | "id">,
  local: string,
  owner: { kind: "mailbox" | "alias" | "catch_all"; mailbox_id: string },
): Write => ({
  put: { ...addressKey(account_id, id, local), ...owner },
  if: "absent",
  orElse: (found) => new AddressTaken(local, found["mailbox_id"] ?? ""),
});

/** The head of a domain's list of mailboxes; undefined if the head is a separate item. */
export const headIn = ({ mailbox_next: next, mailbox_count: live, mailbox_holes, version }: StoredDomain) =>
  next === undefined ? undefined : { next, live, holes: mailbox_holes ?? new Uint8Array(), version, versioned: true };

/** The state of a domain's list of mailboxes, with the bitmaps of the blocks that hold `ordinals`. */
export async function domainList(
  table: Reader,
  domain: StoredDomain,
  ordinals: readonly number[] = [],
): Promise<ListState> {
  const list = mailboxesIn(domain.account_id, domain.id);
  const head = headIn(domain);
  if (head) return stateOf(table, list, head, ordinals);
  const [own] = await readHeads(table, [list]);
  if (own?.version === 0) return stateOf(table, list, await rebuiltList(table, domain), ordinals);
  return (await readList(table, list, ordinals)).state;
}

/**
 * The state of a domain's list of mailboxes, if the list has lost its head. Code of an earlier version drops the head
 * when it writes the domain.
 */
export const rebuiltList = (table: Reader, { account_id, id }: StoredDomain): Promise<ListState> =>
  rebuiltState(table, mailboxesIn(account_id, id), 0);

/**
 * The writes that add and remove mailboxes in a domain's list. The transaction fails if the domain has changed since it
 * was read. If the head of the list is a separate item, these writes move the head into the domain.
 */
export function domainListWrites(
  domain: StoredDomain,
  state: ListState,
  changes: Parameters<typeof bodyWrites>[1],
): Write[] {
  const { account_id, id, version } = domain;
  const { head, writes } = bodyWrites({ ...state, version }, changes);
  return [
    {
      update: domainKey(account_id, id),
      set: { mailbox_next: head.next, ...(head.holes.length === 0 ? {} : { mailbox_holes: head.holes }) },
      add: {
        mailbox_count: head.live - state.live,
        version: 1,
        ...(changes.returned ? { mailbox_returned: changes.returned.size } : {}),
      },
      if: { id, version },
    },
    ...(headIn(domain) ? [] : headRemoval(state)),
    ...writes,
  ];
}

const readyStatuses = new Set(["active", "degraded", "pending_delegation"]);

/** Throws 409 `domain_not_ready` if a domain accepts no new addresses in its state. */
export function requireReady({ name, status, is_open }: StoredDomain): void {
  if (is_open && readyStatuses.has(status)) return;
  throw notReady(status, `The domain ${name} is ${status}. It accepts no new addresses in this state.`);
}

type NewMailbox = { person: Person; login: Login };

/** The heads of the account's list and of the domain's list, and the search block to pack. */
type Heads = readonly [all: ListState, own: ListState | undefined, due: DueBlock | undefined];

/**
 * Reads the heads of the two lists that `count` new mailboxes of a domain join. Also reads the search block (names.ts)
 * that must be written with these mailboxes, if there is one. A head that is stored in the domain is not read again.
 */
export const mailboxHeads = async (table: Reader, domain: StoredDomain, count: number): Promise<Heads> => {
  const { account_id, id } = domain;
  const ownList = headIn(domain) ? [] : [mailboxesIn(account_id, id)];
  const [all, inDomain] = (await readHeads(table, [mailboxesOf(account_id), ...ownList])) as [ListState, ListState?];
  return [
    all,
    inDomain?.version === 0 ? await rebuiltList(table, domain) : inDomain,
    await dueBlock(table, account_id, all, count),
  ];
};

/**
 * Plans new mailboxes of a domain, all or none, with one update of each list. The transaction fails if the domain
 * changed since it was read, and throws `AddressTaken` if a mailbox has one of the addresses already.
 */
export function planMailboxes(
  [all, own, due]: Heads,
  domain: StoredDomain,
  given: readonly NewMailbox[],
  { now, madeBy }: { now: Date; madeBy: string | undefined },
): { mailboxes: StoredMailbox[]; writes: Write[]; changes: Change[] } {
  const { account_id, id: domain_id } = domain;
  const at = now.toISOString();
  const head = headIn(domain);
  const inDomain = head ? { list: mailboxesIn(account_id, domain_id), ...head, bitmaps: new Map() } : own;
  if (!inDomain) throw new Error("The head of a domain's list was not read.");
  const mailboxes = given.map(
    ({ person: { quota_allowed = defaultQuotaBytes, ...person }, login }, index): StoredMailbox => ({
      id: idWithOrdinal(all.next + index),
      domain_id,
      place: inDomain.next + index,
      ...person,
      quota: quota_allowed,
      used: 0,
      last_login_at: null,
      aliases: [],
      status: "active",
      login,
      created_at: at,
      updated_at: at,
      ...(madeBy === undefined ? {} : { made_by: madeBy }),
      version: 1,
    }),
  );
  return {
    mailboxes,
    writes: [
      ...appendRows(all, mailboxes),
      ...domainListWrites(domain, inDomain, { added: mailboxes.map(({ id }) => ({ mailbox_id: id })) }),
      ...(due
        ? [
            packWrite(
              account_id,
              due,
              mailboxes.map((one) => namedOf(one, domain)),
            ),
          ]
        : []),
      ...mailboxes.map(({ id, local_part }) => addressWrite(domain, local_part, { kind: "mailbox", mailbox_id: id })),
    ],
    changes: mailboxes.map((mailbox) =>
      change(mailboxKind, "created", mailbox.id, { after: mailboxCore(mailbox, domain) }),
    ),
  };
}
