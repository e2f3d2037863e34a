import { ipKey, StoredIp } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { Holder, isStock } from "../../shared/dedicated-ips/holder.ts";
import { StoredDomain } from "../../shared/domains/domain.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import type { Change } from "../support/memory-table.ts";
import { isDomainRow } from "./purchases-facts.ts";
import { mustHold, type Invariant } from "./world.ts";

type Books = {
  rows: Map<string, StoredIp>;
  /** The last known state of every dedicated IP, including the deleted ones. */
  lives: Map<string, StoredIp>;
  holders: Map<string, Holder>;
  free: Set<string>;
  holds: Map<string, StoredMovement>;
  domains: Map<string, StoredDomain>;
  due: Set<string>;
};

/**
 * The rules of dedicated IPs:
 * - An address belongs to one dedicated IP at most. An active host holds all of its addresses.
 * - A taken address of the stock belongs to a dedicated IP. A free address of the stock is offered.
 * - A managed dedicated IP is paid once, when it becomes ready, or never.
 * - A domain sends from an existing dedicated IP of its account.
 * - A dedicated IP with a due time is in the queue.
 * The accounts that are not in `accounts` are not checked: the dedicated IPs of the module `billing` have no hold.
 */
export function ipInvariant(accounts: readonly string[]): Invariant {
  const books: Books = {
    rows: new Map(),
    lives: new Map(),
    holders: new Map(),
    free: new Set(),
    holds: new Map(),
    domains: new Map(),
    due: new Set(),
  };
  const check = (changes: readonly Change[]): void => {
    for (const change of changes) if (!isOfOthers(accounts, change)) note(books, change);
    for (const ip of books.rows.values()) checkIp(books, ip);
    checkStock(books);
    for (const ip of books.lives.values()) checkMoney(books, ip);
    for (const { name, account_id, dedicated_ip_id } of books.domains.values()) {
      const isThere = dedicated_ip_id === null || books.rows.has(placeOf(account_id, dedicated_ip_id));
      mustHold(isThere, () => `${name} sends from ${dedicated_ip_id}, which is not there`);
    }
  };
  return { name: "dedicated IPs", check };
}

const isOfOthers = (accounts: readonly string[], { key: { PK } }: Change): boolean =>
  PK.startsWith("ACCOUNT#") && !accounts.includes(PK.slice("ACCOUNT#".length));

const placeOf = (accountId: string, id: string): string => {
  const { PK, SK } = ipKey(accountId, id);
  return `${PK} ${SK}`;
};

const set = <T>(map: Map<string, T>, place: string, value: T | undefined): void =>
  void (value === undefined ? map.delete(place) : map.set(place, value));

const mark = (places: Set<string>, place: string, isThere: boolean): void =>
  void (isThere ? places.add(place) : places.delete(place));

function note(books: Books, { key, after }: Change): void {
  const { PK, SK } = key;
  const place = `${PK} ${SK}`;
  if (SK.startsWith("LIST#dedicated_ips#ROW#")) {
    const row = after && StoredIp.parse(after);
    set(books.rows, place, row);
    if (row) books.lives.set(row.id, row);
  }
  if (PK.startsWith("IP#")) set(books.holders, PK.slice(3), after && Holder.parse(after));
  if (SK.startsWith("FREE#")) mark(books.free, SK.split("#")[2] ?? "", after !== undefined);
  if (PK.startsWith("IP_DUE#")) mark(books.due, SK, after !== undefined);
  if (isDomainRow(SK)) set(books.domains, place, after && StoredDomain.parse(after));
  if (SK.startsWith("LEDGER#MOVEMENT#dedicated-ip/")) set(books.holds, place, after && StoredMovement.parse(after));
}

function checkIp({ holders, due }: Books, ip: StoredIp): void {
  const { id, account_id, type, status, due_at, key_hash } = ip;
  for (const { ip: address } of ip.addresses) {
    const holder = holders.get(address);
    const isOwn = holder?.account_id === account_id && holder.dedicated_ip_id === id;
    const isHeld = isOwn && (isStock(holder) ? holder.state === "taken" : holder.firm);
    const mustBeHeld = type === "managed" || status === "active";
    mustHold(!mustBeHeld || isHeld, () => `${id} is ${status} and does not have ${address}`);
    const mayHold = type === "managed" || status !== "pending_authorization";
    mustHold(mayHold || !isOwn, () => `${id} is ${status} and has ${address}`);
  }
  mustHold(due_at === null || due.has(`${due_at}#${account_id}#${id}`), () => `${id} is due at ${due_at}, in no queue`);
  const hasKey = status === "verifying" || status === "active" || status === "degraded";
  mustHold(
    type === "managed" || hasKey === (key_hash !== undefined),
    () => `${id} is ${status}, and has a key: ${key_hash !== undefined}`,
  );
}

function checkStock({ holders, free, lives, rows }: Books): void {
  for (const [address, holder] of holders) {
    if (holder.dedicated_ip_id !== undefined) {
      const life = lives.get(holder.dedicated_ip_id);
      const isThere = life !== undefined && rows.has(placeOf(life.account_id, life.id));
      mustHold(isThere, () => `${address} is that of ${holder.dedicated_ip_id}, which is gone`);
    }
    if (isStock(holder)) {
      const isFree = holder.state === "free";
      mustHold(free.has(address) === isFree, () => `${address} is ${holder.state}, and offered: ${!isFree}`);
    }
  }
}

/**
 * Checks the hold of a managed dedicated IP. The hold is captured once the IP is ready. If the IP is deleted before it
 * is ready, the hold is voided.
 */
function checkMoney(
  { holds, rows }: Books,
  { id, account_id, type, hold_id = "", paid_until, status }: StoredIp,
): void {
  if (type !== "managed") return;
  const { PK, SK } = movementKey(walletOf(account_id), hold_id);
  const hold = holds.get(`${PK} ${SK}`);
  const isThere = rows.has(placeOf(account_id, id));
  const unpaid = isThere ? "pending" : "voided";
  const wanted = paid_until === undefined ? unpaid : "captured";
  mustHold(hold?.status === wanted, () => `${id} is ${isThere ? status : "gone"}, and its hold ${hold?.status}`);
}
