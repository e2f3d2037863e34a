import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { planWallet } from "../wallet/wallet.ts";
import { wellNow } from "./activate.ts";
import type { DnsCheck } from "./check-dns.ts";
import { ipKind, type StoredIp } from "./dedicated-ip.ts";
import { planRemoval } from "./removal.ts";
import { ipView } from "./view.ts";
import { becoming, ipChange, later, type IpWork } from "./work.ts";

const dayMs = 86_400_000;

/** How long the address of a managed dedicated IP may take to be confirmed before it is given up. */
export const provisioningMs = dayMs;

type Work = Pick<IpWork, "table" | "now">;

/** The plan that makes a managed dedicated IP active and takes the price of its first days. */
export async function planReady(ip: StoredIp, look: DnsCheck, { table, now }: Work): Promise<ChangePlan<void>> {
  const at = now();
  const paid_until = later(at, dedicatedIpFirstDays * dayMs);
  const { after, writes } = becoming(ip, { ...wellNow(look, at), paid_until, updated_at: at.toISOString() });
  const wallet = await planWallet(table, ip.account_id, [{ kind: "capture", id: ip.hold_id ?? "" }], at);
  return {
    value: undefined,
    writes: [...writes, ...wallet.writes],
    changes: [ipChange("activated", ip, after), ...wallet.changes],
  };
}

/**
 * The plan that gives up a managed dedicated IP that never became ready: its price is released, and nobody can claim
 * its address.
 */
export async function planFaulty(ip: StoredIp, { table, now }: Work): Promise<ChangePlan<void>> {
  const wallet = await planWallet(table, ip.account_id, [{ kind: "void", id: ip.hold_id ?? "" }], now());
  return {
    value: undefined,
    writes: [...(await planRemoval(table, ip, "faulty")), ...wallet.writes],
    changes: [change(ipKind, "failed", ip.id, { before: ipView(ip) }), ...wallet.changes],
  };
}
