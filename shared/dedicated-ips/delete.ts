import { change } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import type { Context } from "../http/route.ts";
import { planWallet } from "../wallet/wallet.ts";
import { type StoredIp, ipById, ipKind, notReady } from "./dedicated-ip.ts";
import { operationKey, readOperation } from "./operation.ts";
import { planRemoval } from "./removal.ts";
import { ipSeen, ipView } from "./view.ts";
import { planAfresh } from "./work.ts";

const inUse = (ip: StoredIp, context: Context): Problem => {
  const { domain_count } = ipSeen(ip, context);
  return new Problem("ip_in_use", "Unassign its domains first.", domain_count === null ? {} : { domain_count });
};

/**
 * Deletes a dedicated IP: what is held for one that is still provisioned is free again, as is its address; what was
 * paid is not given back, and the address rests. 404, 409 `ip_in_use` while domains send from it, or are being assigned
 * to it or taken off, `ip_not_ready` for a host that the operator suspended: added again it would not be.
 */
export function deleteIp({ account_id, id }: StoredIp, context: Context): Promise<void> {
  const { table, commit, now } = context;
  return commit(() =>
    planAfresh(async () => {
      const ip = await ipById(table, account_id, id);
      if (!ip) throw notFound();
      if (ip.domain_count > 0 || (await readOperation(table, account_id, id))) throw inUse(ip, context);
      if (ip.type === "byoh" && ip.status === "suspended") throw notReady(ip.status, `${ip.name} is suspended.`);
      const isNew = ip.status === "provisioning";
      const voided = { kind: "void", id: ip.hold_id ?? "" } as const;
      const wallet = isNew ? await planWallet(table, account_id, [voided], now()) : { writes: [], changes: [] };
      return {
        value: undefined,
        writes: [
          ...(await planRemoval(table, ip, isNew ? "free" : "resting")),
          { check: operationKey(account_id, id), if: "absent", orElse: () => inUse(ip, context) },
          ...wallet.writes,
        ],
        changes: [change(ipKind, "deleted", id, { before: ipView(ip) }), ...wallet.changes],
      };
    }),
  );
}
