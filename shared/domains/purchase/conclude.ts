import * as z from "zod";

import { change } from "../../changes/kind.ts";
import type { Planned } from "../../changes/recorder.ts";
import { Timestamp } from "../../core/time.ts";
import type { RegistrarOperation, Registration } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { planWallet } from "../../wallet/wallet.ts";
import { buyerKey, domainKind, holderKey, type Purchase, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { holderWrite, readBuyer, readHolder } from "../holder.ts";
import { planTakeover } from "../setup/takeover.ts";
import { becoming, systemMover, type DomainWork } from "../setup/work.ts";
import { domainViews } from "../view.ts";

/*
 * Access patterns
 *   whether a purchase is over by the failure of an operation at the registrar   DOMAIN#<name> / OPERATION#<its id>
 */
const operationKey = (name: string, id: string): Key => ({ PK: `DOMAIN#${name}`, SK: `OPERATION#${id}` });

/** Nobody searches for what came of a purchase longer than this: who registers is not known any more. */
const contactKeptSeconds = 60 * 86_400;

/** Whether an operation failed for a purchase that is over: it says nothing of the one that goes on now. */
export const isFailure = async (table: Reader, name: string, operationId: string): Promise<boolean> =>
  (await table.get(operationKey(name, operationId), z.object({}))) !== undefined;

/** A domain whose registration is going on. */
export type Bought = StoredDomain & { purchase: Purchase };

export const isRunning = (domain: StoredDomain | undefined): domain is Bought =>
  domain?.status === "pending_registration" && domain.purchase !== undefined;

/** How a purchase ends; a failure is of an operation, or the registrar refused to begin one. */
type Conclusion = { registration: Registration } | Failed;
type Failed = { failed: string; operation?: RegistrarOperation };

/**
 * The end of a purchase: the money is paid and the name is registered, or neither. Answers the domain as it is then,
 * or nothing when it was over before, or somebody else is at it who may know better.
 */
export function conclude(domain: Bought, conclusion: Conclusion, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  const isFailed = "failed" in conclusion;
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // What is registered is paid whoever saw it. That nothing is, only they know who were alone at it.
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

type Ended = Omit<Planned, "changes"> & { after: StoredDomain };

function success(domain: Bought, { expiresAt, locked }: Registration, now: Date): Ended {
  return becoming(domain, {
    status: "pending_delegation",
    registration: { status: "active", expires_at: new Date(expiresAt).toISOString(), locked },
    purchase: { ...domain.purchase, stage: "captured" },
    failures: 0,
    due_at: now.toISOString(),
    updated_at: now.toISOString(),
  });
}

/** The name is free for others, and for another try. */
function failure(domain: Bought, { failed, operation }: Failed, now: Date): Ended {
  const { after, writes } = becoming(domain, {
    status: "failed",
    status_reason: failed,
    is_open: false,
    registration: { status: "failed", expires_at: null, locked: false },
    purchase: { ...domain.purchase, stage: "voided" },
    failures: 0,
    due_at: null,
    updated_at: now.toISOString(),
  });
  const ttl = Math.ceil(now.getTime() / 1_000) + contactKeptSeconds;
  const noted: Write[] = operation ? [{ put: { ...operationKey(domain.name, operation.id), ttl } }] : [];
  return { after, writes: [...writes, ...noted] };
}

/** The claims on the domain's name that are its own. */
async function ownClaims(table: Reader, { id, name }: Bought) {
  const [holder, buyer] = await Promise.all([readHolder(table, name), readBuyer(table, name)]);
  const own = { if: { domain_id: id } };
  // One that was begun by an earlier version of this product has the name from the beginning, and no other claim.
  const bought: Write[] = buyer?.domain_id === id ? [{ delete: buyerKey(name), ...own }] : [];
  return { holder, bought };
}

/** The name is whose registration succeeded, whoever had it until then. */
async function planTaken(table: Reader, domain: Bought, now: Date): Promise<Write[]> {
  const { holder, bought } = await ownClaims(table, domain);
  const isRival = holder !== undefined && holder.domain_id !== domain.id;
  return [
    ...bought,
    holderWrite(domain, holder ? { ...holder } : "absent"),
    ...(isRival ? await planTakeover(table, holder, "bought", now) : []),
  ];
}

/** Whoever had the name has it still. */
async function planLetGo(table: Reader, domain: Bought): Promise<Write[]> {
  const { holder, bought } = await ownClaims(table, domain);
  const isOwn = holder?.domain_id === domain.id;
  return [...bought, ...(isOwn ? [{ delete: holderKey(domain.name), if: { domain_id: domain.id } }] : [])];
}

/*
 * Access patterns
 *   when the last registration of a name through us was over   DOMAIN#<name> / RELEASED
 */
const releasedKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "RELEASED" });

const Released = z.object({ at: Timestamp });

/** Nobody asks after it any more. */
const releaseKeptSeconds = 86_400;

/** The write that notes that a registration is given back and forgotten. */
export const releasedWrite = (name: string, now: Date): Write => ({
  put: { ...releasedKey(name), at: now.toISOString(), ttl: Math.ceil(now.getTime() / 1_000) + releaseKeptSeconds },
});

/** When the last registration of a name was forgotten; undefined when that is long ago, or there was none. */
export async function releasedAt(table: Reader, name: string): Promise<Date | undefined> {
  const released = await table.get(releasedKey(name), Released);
  return released && new Date(released.at);
}
