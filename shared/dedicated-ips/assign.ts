import { randomUUID } from "node:crypto";

import * as z from "zod";

import { recordWrites } from "../changes/record.ts";
import { Problem, isRefusal, notFound } from "../core/errors.ts";
import { domainsByIds, aheadOfDomain } from "../domains/find.ts";
import { DomainRef } from "../domains/name.ts";
import type { Context, Expected } from "../http/route.ts";
import { backOff } from "../table/failures.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { ipAuthor } from "./change.ts";
import { type DedicatedIpWithDomains, type StoredIp, ipById, ipKey } from "./dedicated-ip.ts";
import {
  type Kind,
  type DomainIndexes,
  hasMoved,
  requireReassignable,
  moveWrites,
  readDomainIndexes,
} from "./moves.ts";
import { type StoredOperation, beginWrites, isAbandoned, readOperation, operationKey } from "./operation.ts";
import { resumeOperation, dropOperation, planBatch } from "./settle.ts";
import { type MovedDomains, ipWithDomains } from "./view.ts";

/** A request to assign or unassign domains of a dedicated IP. */
type MoveRequest = { ip: StoredIp; kind: Kind; indexes: DomainIndexes };

/** The items that `ipToMove` and `moveDomains` read until the operation begins. */
export function aheadOfMove(
  { account_id, dedicated_ip_id: id }: { account_id: string; dedicated_ip_id: string },
  refs: readonly string[],
  expected: Expected,
): Ahead {
  // `ipToMove` reads the dedicated IP, and the plan of the operation reads it again.
  const key = ipKey(account_id, id);
  // Each domain is read ahead only once, for `readDomainIndexes`. The plan must read the domains again, after it has
  // read that no other operation runs.
  const domains = refs.flatMap((ref) => aheadOfDomain(expected, account_id, ref).keys[0] ?? []);
  return { keys: [key, key, operationKey(account_id, id), ...domains] };
}

/**
 * Assigns domains to a dedicated IP, or unassigns them: all of them or none.
 * - Skips domains that are assigned or unassigned already. `moved` has the ids of the domains that moved.
 * - Waits while another request moves domains of the same dedicated IP. Throws 503 `busy` after `patienceMs`.
 * - Throws 404 if the dedicated IP was deleted meanwhile.
 * - Throws the errors of `readDomainIndexes` and `requireReassignable`.
 */
export async function moveDomains(
  ip: StoredIp,
  { kind, refs }: { kind: Kind; refs: readonly string[] },
  context: Context,
  patienceMs = 5_000,
): Promise<{ detail: DedicatedIpWithDomains; moved: readonly string[] }> {
  const request = { ip, kind, indexes: await readDomainIndexes(ip.account_id, refs, context) };
  const result = await beginOperation(request, context, patienceMs);
  if ("detail" in result) return { detail: result.detail, moved: [] };
  const { operation } = result;
  // In a repeat of an interrupted request, `left` lacks the domains that the earlier attempt has settled.
  await moveAll(request, operation, context);
  return { detail: await finishOperation(operation, context), moved: operation.left };
}

const busy = (): Problem =>
  new Problem("busy", "Domains of this dedicated IP are being moved. Try again.", { retry_after: 1 });

/** The operation that began, or the dedicated IP if there is nothing to move. */
type BeginResult = { operation: StoredOperation } | { detail: DedicatedIpWithDomains };

/**
 * Begins an operation when no other operation of the dedicated IP is running. Resumes an abandoned operation first. For
 * a repeat of the request, returns the operation that the request began before.
 */
async function beginOperation(request: MoveRequest, context: Context, patienceMs: number): Promise<BeginResult> {
  const { keyId, now, table } = context;
  const untilMs = performance.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const { operation, isOwn, detail } = await tryToBegin(request, context);
    if (detail) return { detail };
    if (!operation) throw new Error("no operation was begun");
    if (isOwn || (keyId !== undefined && operation.key_id === keyId)) return { operation };
    if (isAbandoned(operation, now())) {
      await resumeOperation(operation, { table, now, commit: asSystem(request.ip.account_id, context) });
    } else if (performance.now() < untilMs) await backOff(attempt);
    else throw busy();
  }
}

/**
 * A `commit` that resumes an abandoned operation within this request. It records the system as the author, and does not
 * store its value as the answer to this request.
 */
const asSystem =
  (accountId: string, { commit, now }: Context): Context["commit"] =>
  (plan) =>
    commit(async () => {
      const { changes, ...planned } = await plan();
      const recorded = recordWrites(accountId, changes, ipAuthor(), now());
      const writes = [...planned.writes, ...recorded];
      return { ...planned, writes, changes: [], housekeeping: true, partial: true };
    });

/**
 * The result of one try to begin an operation. `operation` is the new operation (`isOwn`), or the operation that is
 * running. If there is nothing to move, `detail` is set instead.
 */
type TryResult = { operation?: StoredOperation; isOwn: boolean; detail?: DedicatedIpWithDomains };

async function tryToBegin(
  { ip: { account_id, id }, kind, indexes }: MoveRequest,
  context: Context,
): Promise<TryResult> {
  const { table, commit, now, keyId } = context;
  let result: TryResult = { isOwn: false };
  const detail = await commit<DedicatedIpWithDomains | undefined>(async () => {
    const [running, ip] = await Promise.all([readOperation(table, account_id, id), ipById(table, account_id, id)]);
    if (!ip) throw notFound();
    result = { ...(running ? { operation: running } : {}), isOwn: false };
    if (running) return { value: undefined, writes: [], changes: [], partial: true };
    const moving = requireReassignable(ip, kind, indexes, await domainsByIds(table, account_id, [...indexes.keys()]));
    if (moving.length === 0) return { value: await ipWithDomains(ip, context), writes: [], changes: [] };
    const { operation, writes } = beginWrites(
      {
        id: randomUUID(),
        account_id,
        dedicated_ip_id: id,
        kind,
        left: moving.map((domain) => domain.id),
        domain_count: ip.domain_count,
        ...(keyId === undefined ? {} : { key_id: keyId }),
      },
      now(),
    );
    result = { operation, isOwn: true };
    return {
      value: undefined,
      writes: [...writes, { check: ipKey(account_id, id), if: { id, version: ip.version } }],
      changes: [],
      housekeeping: true,
      partial: true,
      begins: true,
    };
  });
  return detail ? { isOwn: false, detail } : result;
}

/**
 * Moves all domains in one transaction, unless they have moved already. If the move is refused, drops the operation.
 * After any other error the operation stays, because the domains may have moved.
 */
async function moveAll(
  { ip, kind, indexes }: MoveRequest,
  operation: StoredOperation,
  context: Context,
): Promise<void> {
  const { table, commit, now, log } = context;
  const { account_id, id } = ip;
  try {
    await commit(async () => {
      const nothing = { value: undefined, writes: [], changes: [], partial: true };
      // The domains are read before the operation. So if the operation is found, it still existed when the domains were
      // read. If another request drops the operation later, that request changes the version of one of the domains
      // (`fence` of `dropOperation`). This transaction has a condition on the version of every domain, so it then
      // fails.
      const domains = await domainsByIds(table, account_id, operation.left);
      const current = await readOperation(table, account_id, id);
      if (hasMoved(operation, domains)) return nothing;
      if (current?.id !== operation.id) throw busy();
      const moving = new Map(operation.left.map((domainId) => [domainId, indexes.get(domainId) ?? 0]));
      const writes = moveWrites(ip, kind, requireReassignable(ip, kind, moving, domains), now());
      return { ...nothing, writes, housekeeping: true };
    });
  } catch (error) {
    if (isRefusal(error)) {
      await dropOperation(operation, context).catch((reason: unknown) => {
        log.info("operation left to the worker", { dedicated_ip_id: id, reason: String(reason) });
      });
    }
    throw error;
  }
}

/** Settles the moved domains, a few in each transaction (`planBatch`). The last transaction stores the answer. */
async function finishOperation(operation: StoredOperation, context: Context): Promise<DedicatedIpWithDomains> {
  const { table, commit, now } = context;
  for (;;) {
    const detail = await commit(async () => {
      const { value: batch, ...plan } = await planBatch(table, operation, now());
      if (!batch) throw notFound();
      if (!batch.isOver) return { ...plan, value: undefined };
      const moved: MovedDomains =
        operation.kind === "assign" ? { added: batch.settled, removed: [] } : { added: [], removed: batch.settled };
      return { ...plan, value: await ipWithDomains(batch.ip, context, moved) };
    });
    if (detail) return detail;
  }
}

/** The schema of a request body that names the domains to assign or unassign. */
export const domainsBody = (id: string, description: string) =>
  z
    .strictObject({
      domains: z
        .array(DomainRef)
        .min(1)
        .max(100)
        .meta({ description: "The domains, 1 to 100, by their names or ids." }),
    })
    .meta({ id, description });
