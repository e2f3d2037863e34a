import * as z from "zod";

import { change } from "../../changes/kind.ts";
import type { Planned } from "../../changes/recorder.ts";
import { Timestamp } from "../../core/time.ts";
import type { Registration } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { planWallet } from "../../wallet/wallet.ts";
import {
  buyerKey,
  domainKind,
  holderKey,
  registrationOf,
  unregistered,
  type Purchase,
  type StoredDomain,
} from "../domain.ts";
import { domainById } from "../find.ts";
import { holderWrite, readBuyer, readHolder } from "../holder.ts";
import { operationWrite, type Conclusion } from "../setup/registrar-request.ts";
import { planTakeover } from "../setup/takeover.ts";
import { domainUpdate, systemMover, type DomainWork } from "../setup/work.ts";
import { domainViews } from "../view.ts";

/** A domain whose registration is running. */
export type Bought = StoredDomain & { purchase: Purchase };

export const isRunning = (domain: StoredDomain | undefined): domain is Bought =>
  domain?.status === "pending_registration" && domain.purchase !== undefined;

/**
 * Ends a purchase: either the money is captured and the name is registered, or neither. Returns the new state of the
 * domain; undefined when the purchase was over before, or when a failure is reported on a domain that another process
 * has changed meanwhile.
 */
export function completePurchase(
  domain: Bought,
  conclusion: Conclusion,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  const isFailed = "failed" in conclusion;
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // A success always counts. A failure counts only if no other process has changed the domain meanwhile, because that
    // process may know of a success.
    const isStale = isFailed && current?.version !== domain.version;
    if (!isRunning(current) || isStale) return { value: undefined, writes: [], changes: [] };
    const planned = isFailed ? failure(current, conclusion, now()) : success(current, conclusion.registration, now());
    const claims = isFailed ? await planLetGo(table, current) : await planTaken(table, current, now());
    const kind = isFailed ? ("void" as const) : ("capture" as const);
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: current.purchase.hold_id }], now());
    const [before, after] = (await domainViews(table, domain.account_id, [current, planned.after])) as [object, object];
    return {
      value: planned.after,
      writes: [...planned.writes, ...claims, ...wallet.writes],
      changes: [
        change(domainKind, isFailed ? "registration_failed" : "registered", domain.id, { before, after }),
        ...wallet.changes,
      ],
    };
  });
}

type Failed = Extract<Conclusion, { failed: string }>;
type Ended = Omit<Planned, "changes"> & { after: StoredDomain };

function success(domain: Bought, found: Registration, now: Date): Ended {
  return domainUpdate(domain, {
    status: "pending_delegation",
    registration: registrationOf(found),
    purchase: { ...domain.purchase, stage: "captured" },
    failures: 0,
    due_at: now.toISOString(),
    updated_at: now.toISOString(),
  });
}

/** Marks the registration as failed. The name is then free, for others and for another attempt. */
function failure(domain: Bought, { failed, operation }: Failed, now: Date): Ended {
  const { after, writes } = domainUpdate(domain, {
    status: "failed",
    status_reason: failed,
    is_open: false,
    registration: unregistered("failed"),
    purchase: { ...domain.purchase, stage: "voided" },
    failures: 0,
    due_at: null,
    updated_at: now.toISOString(),
  });
  return { after, writes: [...writes, ...(operation ? [operationWrite(domain.name, operation, now)] : [])] };
}

/** The holder of the domain's name, and the write that ends the domain's own claim to register it. */
async function ownClaims(table: Reader, { id, name }: Bought) {
  const [holder, buyer] = await Promise.all([readHolder(table, name), readBuyer(table, name)]);
  const own = { if: { domain_id: id } };
  // A purchase that an earlier version of this product began holds the name from the beginning, and has no other claim.
  const bought: Write[] = buyer?.domain_id === id ? [{ delete: buyerKey(name), ...own }] : [];
  return { holder, bought };
}

/** The writes that give a name to the domain whose registration succeeded. A former holder loses the name. */
async function planTaken(table: Reader, domain: Bought, now: Date): Promise<Write[]> {
  const { holder, bought } = await ownClaims(table, domain);
  const isRival = holder !== undefined && holder.domain_id !== domain.id;
  return [
    ...bought,
    holderWrite(domain, holder ? { ...holder } : "absent"),
    ...(isRival ? await planTakeover(table, holder, "bought", now) : []),
  ];
}

/** The writes that end the claims of a failed purchase. Another holder keeps the name. */
async function planLetGo(table: Reader, domain: Bought): Promise<Write[]> {
  const { holder, bought } = await ownClaims(table, domain);
  const isOwn = holder?.domain_id === domain.id;
  return [...bought, ...(isOwn ? [{ delete: holderKey(domain.name), if: { domain_id: domain.id } }] : [])];
}

/*
 * Access patterns
 *   the end of the last registration of a name through us      DOMAIN#<name> / RELEASED
 */
const releasedKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "RELEASED" });

const Released = z.object({ at: Timestamp });

/** How long the end of a registration is stored, in seconds. It is read for a few minutes only. */
const releaseKeptSeconds = 86_400;

/** The write that notes that a registration has been released and deleted. */
export const releasedWrite = (name: string, now: Date): Write => ({
  put: { ...releasedKey(name), at: now.toISOString(), ttl: Math.ceil(now.getTime() / 1_000) + releaseKeptSeconds },
});

/** The time when the last registration of a name was deleted; undefined when that is long ago, or there was none. */
export async function releasedAt(table: Reader, name: string): Promise<Date | undefined> {
  const released = await table.get(releasedKey(name), Released);
  return released && new Date(released.at);
}
