import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { dayMs, later, minuteMs } from "../core/time.ts";
import { dueKey, forgetDue } from "../table/due.ts";
import type { Write } from "../table/writes.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { planWallet } from "../wallet/wallet.ts";
import { planHeld, takeFromRivals, passedCheck } from "./activate.ts";
import { checkDns, type DnsCheck } from "./check-dns.ts";
import { type IpVerb, type StoredIp, ipById, ipKey, ipQueue, ipKind } from "./dedicated-ip.ts";
import { planRelease, planLoosening } from "./holder.ts";
import { planRemoval } from "./removal.ts";
import { ipView } from "./view.ts";
import { ipUpdate, ipChange, retryOnConflict, systemMover, type ChangedMembers, type IpWork } from "./work.ts";

/** The waits between checks after failures, in milliseconds: from a minute to a day. */
const waitsMs = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);
/** How many checks in a row must fail before the dedicated IP is `degraded`. */
const failuresUntilDegraded = 2;
/** The time that a host has to prove its addresses before its setup key expires. */
const proofTimeoutMs = 30 * dayMs;

const nextCheckAt = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? dayMs);

/** Does the work that is due for a dedicated IP at a given time. Failed work stays due and is tried again. */
export async function advanceIp(accountId: string, id: string, at: string, work: IpWork): Promise<void> {
  const ip = await ipById(work.table, accountId, id);
  if (ip?.due_at !== at) return forget(accountId, id, at, work);
  switch (ip.status) {
    case "provisioning":
      return provision(ip, await checkDns(ip, work.resolver), work);
    case "verifying": {
      const check = await checkDns(ip, work.resolver);
      return check.status === "well" ? prove(ip, check, work) : awaitProof(ip, check, work);
    }
    case "active":
    case "degraded":
      return recheck(ip, await checkDns(ip, work.resolver), work);
    default:
      return storeResult(ip, { members: { due_at: null } }, work);
  }
}

const forget = (accountId: string, id: string, at: string, { table }: IpWork): Promise<void> =>
  forgetDue(table, dueKey(ipQueue, [accountId, id], at), async () => {
    const ip = await ipById(table, accountId, id);
    return {
      isDue: ip?.due_at === at,
      unchanged: { check: ipKey(accountId, id), if: ip ? { id, version: ip.version } : "absent" },
    };
  });

/** The result of a check: the members to change, further writes, and the verb of the recorded change. */
type Progress = {
  members: ChangedMembers;
  moreWrites?: (current: StoredIp) => Promise<Write[]>;
  verb?: IpVerb | undefined;
};

/** Stores the result of a check, unless the dedicated IP was changed or checked by another process meanwhile. */
function storeResult(ip: StoredIp, { members, moreWrites, verb }: Progress, work: IpWork): Promise<void> {
  const { table, commit, now } = systemMover(work, ip.account_id);
  return commit(async () => {
    const current = await ipById(table, ip.account_id, ip.id);
    if (!isUnchanged(current, ip)) return { value: undefined, writes: [], changes: [] };
    const isNews = JSON.stringify(ipView(current)) !== JSON.stringify(ipView({ ...current, ...members } as StoredIp));
    const { after, writes } = ipUpdate(current, isNews ? { ...members, updated_at: now().toISOString() } : members);
    return {
      value: undefined,
      writes: [...writes, ...((await moreWrites?.(current)) ?? [])],
      changes: isNews ? [ipChange(verb ?? "updated", current, after)] : [],
      housekeeping: true,
    };
  });
}

const isUnchanged = (current: StoredIp | undefined, ip: StoredIp): current is StoredIp =>
  current?.status === ip.status && current.due_at === ip.due_at && current.key_hash === ip.key_hash;

/**
 * Activates a managed dedicated IP whose address has the right reverse DNS, and captures its price. A dedicated IP that
 * does not get this far within `provisioningMs` fails.
 */
async function provision(ip: StoredIp, check: DnsCheck, work: IpWork): Promise<void> {
  const { table, commit, now } = systemMover(work, ip.account_id);
  const hasPassed = check.status === "well";
  if (!hasPassed && now().getTime() - Date.parse(ip.created_at) < provisioningMs) return wait(ip, check, work);
  await commit(() =>
    retryOnConflict(async (): Promise<ChangePlan<void>> => {
      const current = await ipById(table, ip.account_id, ip.id);
      if (!isUnchanged(current, ip)) return { value: undefined, writes: [], changes: [] };
      return hasPassed ? planReady(current, check, work) : planFaulty(current, work);
    }),
  );
}

/** Schedules the next check. Each wait is longer than the one before. */
function wait(ip: StoredIp, { addresses, message }: DnsCheck, work: IpWork): Promise<void> {
  const { failures } = ip;
  const due_at = nextCheckAt(failures, work.now());
  return storeResult(ip, { members: { addresses, status_reason: message, failures: failures + 1, due_at } }, work);
}

/** Activates a host that proves its addresses, unless another holder keeps one of them. */
async function prove(ip: StoredIp, check: DnsCheck, work: IpWork): Promise<void> {
  try {
    await takeFromRivals(ip, check, systemMover(work, ip.account_id));
    const members = passedCheck(check, work.now());
    const verb = ip.status === "degraded" ? "recovered" : ip.status === "active" ? undefined : "activated";
    await storeResult(ip, { members, moreWrites: (current) => planHeld(work.table, current), verb }, work);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "ip_taken") throw error;
    await awaitProof(ip, { ...check, message: error.message }, work);
  }
}

const addressesOf = ({ addresses }: StoredIp): string[] => addresses.map(({ ip }) => ip);

/**
 * Waits for a host to prove its addresses. After 30 days the host has to be authorized again, and loses the addresses
 * that it proved with an earlier key.
 */
function awaitProof(ip: StoredIp, check: DnsCheck, work: IpWork): Promise<void> {
  const sinceMs = work.now().getTime() - Date.parse(ip.key_issued_at ?? ip.created_at);
  if (ip.status !== "verifying" || sinceMs < proofTimeoutMs) return wait(ip, check, work);
  const members = {
    status: "pending_authorization",
    status_reason:
      "The host did not prove itself within 30 days, and its setup key has expired. Authorize the host again.",
    addresses: check.addresses,
    key_hash: undefined,
    key_issued_at: undefined,
    failures: 0,
    due_at: null,
  } as const;
  const moreWrites = (current: StoredIp) => planRelease(work.table, current, addressesOf(current));
  return storeResult(ip, { members, moreWrites, verb: "failed" }, work);
}

/** Stores the result of a check of an active or degraded dedicated IP. */
async function recheck(ip: StoredIp, check: DnsCheck, work: IpWork): Promise<void> {
  const now = work.now();
  if (check.status === "unknown") return storeResult(ip, { members: { due_at: later(now, 60 * minuteMs) } }, work);
  if (check.status === "wanting") return recordFailure(ip, check, work);
  if (ip.type === "byoh") return prove(ip, check, work);
  const verb = ip.status === "degraded" ? "recovered" : undefined;
  return storeResult(ip, { members: passedCheck(check, now), verb }, work);
}

/**
 * Records a failed check. The addresses of a host that becomes degraded can be taken over by a host that proves them.
 */
function recordFailure(ip: StoredIp, { addresses, message }: DnsCheck, work: IpWork): Promise<void> {
  const failures = ip.failures + 1;
  const found = { addresses, failures, due_at: nextCheckAt(failures + 1, work.now()) };
  if (ip.status === "degraded" || failures < failuresUntilDegraded) return storeResult(ip, { members: found }, work);
  const status_reason = `${message} Meanwhile, mail leaves from the shared addresses.`;
  const members = { ...found, status: "degraded", status_reason } as const;
  const moreWrites = async (current: StoredIp) =>
    current.type === "byoh" ? planLoosening(work.table, current, addressesOf(current)) : [];
  return storeResult(ip, { members, moreWrites, verb: "degraded" }, work);
}

/** The time within which the name of a managed address must be confirmed. After it the dedicated IP fails. */
const provisioningMs = dayMs;

type ProvisionContext = Pick<IpWork, "table" | "now">;

/** Plans to make a managed dedicated IP active and to capture the price of its first days. */
async function planReady(ip: StoredIp, check: DnsCheck, { table, now }: ProvisionContext): Promise<ChangePlan<void>> {
  const at = now();
  const paid_until = later(at, dedicatedIpFirstDays * dayMs);
  const { after, writes } = ipUpdate(ip, { ...passedCheck(check, at), paid_until, updated_at: at.toISOString() });
  const wallet = await planWallet(table, ip.account_id, [{ kind: "capture", id: ip.hold_id ?? "" }], at);
  return {
    value: undefined,
    writes: [...writes, ...wallet.writes],
    changes: [ipChange("activated", ip, after), ...wallet.changes],
  };
}

/**
 * Plans to remove a managed dedicated IP that did not become ready. The hold on its price is voided. Its address becomes
 * `faulty`, so that no account can claim it.
 */
async function planFaulty(ip: StoredIp, { table, now }: ProvisionContext): Promise<ChangePlan<void>> {
  const wallet = await planWallet(table, ip.account_id, [{ kind: "void", id: ip.hold_id ?? "" }], now());
  return {
    value: undefined,
    writes: [...(await planRemoval(table, ip, "faulty")), ...wallet.writes],
    changes: [change(ipKind, "failed", ip.id, { before: ipView(ip) }), ...wallet.changes],
  };
}
