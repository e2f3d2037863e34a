import type { StoredDomain } from "../domains/domain.ts";
import type { Planned } from "../domains/setup/work.ts";
import type { Reader } from "../table/table.ts";
import { ipById, ipDomainKey, ipKey } from "./dedicated-ip.ts";
import { ipChange } from "./work.ts";

/** What takes the place of a domain that goes from its dedicated IP; one that is being assigned gets none any more. */
export async function planUnassigned(
  table: Reader,
  { account_id, id, dedicated_ip_id }: StoredDomain,
  now: Date,
): Promise<Planned> {
  if (dedicated_ip_id === null) return { writes: [], changes: [] };
  const place = ipDomainKey(account_id, dedicated_ip_id, id);
  const [[found], ip] = await Promise.all([table.getMany([place]), ipById(table, account_id, dedicated_ip_id)]);
  if (!found || !ip) return { writes: [{ check: place, if: "absent" }], changes: [] };
  const { version } = ip;
  const updated_at = now.toISOString();
  // What is below zero was not read at one moment, and fails the transaction.
  const after = { ...ip, domain_count: Math.max(0, ip.domain_count - 1), updated_at };
  return {
    writes: [
      { delete: place, if: "present" },
      {
        update: ipKey(account_id, ip.id),
        set: { updated_at },
        add: { domain_count: -1, version: 1 },
        if: { id: ip.id, version },
      },
    ],
    changes: [ipChange("domains_unassigned", ip, after)],
  };
}
