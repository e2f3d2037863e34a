import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { dueKey, forgetDue } from "../table/due.ts";
import type { Write } from "../table/writes.ts";
import { planHeld, takeFromRivals, wellNow } from "./activate.ts";
import { checkDns, type DnsCheck } from "./check-dns.ts";
import { type IpVerb, type StoredIp, ipById, ipKey, ipQueue } from "./dedicated-ip.ts";
import { planLetGo, planLoosened } from "./holder.ts";
import { planFaulty, planReady, provisioningMs } from "./provision.ts";
import { ipView } from "./view.ts";
import { becoming, ipChange, later, planAfresh, systemMover, type Becoming, type IpWork } from "./work.ts";

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;
/** The waits for a host's records, or for an address's name: short at first, a day in the end. */
const waitsMs = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);
/** How many checks in a row have to fail before a dedicated IP counts as degraded. */
const patience = 2;
/** How long a host may take to prove itself before its key ends. */
const provingMs = 30 * dayMs;

const soon = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? dayMs);

/** Does the work that is due for a dedicated IP at an instant. Failed work stays due and is tried again. */
export async function advanceIp(accountId: string, id: string, at: string, work: IpWork): Promise<void> {
  const ip = await ipById(work.table, accountId, id);
  if (ip?.due_at !== at) return forget(accountId, id, at, work);
  switch (ip.status) {
    case "provisioning":
      return provision(ip, await checkDns(ip, work.resolver), work);
    case "verifying": {
      const look = await checkDns(ip, work.resolver);
      return look.status === "well" ? prove(ip, look, work) : awaitProof(ip, look, work);
    }
    case "active":
    case "degraded":
      return recheck(ip, await checkDns(ip, work.resolver), work);
    default:
      return become(ip, { members: { due_at: null } }, work);
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
type Found = { members: Becoming; beside?: (current: StoredIp) => Promise<Write[]>; verb?: IpVerb | undefined };

/** Writes the result of a check, unless the dedicated IP was changed or checked by somebody else in the meantime. */
function become(ip: StoredIp, { members, beside, verb }: Found, work: IpWork): Promise<void> {
  const { table, commit, now } = systemMover(work, ip.account_id);
  return commit(async () => {
    const current = await ipById(table, ip.account_id, ip.id);
    if (!isSame(current, ip)) return { value: undefined, writes: [], changes: [] };
    const isNews = JSON.stringify(ipView(current)) !== JSON.stringify(ipView({ ...current, ...members } as StoredIp));
    const { after, writes } = becoming(current, isNews ? { ...members, updated_at: now().toISOString() } : members);
    return {
      value: undefined,
      writes: [...writes, ...((await beside?.(current)) ?? [])],
      changes: isNews ? [ipChange(verb ?? "updated", current, after)] : [],
      housekeeping: true,
    };
  });
}

const isSame = (current: StoredIp | undefined, ip: StoredIp): current is StoredIp =>
  current?.status === ip.status && current.due_at === ip.due_at && current.key_hash === ip.key_hash;

/**
 * Activates a managed dedicated IP whose address has the right name, and takes its price; gives up one that has taken
 * too long.
 */
async function provision(ip: StoredIp, look: DnsCheck, work: IpWork): Promise<void> {
  const { table, commit, now } = systemMover(work, ip.account_id);
  const isWell = look.status === "well";
  if (!isWell && now().getTime() - Date.parse(ip.created_at) < provisioningMs) return wait(ip, look, work);
  await commit(() =>
    planAfresh(async (): Promise<ChangePlan<void>> => {
      const current = await ipById(table, ip.account_id, ip.id);
      if (!isSame(current, ip)) return { value: undefined, writes: [], changes: [] };
      return isWell ? planReady(current, look, work) : planFaulty(current, work);
    }),
  );
}

/** Plans the next check; the waits get longer and longer. */
function wait(ip: StoredIp, { addresses, message }: DnsCheck, work: IpWork): Promise<void> {
  const { failures } = ip;
  const due_at = soon(failures, work.now());
  return become(ip, { members: { addresses, status_reason: message, failures: failures + 1, due_at } }, work);
}

/** Gives a host that proves itself its addresses, unless another holder has one. */
async function prove(ip: StoredIp, look: DnsCheck, work: IpWork): Promise<void> {
  try {
    await takeFromRivals(ip, look, systemMover(work, ip.account_id));
    const members = wellNow(look, work.now());
    const verb = ip.status === "degraded" ? "recovered" : ip.status === "active" ? undefined : "activated";
    await become(ip, { members, beside: (current) => planHeld(work.table, current), verb }, work);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "ip_taken") throw error;
    await awaitProof(ip, { ...look, message: error.message }, work);
  }
}

const addressesOf = ({ addresses }: StoredIp): string[] => addresses.map(({ ip }) => ip);

/**
 * Waits for a host to prove itself. After 30 days it has to be authorized again, and loses the addresses that it proved
 * with an earlier key.
 */
function awaitProof(ip: StoredIp, look: DnsCheck, work: IpWork): Promise<void> {
  const sinceMs = work.now().getTime() - Date.parse(ip.key_issued_at ?? ip.created_at);
  if (ip.status !== "verifying" || sinceMs < provingMs) return wait(ip, look, work);
  const members = {
    status: "pending_authorization",
    status_reason: "The host did not prove itself in 30 days, and its setup key has ended: authorize it again.",
    addresses: look.addresses,
    key_hash: undefined,
    key_issued_at: undefined,
    failures: 0,
    due_at: null,
  } as const;
  const beside = (current: StoredIp) => planLetGo(work.table, current, addressesOf(current));
  return become(ip, { members, beside, verb: "failed" }, work);
}

/** Checks whether an active dedicated IP is still well, or a degraded one well again. */
async function recheck(ip: StoredIp, look: DnsCheck, work: IpWork): Promise<void> {
  const now = work.now();
  if (look.status === "unknown") return become(ip, { members: { due_at: later(now, 60 * minuteMs) } }, work);
  if (look.status === "wanting") return notice(ip, look, work);
  if (ip.type === "byoh") return prove(ip, look, work);
  const verb = ip.status === "degraded" ? "recovered" : undefined;
  return become(ip, { members: wellNow(look, now), verb }, work);
}

/** Records a failed check. A host that becomes degraded loses its addresses to anybody who proves them. */
function notice(ip: StoredIp, { addresses, message }: DnsCheck, work: IpWork): Promise<void> {
  const failures = ip.failures + 1;
  const found = { addresses, failures, due_at: soon(failures + 1, work.now()) };
  if (ip.status === "degraded" || failures < patience) return become(ip, { members: found }, work);
  const status_reason = `${message} Until then mail leaves from the shared addresses.`;
  const members = { ...found, status: "degraded", status_reason } as const;
  const beside = async (current: StoredIp) =>
    current.type === "byoh" ? planLoosened(work.table, current, addressesOf(current)) : [];
  return become(ip, { members, beside, verb: "degraded" }, work);
}
