import { accountKey, StoredStatus, type AccountStatus } from "../accounts/account.ts";
import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { dayMs, later, minuteMs, nextCheckAt } from "../core/time.ts";
import { dueKey, forgetDue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { planWallet } from "../wallet/wallet.ts";
import { activationVerb, planFirmHold, takeFromRivals, passedCheck } from "./activate.ts";
import { ipUpdate, ipChange, retryOnConflict, systemContext, type ChangedMembers, type IpContext } from "./change.ts";
import { checkDns, type DnsCheck } from "./check-dns.ts";
import { type IpVerb, type StoredIp, ipById, ipKey, ipQueue, ipKind } from "./dedicated-ip.ts";
import { planRelease, planLoosening } from "./holder.ts";
import { planRemoval, takeBackIp } from "./removal.ts";
import { ipView } from "./view.ts";

/** After this many failed checks in a row, an active dedicated IP becomes `degraded`. */
const failuresUntilDegraded = 2;
/** How long a host can take to prove its addresses before its setup key expires, in milliseconds. */
const proofTimeoutMs = 30 * dayMs;

const accountStatusOf = async (table: Reader, accountId: string): Promise<AccountStatus | undefined> =>
  (await table.get(accountKey(accountId), StoredStatus))?.status;

/**
 * Checks a dedicated IP that is due at the time `at`, and stores the result.
 * - A managed dedicated IP of a closed account is not checked, but taken back.
 * - A dedicated IP whose status needs no check, such as `suspended`, only loses its due time.
 * - If the dedicated IP is not due at this time, the task is removed from the queue.
 * - After an error the task stays in the queue.
 */
export async function advanceIp(accountId: string, id: string, at: string, context: IpContext): Promise<void> {
  const ip = await ipById(context.table, accountId, id);
  if (ip?.due_at !== at) return removeTask(accountId, id, at, context);
  if (ip.type === "managed" && (await accountStatusOf(context.table, accountId)) === "closed")
    return takeBackIp(ip, systemContext(context, accountId));
  switch (ip.status) {
    case "provisioning":
      return provision(ip, await checkDns(ip, context.resolver), context);
    case "verifying": {
      const check = await checkDns(ip, context.resolver);
      return check.status === "passed" ? activateHost(ip, check, context) : awaitProof(ip, check, context);
    }
    case "active":
    case "degraded":
      return recheck(ip, await checkDns(ip, context.resolver), context);
    default:
      return storeResult(ip, { members: { due_at: null } }, context);
  }
}

const removeTask = (accountId: string, id: string, at: string, { table }: IpContext): Promise<void> =>
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

/**
 * Stores the result of a check. Stores nothing if the status, the due time or the setup key of the dedicated IP has
 * changed since the dedicated IP was read.
 */
function storeResult(ip: StoredIp, { members, moreWrites, verb }: Progress, context: IpContext): Promise<void> {
  const { table, commit, now } = systemContext(context, ip.account_id);
  return commit(async () => {
    const current = await ipById(table, ip.account_id, ip.id);
    if (!isUnchanged(current, ip)) return { value: undefined, writes: [], changes: [] };
    // A change that the view does not show is stored, but it is not recorded and does not change `updated_at`.
    const changed = { ...current, ...members } as StoredIp;
    const isVisible = JSON.stringify(ipView(current)) !== JSON.stringify(ipView(changed));
    const { after, writes } = ipUpdate(current, isVisible ? { ...members, updated_at: now().toISOString() } : members);
    return {
      value: undefined,
      writes: [...writes, ...((await moreWrites?.(current)) ?? [])],
      changes: isVisible ? [ipChange(verb ?? "updated", current, after)] : [],
      housekeeping: true,
    };
  });
}

const isUnchanged = (current: StoredIp | undefined, ip: StoredIp): current is StoredIp =>
  current?.status === ip.status && current.due_at === ip.due_at && current.key_hash === ip.key_hash;

/**
 * Activates a managed dedicated IP whose address has the right reverse DNS, and captures the price of its first days.
 * If the account was closed meanwhile, changes nothing, because the next check takes the dedicated IP back. If the
 * reverse DNS is not right, schedules the next check. If it is still not right after `provisioningMs`, removes the
 * dedicated IP.
 */
async function provision(ip: StoredIp, check: DnsCheck, context: IpContext): Promise<void> {
  const { table, commit, now } = systemContext(context, ip.account_id);
  const hasPassed = check.status === "passed";
  const deadline = later(new Date(ip.created_at), provisioningMs);
  if (!hasPassed && now().toISOString() < deadline) return scheduleRetry(ip, check, context, deadline);
  await commit(() =>
    retryOnConflict(async (): Promise<ChangePlan<void>> => {
      const [current, status] = await Promise.all([
        ipById(table, ip.account_id, ip.id),
        accountStatusOf(table, ip.account_id),
      ]);
      if (!isUnchanged(current, ip) || status === "closed") return { value: undefined, writes: [], changes: [] };
      if (!hasPassed) return planFaulty(current, context);
      const ready = await planReady(current, check, context);
      // The transaction fails if the status of the account changes meanwhile.
      const unchanged: Write[] = status ? [{ check: accountKey(ip.account_id), if: { status } }] : [];
      return { ...ready, writes: [...ready.writes, ...unchanged] };
    }),
  );
}

/**
 * Stores the findings of a check that did not pass, and schedules the next check. The waits grow from a minute to a
 * day. The next check is at `deadline` at the latest. A dedicated IP that does not pass the check at `deadline` is
 * deleted, or must be authorized again.
 */
function scheduleRetry(
  ip: StoredIp,
  { addresses, message }: DnsCheck,
  context: IpContext,
  deadline?: string,
): Promise<void> {
  const { failures } = ip;
  const next = nextCheckAt(failures, context.now());
  const due_at = deadline !== undefined && deadline < next ? deadline : next;
  return storeResult(ip, { members: { addresses, status_reason: message, failures: failures + 1, due_at } }, context);
}

/**
 * Activates a host that proves its addresses. If another holder keeps one of the addresses, the host waits like a host
 * without proof (`awaitProof`).
 */
async function activateHost(ip: StoredIp, check: DnsCheck, context: IpContext): Promise<void> {
  try {
    await takeFromRivals(ip, check, systemContext(context, ip.account_id));
    const members = passedCheck(check, context.now());
    const moreWrites = (current: StoredIp) => planFirmHold(context.table, current);
    await storeResult(ip, { members, moreWrites, verb: activationVerb(ip) }, context);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "ip_taken") throw error;
    await awaitProof(ip, { ...check, message: error.message }, context);
  }
}

const addressesOf = ({ addresses }: StoredIp): string[] => addresses.map(({ ip }) => ip);

/**
 * Schedules the next check of a host that cannot become active. But if the host is still `verifying` 30 days after its
 * setup key was issued, the key expires. Then the host loses the addresses that it proved with an earlier key, and has
 * to be authorized again.
 */
function awaitProof(ip: StoredIp, check: DnsCheck, context: IpContext): Promise<void> {
  if (ip.status !== "verifying") return scheduleRetry(ip, check, context);
  const deadline = later(new Date(ip.key_issued_at ?? ip.created_at), proofTimeoutMs);
  if (context.now().toISOString() < deadline) return scheduleRetry(ip, check, context, deadline);
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
  const moreWrites = (current: StoredIp) => planRelease(context.table, current, addressesOf(current));
  return storeResult(ip, { members, moreWrites, verb: "failed" }, context);
}

/** Stores the result of a check of an active or degraded dedicated IP. */
async function recheck(ip: StoredIp, check: DnsCheck, context: IpContext): Promise<void> {
  const now = context.now();
  if (check.status === "unknown") return storeResult(ip, { members: { due_at: later(now, 60 * minuteMs) } }, context);
  if (check.status === "failed") return recordFailure(ip, check, context);
  if (ip.type === "byoh") return activateHost(ip, check, context);
  const verb = ip.status === "degraded" ? "recovered" : undefined;
  return storeResult(ip, { members: passedCheck(check, now), verb }, context);
}

/** Records a failed check. If a host becomes degraded, another host can take over its addresses by proving them. */
function recordFailure(ip: StoredIp, { addresses, message }: DnsCheck, context: IpContext): Promise<void> {
  const failures = ip.failures + 1;
  const findings = { addresses, failures, due_at: nextCheckAt(failures + 1, context.now()) };
  if (ip.status === "degraded" || failures < failuresUntilDegraded)
    return storeResult(ip, { members: findings }, context);
  const status_reason = `${message} Meanwhile, mail leaves from the shared addresses.`;
  const members = { ...findings, status: "degraded", status_reason } as const;
  const moreWrites = async (current: StoredIp) =>
    current.type === "byoh" ? planLoosening(context.table, current, addressesOf(current)) : [];
  return storeResult(ip, { members, moreWrites, verb: "degraded" }, context);
}

/**
 * How long the reverse DNS of a managed address can take to be right before the dedicated IP fails, in milliseconds.
 */
const provisioningMs = dayMs;

type ProvisionContext = Pick<IpContext, "table" | "now">;

/** Plans to activate a managed dedicated IP, and to capture the price of its first days. */
async function planReady(ip: StoredIp, check: DnsCheck, { table, now }: ProvisionContext): Promise<ChangePlan<void>> {
  const at = now();
  const paid_until = later(at, dedicatedIpFirstDays * dayMs);
  const activated_at = at.toISOString();
  const { after, writes } = ipUpdate(ip, {
    ...passedCheck(check, at),
    paid_until,
    activated_at,
    updated_at: activated_at,
  });
  const wallet = await planWallet(table, ip.account_id, [{ kind: "capture", id: ip.hold_id ?? "" }], at);
  return {
    value: undefined,
    writes: [...writes, ...wallet.writes],
    changes: [ipChange("activated", ip, after), ...wallet.changes],
  };
}

/**
 * Plans to remove a managed dedicated IP whose address did not become ready, and to void the hold on its price. The
 * address becomes `faulty`, so that no account can claim it.
 */
async function planFaulty(ip: StoredIp, { table, now }: ProvisionContext): Promise<ChangePlan<void>> {
  const at = now();
  const wallet = await planWallet(table, ip.account_id, [{ kind: "void", id: ip.hold_id ?? "" }], at);
  return {
    value: undefined,
    writes: [...(await planRemoval(table, ip, "faulty", at)), ...wallet.writes],
    changes: [change(ipKind, "failed", ip.id, { before: ipView(ip) }), ...wallet.changes],
  };
}
