import { change, type Change } from "../../changes/kind.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { type StoredDomain, domainKey, notReady } from "../../domains/domain.ts";
import { appendRows, readHeads, type ListState } from "../../table/ranked-list.ts";
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
import { mailboxCore } from "./view.ts";

/** The person that gets a mailbox, with its local part. */
export type Person = { local_part: string; first_name: string; last_name: string };

/** Thrown when another mailbox has the address. */
export class AddressTaken extends Error {
  readonly local: string;
  readonly mailboxId: string;
  constructor(local: string, mailboxId: string) {
    super(`${local} is taken`);
    this.local = local;
    this.mailboxId = mailboxId;
  }
}

/** The write that gives an address of a domain to a mailbox; throws `AddressTaken` when another mailbox has it. */
export const addressWrite = (
  { account_id, id }: Pick<StoredDomain, "account_id" | "id">,
  local: string,
  owner: { kind: "mailbox" | "alias" | "catch_all"; mailbox_id: string },
): Write => ({
  put: { ...addressKey(account_id, id, local), ...owner },
  if: "absent",
  orElse: (found) => new AddressTaken(local, found["mailbox_id"] ?? ""),
});

/**
 *  The write that adds `by` to a domain's count of mailboxes, provided that the domain has not changed since it was
 * read.
 */
export const mailboxCountWrite = ({ account_id, id, version }: StoredDomain, by: number): Write => ({
  update: domainKey(account_id, id),
  add: { mailbox_count: by, version: 1 },
  if: { id, version },
});

const readyStatuses = new Set(["active", "degraded", "pending_delegation"]);

/** Throws 409 `domain_not_ready` if a domain accepts no new addresses in its state. */
export function requireReady({ name, status, is_open }: StoredDomain): void {
  if (is_open && readyStatuses.has(status)) return;
  throw notReady(status, `The domain ${name} is ${status}. It takes no new addresses in this state.`);
}

type NewMailbox = { person: Person; login: Login };

type Heads = readonly [all: ListState, inDomain: ListState];

/** The heads of the lists that a domain's mailboxes are in. */
export const mailboxHeads = async (table: Reader, { account_id, id }: Pick<StoredDomain, "account_id" | "id">) =>
  (await readHeads(table, [mailboxesOf(account_id), mailboxesIn(account_id, id)])) as [ListState, ListState];

/**
 * Plans new mailboxes of a domain, all or none, with one update of each list. The transaction fails if the domain
 * changed since it was read. Throws `AddressTaken`.
 */
export function planMailboxes(
  [all, inDomain]: Heads,
  domain: StoredDomain,
  given: readonly NewMailbox[],
  { now, madeBy }: { now: Date; madeBy: string | undefined },
): { mailboxes: StoredMailbox[]; writes: Write[]; changes: Change[] } {
  const { id: domain_id } = domain;
  const at = now.toISOString();
  const mailboxes = given.map(({ person, login }, index): StoredMailbox => ({
    id: idWithOrdinal(all.next + index),
    domain_id,
    place: inDomain.next + index,
    ...person,
    quota: defaultQuotaBytes,
    used: 0,
    aliases: [],
    status: "active",
    login,
    created_at: at,
    updated_at: at,
    ...(madeBy === undefined ? {} : { made_by: madeBy }),
    version: 1,
  }));
  return {
    mailboxes,
    writes: [
      ...appendRows(all, mailboxes),
      ...appendRows(
        inDomain,
        mailboxes.map(({ id }) => ({ mailbox_id: id })),
      ),
      mailboxCountWrite(domain, mailboxes.length),
      ...mailboxes.map(({ id, local_part }) => addressWrite(domain, local_part, { kind: "mailbox", mailbox_id: id })),
    ],
    changes: mailboxes.map((mailbox) =>
      change(mailboxKind, "created", mailbox.id, { after: mailboxCore(mailbox, domain) }),
    ),
  };
}
