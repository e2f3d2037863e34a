import { change } from "../../changes/kind.ts";
import { notFound, type Problem } from "../../core/errors.ts";
import { later } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { Write } from "../../table/writes.ts";
import { type Domain, type StoredDomain, domainKind, notReady } from "../domain.ts";
import { domainById } from "../find.ts";
import type { StoredHolder } from "../holder.ts";
import { domainViews } from "../view.ts";
import { planMove } from "./move.ts";
import { isDetached, planTakeover } from "./takeover.ts";
import { domainUpdate } from "./work.ts";

/** The time from adding a domain to the first automatic check of its delegation, in milliseconds. */
export const firstCheckMs = 60_000;

type Regaining = {
  workspaceId: string;
  /** The present holder of the name, who has not proved it. */
  rival: StoredHolder | undefined;
  claim: (domain: StoredDomain) => Write[];
  inTheWay: (domain: StoredDomain) => Problem;
};

/**
 * Gives a domain back the name that another account had taken over, with all contents that are kept. The name must be
 * delegated to the account again, as for a new domain. 409 `domain_not_ready` while its zone is being removed from the
 * nameservers.
 */
export function regainDomain(
  found: StoredDomain,
  { workspaceId, rival, claim, inTheWay }: Regaining,
  { table, commit, now }: Context,
): Promise<Domain> {
  const { account_id, id } = found;
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (!domain) throw notFound();
    if (!isDetached(domain)) throw inTheWay(domain);
    if (domain.due_at !== domain.deletes_at) {
      throw notReady(domain.status, `The zone of ${domain.name} is being removed. Add the domain again in a minute.`);
    }
    const at = now();
    const { place, writes: moved } = await planMove(table, domain, workspaceId);
    const { after, writes } = domainUpdate(domain, {
      ...place,
      status: "pending_delegation",
      status_reason: null,
      deletes_at: null,
      source: "connected",
      registration: null,
      // Others may have received mail at the name since: null keeps this account from reading it until the delegation
      // is seen again.
      verified_at: null,
      auto_renew: false,
      is_open: true,
      failures: 0,
      due_at: later(at, firstCheckMs),
      updated_at: at.toISOString(),
    });
    const [before, shown] = (await domainViews(table, account_id, [domain, after])) as [Domain, Domain];
    return {
      value: shown,
      writes: [...writes, ...moved, ...claim(after), ...(rival ? await planTakeover(table, rival, "proved", at) : [])],
      changes: [change(domainKind, "regained", id, { before, after: shown })],
    };
  });
}
