import * as z from "zod";

import {
  StoredDomain,
  buyerKey,
  domainKey,
  domainQueue,
  holderKey,
  domainNameKey,
  transferQueue,
} from "../../shared/domains/domain.ts";
import { isBuying } from "../../shared/domains/holder.ts";
import { isDetached } from "../../shared/domains/setup/releasing.ts";
import { dueKey } from "../../shared/table/due.ts";
import { StoredWorkspace } from "../../shared/workspaces/workspace.ts";
import type { Change } from "../support/memory-table.ts";
import { isDomainRow, isQueue, placeOf } from "./purchases-facts.ts";
import { mustHold, type Invariant } from "./world.ts";

const Pointer = z.object({ account_id: z.string().optional(), domain_id: z.string() });
type Pointer = z.output<typeof Pointer>;

type Books = {
  rows: Map<string, StoredDomain>;
  /** The items that lead from a name to a domain: its holder, its buyer, and its domain in each account. */
  pointers: Map<string, Pointer>;
  due: Set<string>;
  /** The count in the head of each list. */
  heads: Map<string, number>;
  /** The number of rows of each list. */
  counts: Map<string, number>;
  workspaces: Map<string, number>;
};

/**
 * The rules of names:
 * - A name is claimed by one domain of one account. A failed domain claims no name.
 * - A name has one buyer at most. Before the registration, the buyer takes the name from nobody.
 * - Only a domain that is being released has a time of deletion.
 * - A domain with a due time is in the queue at that time.
 * - The head of a list counts its rows, and a workspace counts its domains.
 */
export function claimInvariant(): Invariant {
  const books: Books = {
    rows: new Map(),
    pointers: new Map(),
    due: new Set(),
    heads: new Map(),
    counts: new Map(),
    workspaces: new Map(),
  };
  const check = (changes: readonly Change[]): void => {
    const removed: StoredDomain[] = [];
    const lost: StoredDomain[] = [];
    const touched = new Set<string>();
    const lists = new Set<string>();
    for (const change of changes) note(books, change, { removed, lost, touched, lists });
    for (const row of lost) checkLost(books, row);
    for (const row of removed) checkGone(books, row);
    for (const place of touched) checkPlace(books, place);
    for (const list of lists) checkList(books, list);
  };
  return { name: "the claims on names", check };
}

type Touched = { removed: StoredDomain[]; lost: StoredDomain[]; touched: Set<string>; lists: Set<string> };

function note(books: Books, { key, before, after }: Change, { removed, lost, touched, lists }: Touched): void {
  const place = placeOf(key);
  if (isQueue(key.PK)) {
    if (after) books.due.add(place);
    else books.due.delete(place);
    const [, accountId = "", id = ""] = key.SK.split("#");
    touched.add(placeOf(domainKey(accountId, id)));
  }
  if (isDomainRow(key.SK)) {
    const known = books.rows.get(place);
    if (after) noteRow(books, place, StoredDomain.parse(after));
    else books.rows.delete(place);
    const row = books.rows.get(place);
    if (known && !after) removed.push(known);
    if (known && row && isDetached(row) && !isDetached(known) && !isBuying(known)) lost.push(row);
    touched.add(place);
  }
  if (key.SK === "HOLDER" || key.SK === "BUYER" || key.SK.startsWith("DOMAIN_NAME#")) {
    if (after) books.pointers.set(place, Pointer.parse(after));
    else books.pointers.delete(place);
    touched.add(place);
  }
  if (key.SK.startsWith("LIST#workspaces#ROW#")) {
    const { id, account_id, domain_count } = StoredWorkspace.parse(after);
    books.workspaces.set(`ACCOUNT#${account_id} LIST#workspace/${id}/domains`, domain_count);
  }
  const [, list, kind] = /^(LIST#(?:domains|workspace\/[^#]*))#(HEAD|ROW)/.exec(key.SK) ?? [];
  if (list === undefined) return;
  const name = `${key.PK} ${list}`;
  lists.add(name);
  if (kind === "HEAD") books.heads.set(name, Number(after?.["live"]));
  else
    books.counts.set(name, (books.counts.get(name) ?? 0) + Number(after !== undefined) - Number(before !== undefined));
}

const constantNames = ["id", "name", "account_id", "created_at"] as const;

function noteRow(books: Books, place: string, row: StoredDomain): void {
  const known = books.rows.get(place);
  const changed = known && constantNames.find((name) => known[name] !== row[name]);
  mustHold(changed === undefined, () => `the ${changed} of ${row.name} was changed`);
  mustHold(
    !known || row.version === known.version + 1,
    () => `${row.name} was written over by one who had not read it`,
  );
  books.rows.set(place, row);
}

/** Whether a domain still claims its name. A failed domain does not, nor a domain that lost its name. */
const isClaimed = (row: StoredDomain): boolean => row.status !== "failed" && !isDetached(row);

/**
 * Checks a domain that lost its name. Either a `pending_delegation` domain of another account has the name now. Or no
 * domain has the name, because its registration ended or the account deleted the domain.
 */
function checkLost({ pointers, rows }: Books, { name, account_id, status_reason }: StoredDomain): void {
  const isGivenUp = status_reason?.includes("registration of the name ended") || status_reason?.includes("was deleted");
  if (isGivenUp && !pointers.has(placeOf(holderKey(name)))) return;
  const { account_id: accountId = "", domain_id = "" } = pointers.get(placeOf(holderKey(name))) ?? {};
  const winner = rows.get(placeOf(domainKey(accountId, domain_id)));
  mustHold(accountId !== account_id, () => `${name} was lost to its own account`);
  mustHold(winner?.status === "pending_delegation", () => `${name} was lost to one that is ${winner?.status}`);
}

function checkPlace(books: Books, place: string): void {
  const row = books.rows.get(place);
  if (row) checkRow(books, row);
  const pointer = books.pointers.get(place);
  if (pointer) checkPointer(books, place, pointer);
}

function checkRow({ pointers, due }: Books, row: StoredDomain): void {
  const { id, account_id, name, due_at } = row;
  const holder = pointers.get(placeOf(holderKey(name)));
  const isHolder = holder?.domain_id === id && holder.account_id === account_id;
  const isBuyer = pointers.get(placeOf(buyerKey(name)))?.domain_id === id;
  mustHold(isBuyer === isBuying(row), () => `${name} is ${row.status}, and ${isBuyer ? "" : "not "}being bought`);
  // A domain that is being bought may wait for the name, and a domain that is being released may have lost the name.
  const isOpen = !isBuying(row) && (row.status !== "releasing" || isDetached(row));
  mustHold(
    !isOpen || isHolder === isClaimed(row),
    () => `${name} is ${row.status}, and claimed by ${holder?.account_id ?? "nobody"}`,
  );
  const own = pointers.get(placeOf(domainNameKey(account_id, name)));
  mustHold(own?.domain_id === id, () => `${name} is not found by its name`);
  const isTimely = row.status === "releasing" || row.deletes_at === null;
  mustHold(isTimely, () => `${name} is ${row.status}, and is deleted at ${row.deletes_at}`);
  const isQueued = due_at === null || due.has(placeOf(dueKey(domainQueue, [account_id, id], due_at)));
  mustHold(isQueued, () => `${name} is due at ${due_at}, and nobody will know`);
  const transferAt = row.transfer?.due_at ?? null;
  const isLooked = transferAt === null || due.has(placeOf(dueKey(transferQueue, [account_id, id], transferAt)));
  mustHold(isLooked, () => `the transfer of ${name} is due at ${transferAt}, and nobody will know`);
}

function checkPointer({ rows }: Books, place: string, { account_id, domain_id }: Pointer): void {
  const accountId = account_id ?? place.slice("ACCOUNT#".length, place.indexOf(" "));
  const row = rows.get(placeOf(domainKey(accountId, domain_id)));
  mustHold(row?.id === domain_id, () => `${place} leads to a domain that is not there`);
  mustHold(place.includes(row.name), () => `${place} leads to ${row.name}`);
  if (account_id === undefined) return;
  const isRight = place.endsWith(" BUYER") ? isBuying(row) : isClaimed(row);
  mustHold(isRight, () => `${row.name} is ${row.status}, and claimed`);
}

function checkGone({ pointers }: Books, { id, account_id, name }: StoredDomain): void {
  const left = [holderKey(name), buyerKey(name), domainNameKey(account_id, name)].filter(
    (key) => pointers.get(placeOf(key))?.domain_id === id,
  );
  mustHold(left.length === 0, () => `${name} is gone, and is still claimed`);
}

function checkList({ heads, counts, workspaces }: Books, list: string): void {
  const [head, count] = [heads.get(list) ?? 0, counts.get(list) ?? 0];
  mustHold(head === count, () => `${list} says that it holds ${head}, and holds ${count}`);
  const told = workspaces.get(list) ?? count;
  mustHold(told === count, () => `${list}: the workspace counts ${told}, and holds ${count}`);
}
