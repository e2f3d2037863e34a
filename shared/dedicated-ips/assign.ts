import { randomUUID } from "node:crypto";

import * as z from "zod";

import { recordWrites } from "../changes/record.ts";
import { Problem, notFound } from "../core/errors.ts";
import { domainsByIds, aheadOfDomain } from "../domains/find.ts";
import { DomainRef } from "../domains/name.ts";
import type { Context, Expected } from "../http/route.ts";
import { backOff } from "../table/failures.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { type DedicatedIpDetail, type StoredIp, ipById, ipKey } from "./dedicated-ip.ts";
import { type Kind, type Named, hasMoved, requireReassignable, moveWrites, readNamed } from "./moves.ts";
import { type StoredOperation, beginWrites, isAbandoned, readOperation, operationKey } from "./operation.ts";
import { resumeOperation, drop, planBatch } from "./settle.ts";
import { type Moving, ipDetail } from "./view.ts";
import { systemAuthor } from "./work.ts";

/** A request to assign or unassign domains of a dedicated IP. */
type MoveRequest = { ip: StoredIp; kind: Kind; named: Named };

/** The items that `seenIp` and `moveDomains` read until the operation begins. */
export function aheadOfMove(
  { account_id, dedicated_ip_id: id }: { account_id: string; dedicated_ip_id: string },
  refs: readonly string[],
  expected: Expected,
): Ahead {
  const key = ipKey(account_id, id);
  // Once, for `readNamed`: the operation reads its domains after it has seen that no other one runs.
  const domains = refs.flatMap((ref) => aheadOfDomain(expected, account_id, ref).keys[0] ?? []);
  return { keys: [key, key, operationKey(account_id, id), ...domains] };
}

/**
 * Assigns domains to a dedicated IP, or unassigns them: all of them or none.
 * - Domains that are already assigned, or unassigned, are skipped; `moved` lists the others.
 * - Waits while another request moves domains of the same dedicated IP; throws 503 `busy` after `patienceMs`.
 * - Throws 409 `ip_not_ready`, `domain_has_ip` or `domain_not_ready`, and 422 for a domain that does not exist.
 */
export async function moveDomains(
  ip: StoredIp,
  { kind, refs }: { kind: Kind; refs: readonly string[] },
  context: Context,
  patienceMs = 5_000,
): Promise<{ detail: DedicatedIpDetail; moved: readonly string[] }> {
  const request = { ip, kind, named: await readNamed(ip.account_id, refs, context) };
  const begun = await beginOperation(request, context, patienceMs);
  if ("detail" in begun) return { detail: begun.detail, moved: [] };
  const { operation } = begun;
  await move(request, operation, context);
  return { detail: await finish(operation, context), moved: operation.left };
}

const busy = (): Problem =>
  new Problem("busy", "Domains of this dedicated IP are being moved. Try again.", { retry_after: 1 });

type Begun = { operation: StoredOperation } | { detail: DedicatedIpDetail };

/** Begins an operation once no other is running. An abandoned operation is resumed first. */
async function beginOperation(request: MoveRequest, context: Context, patienceMs: number): Promise<Begun> {
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
 * A `commit` for the work of an abandoned operation: the system is recorded as its author, and its value is not the
 * answer to this request.
 */
const asSystem =
  (accountId: string, { commit, now }: Context): Context["commit"] =>
  (plan) =>
    commit(async () => {
      const { changes, ...planned } = await plan();
      const recorded = recordWrites(accountId, changes, systemAuthor(), now());
      const writes = [...planned.writes, ...recorded];
      return { ...planned, writes, changes: [], housekeeping: true, partial: true };
    });

type Tried = { operation?: StoredOperation; isOwn: boolean; detail?: DedicatedIpDetail };

async function tryToBegin({ ip: { account_id, id }, kind, named }: MoveRequest, context: Context): Promise<Tried> {
  const { table, commit, now, keyId } = context;
  let tried: Tried = { isOwn: false };
  const detail = await commit<DedicatedIpDetail | undefined>(async () => {
    const [other, ip] = await Promise.all([readOperation(table, account_id, id), ipById(table, account_id, id)]);
    if (!ip) throw notFound();
    tried = { ...(other ? { operation: other } : {}), isOwn: false };
    if (other) return { value: undefined, writes: [], changes: [], partial: true };
    const moving = requireReassignable(ip, kind, named, await domainsByIds(table, account_id, [...named.keys()]));
    if (moving.length === 0) return { value: await ipDetail(ip, context), writes: [], changes: [] };
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
    tried = { operation, isOwn: true };
    return {
      value: undefined,
      writes: [...writes, { check: ipKey(account_id, id), if: { id, version: ip.version } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
  return detail ? { isOwn: false, detail } : tried;
}

/** Moves all domains in one transaction, unless that has happened already. If the move is refused, drops the operation. */
async function move({ ip, kind, named }: MoveRequest, operation: StoredOperation, context: Context): Promise<void> {
  const { table, commit, now, log } = context;
  const { account_id, id } = ip;
  try {
    await commit(async () => {
      const nothing = { value: undefined, writes: [], changes: [], partial: true };
      // The order matters. If the operation still exists after the domains were read, it was not dropped before they
      // were read. Dropping it later changes the version of one of the domains, and this transaction fails.
      const domains = await domainsByIds(table, account_id, operation.left);
      const current = await readOperation(table, account_id, id);
      if (hasMoved(operation, domains)) return nothing;
      if (current?.id !== operation.id) throw busy();
      const wanted = new Map(operation.left.map((one) => [one, named.get(one) ?? 0]));
      const writes = moveWrites(ip, kind, requireReassignable(ip, kind, wanted, domains), now());
      return { ...nothing, writes, housekeeping: true };
    });
  } catch (error) {
    const isRefusal = !(error instanceof Problem) || error.status < 500;
    if (isRefusal) {
      await drop(operation, context).catch((reason: unknown) => {
        log.info("operation left to the worker", { dedicated_ip_id: id, reason: String(reason) });
      });
    }
    throw error;
  }
}

/** Does the work that follows the move, a few domains in each transaction. The last transaction stores the answer. */
async function finish({ ...operation }: StoredOperation, context: Context): Promise<DedicatedIpDetail> {
  const { table, commit, now } = context;
  for (;;) {
    const detail = await commit(async () => {
      const { value: batch, ...plan } = await planBatch(table, operation, now());
      if (!batch) throw notFound();
      if (!batch.isOver) return { ...plan, value: undefined };
      const moving: Moving =
        operation.kind === "assign" ? { added: batch.settled, removed: [] } : { added: [], removed: batch.settled };
      return { ...plan, value: await ipDetail(batch.ip, context, moving) };
    });
    if (detail) return detail;
  }
}

/** A request body that names the domains to assign or unassign. */
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
