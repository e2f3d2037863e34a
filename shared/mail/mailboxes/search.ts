import * as z from "zod";

import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import type { Order } from "../../core/page.ts";
import { domainsIn, domainsOf, type StoredDomain } from "../../domains/domain.ts";
import { openReferences } from "../../domains/filtered.ts";
import { unicodeOf } from "../../domains/name.ts";
import { ListChanged, type Moment } from "../../table/moment.ts";
import { isDeleted, type ListState, readNear, readHeads, readWhole, rowKey } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Item } from "../../table/writes.ts";
import { readAddress } from "./local-part.ts";
import { mailboxesOf, StoredMailbox } from "./mailbox.ts";
import { type NamedMailbox, namedInRows, perBlock, readBlocks, unpack } from "./names.ts";

type Searched = Pick<NamedMailbox, "local_part" | "first_name" | "last_name" | "aliases">;

const folded = (text: string): string => text.normalize("NFKC").toLowerCase().normalize("NFKC");

/**
 * Whether the search text is part of an address of a mailbox, in A-labels or Unicode, or of the name of the mailbox's
 * user. A whole address matches only that very address. Case, width and composition make no difference.
 */
export function isFound(
  { local_part, first_name, last_name, aliases }: Searched,
  domain: string,
  search: string,
): boolean {
  const locals = [local_part, ...aliases];
  const address = readAddress(search);
  if (address) return locals.includes(address.local) && address.domain === domain;
  const text = folded(search);
  const forms = domain.includes("xn--") ? [domain, unicodeOf(domain)] : [domain];
  return (
    forms.some((form) => locals.some((local) => `${local}@${form}`.includes(text))) ||
    folded(`${first_name} ${last_name}`).includes(text)
  );
}

/** The members by which mailboxes are sorted. */
export const MailboxSort = z.enum(["created_at", "primary_email"]);

/**
 * The mailboxes that a list shows, and their order. Without `sort`, the mailboxes stay in the order in which they were
 * read. If `order` is `desc`, the mailboxes are in the reverse order.
 */
export type Selection = {
  search?: string | undefined;
  status?: NamedMailbox["status"] | undefined;
  sort?: z.output<typeof MailboxSort> | undefined;
  order: Order;
};

type Compare = (a: NamedMailbox, b: NamedMailbox) => number;

const emailOf = ({ local_part, domain }: NamedMailbox): string => `${local_part}@${domain.name}`;

const comparisons: Record<z.output<typeof MailboxSort>, Compare> = {
  created_at: (a, b) => a.ordinal - b.ordinal,
  primary_email: (a, b) => (emailOf(a) < emailOf(b) ? -1 : 1),
};

/** Selects and sorts mailboxes. `byDefault` compares them if no `sort` is given. */
export function selectNamed<N extends NamedMailbox>(
  named: readonly N[],
  { search, status, sort, order }: Selection,
  byDefault: Compare = () => 0,
): N[] {
  const found = named
    .filter(
      (one) =>
        (search === undefined || isFound(one, one.domain.name, search)) &&
        (status === undefined || one.status === status),
    )
    // The sort is stable, so mailboxes that compare equal stay in the order in which they were read.
    .toSorted(sort === undefined ? byDefault : comparisons[sort]);
  return order === "asc" ? found : found.toReversed();
}

/** The most mailboxes that a search reads one by one. */
export const searchLimit = 20_000;

export const tooBroad = (): InvalidInput =>
  invalidAt(
    ["query", "search"],
    `There are more than ${searchLimit.toLocaleString("en-US")} mailboxes to search. Add a domain, or search for a whole address`,
    "too_broad",
  );

/**
 * The approximate cost of reading one mailbox, in read units of the table:
 * - `packed`: in a packed block
 * - `row`: by its reference and its row
 */
const units = { packed: 0.004, row: 0.5 };

/** Where to search: in one domain, in one workspace, or in the whole account. */
type Place = { accountId: string; domain?: StoredDomain | undefined; workspaceId?: string | undefined };

/** Whether reading the rows of a place costs less than reading the packed names of the account. */
async function isSmall(table: Reader, { accountId, domain, workspaceId }: Place): Promise<boolean> {
  if (!domain && workspaceId === undefined) return false;
  const ofWorkspace = workspaceId === undefined ? [] : [domainsIn(accountId, workspaceId)];
  const [all, domains, workspaceDomains] = await readHeads(table, [
    mailboxesOf(accountId),
    domainsOf(accountId),
    ...ofWorkspace,
  ]);
  const { next = 0, live = 0 } = all ?? {};
  const workspaceShare = (workspaceDomains?.live ?? 0) / Math.max(1, domains?.live ?? 0);
  const rowCount = domain?.mailbox_count ?? live * workspaceShare;
  return rowCount * units.row < next * units.packed;
}

/**
 * A page of the selected mailboxes of a place, from the blocks of the account. Undefined if reading the rows of the
 * place costs less. Without `sort`, the mailboxes are sorted by their age, and in a workspace by domain first. `desc`
 * reverses the order. Throws 422 `too_broad` if more than 20,000 mailboxes are in no block yet. Deleted mailboxes count
 * too.
 */
export async function searchNames(
  moment: Moment,
  table: Reader,
  place: Place,
  selection: Selection,
  { skip, take }: { skip: number; take: number },
): Promise<{ rows: StoredMailbox[]; total: number } | undefined> {
  if (await isSmall(table, place)) return undefined;
  const { accountId, domain, workspaceId } = place;
  const order = workspaceId === undefined || domain ? undefined : await domainOrder(moment, accountId, workspaceId);
  const state = await readWhole(table, mailboxesOf(accountId));
  const isIn = ({ id }: NamedMailbox["domain"]): boolean => (domain ? id === domain.id : (order?.has(id) ?? true));
  const byDomain: Compare = (a, b) => (order?.get(a.domain.id) ?? 0) - (order?.get(b.domain.id) ?? 0);
  const all = (await allNamed(table, accountId, state)).filter((one) => isIn(one.domain));
  const found = selectNamed(all, selection, byDomain);
  const rows = await rowsAt(
    table,
    accountId,
    found.slice(skip, skip + take).map(({ ordinal }) => ordinal),
  );
  await moment.unchanged();
  return { rows, total: found.length };
}

/** The position of each domain in the list of a workspace, by the domain's id. */
async function domainOrder(moment: Moment, accountId: string, workspaceId: string): Promise<Map<string, number>> {
  const [references] = await openReferences(moment, accountId, workspaceId);
  const ids = references ? await references.read(0, references.total) : [];
  return new Map(ids.map((id, index) => [id, index]));
}

/** Mailboxes from a packed block, or a range of ordinals whose rows have to be read; `to` is in the range. */
type ListPart = NamedMailbox[] | { from: number; to: number };

/** Splits the ordinals of a list into parts, in their order. Ranges that follow each other become one range. */
function listParts(items: ReadonlyMap<number, Item>, state: ListState): ListPart[] {
  const parts: ListPart[] = [];
  for (let block = 0; block * perBlock < state.next; block++) {
    const item = items.get(block);
    const packed = item && unpack(item);
    if (packed) parts.push(packed.named.filter(({ ordinal }) => ordinal < state.next && !isDeleted(state, ordinal)));
    const from = packed?.until ?? block * perBlock;
    const to = Math.min((block + 1) * perBlock, state.next) - 1;
    if (from > to) continue;
    const last = parts.at(-1);
    if (last && "to" in last) last.to = to;
    else parts.push({ from, to });
  }
  return parts;
}

/** All mailboxes that an account's list has in the state `state`, oldest first. */
async function allNamed(table: Reader, accountId: string, state: ListState): Promise<NamedMailbox[]> {
  const parts = listParts(await readBlocks(table, accountId), state);
  const unpacked = parts.reduce((sum, part) => sum + ("to" in part ? part.to - part.from + 1 : 0), 0);
  if (unpacked > searchLimit) throw tooBroad();
  const read = await Promise.all(
    parts.map(async (part) => {
      if (!("to" in part)) return part;
      const named = await namedInRows(table, accountId, part.from, part.to);
      const ordinals = Array.from({ length: part.to - part.from + 1 }, (_, index) => part.from + index);
      if (named.length !== ordinals.filter((one) => !isDeleted(state, one)).length) throw new ListChanged();
      return named;
    }),
  );
  return read.flat();
}

/** The mailboxes at some ordinals, in the order of the ordinals. Throws `ListChanged` if a mailbox is gone. */
async function rowsAt(table: Reader, accountId: string, ordinals: readonly number[]): Promise<StoredMailbox[]> {
  const list = mailboxesOf(accountId);
  const rows = new Map((await readNear(table, list, ordinals)).map((row) => [row.SK, row]));
  return ordinals.map((ordinal) => {
    const row = rows.get(rowKey(list, ordinal).SK);
    if (!row) throw new ListChanged();
    return StoredMailbox.parse(row);
  });
}
