import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { dayMs, later } from "../core/time.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { planWallet } from "../wallet/wallet.ts";
import { passedCheck } from "./activate.ts";
import type { DnsCheck } from "./check-dns.ts";
import { ipKind, type StoredIp } from "./dedicated-ip.ts";
import { planRemoval } from "./removal.ts";
import { ipView } from "./view.ts";
import { ipUpdate, ipChange, type IpWork } from "./work.ts";

/** The time within which the name of a managed address must be confirmed. After it the dedicated IP fails. */
export const provisioningMs = dayMs;

type ProvisionContext = Pick<IpWork, "table" | "now">;

/** Plans to make a managed dedicated IP active and to capture the price of its first days. */
export async function planReady(
  ip: StoredIp,
  check: DnsCheck,
  { table, now }: ProvisionContext,
): Promise<ChangePlan<void>> {
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
export async function planFaulty(ip: StoredIp, { table, now }: ProvisionContext): Promise<ChangePlan<void>> {
  const wallet = await planWallet(table, ip.account_id, [{ kind: "void", id: ip.hold_id ?? "" }], now());
  return {
    value: undefined,
    writes: [...(await planRemoval(table, ip, "faulty")), ...wallet.writes],
    changes: [change(ipKind, "failed", ip.id, { before: ipView(ip) }), ...wallet.changes],
  };
}
