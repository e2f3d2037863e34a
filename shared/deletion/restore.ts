import { change } from "../changes/kind.ts";
import { notFound, type Problem } from "../core/errors.ts";
import type { Resolver } from "../dns/answer.ts";
import {
  domainKind,
  holderKey,
  notReady,
  provedAgainMembers,
  type DnsMode,
  type Domain,
  type StoredDomain,
} from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { readHolder } from "../domains/holder.ts";
import { claimName, regainDomain, requireZoneRemoved, domainTaken } from "../domains/setup/add.ts";
import { isKept } from "../domains/setup/releasing.ts";
import { domainUpdate } from "../domains/setup/work.ts";
import { domainViews } from "../domains/view.ts";
import type { Context } from "../http/route.ts";

/**
 * Restores a domain that was deleted or has lost its name, with all contents that are kept. The domain then waits until
 * its name is proved.
 * - A name that is still registered here stays registered.
 * - Any other name is claimed again, as for a new domain (`claimName`).
 * - A domain whose DNS was moving to `external` is hosted again, if its name was still delegated to us.
 *
 * Throws:
 * - 404 if the domain is gone;
 * - 409 `domain_taken` if another account has the name;
 * - 409 `domain_not_ready` if the domain is not kept, its registration has ended, or its zone is being removed.
 */
export async function restoreDomain(found: StoredDomain, context: Context, resolver: Resolver): Promise<Domain> {
  const { account_id, id, name, workspace_id: workspaceId } = found;
  if (!isKept(found)) throw notRestorable(found);
  if (found.registration?.status === "expired") throw notRegistered(found);
  const holder = await readHolder(context.table, name);
  if (holder?.domain_id === id) return keepName(found, context);
  const claimed = await claimName(account_id, name, holder, resolver);
  const dnsMode = restoredMode(found);
  return regainDomain(found, { ...claimed, workspaceId, dnsMode, inTheWay: notRestorable, verb: "restored" }, context);
}

/**
 * The DNS mode of a restored domain. If the domain was deleted during a move to `external`, before its delegation
 * changed, the domain is hosted again. The deletion has removed the zone, and only a hosted domain gets a new zone.
 */
const restoredMode = ({ dns_mode, handover }: StoredDomain): DnsMode =>
  handover !== null && handover.gone_at === null ? "hosted" : dns_mode;

const notRestorable = ({ name, status, is_open }: StoredDomain): Problem =>
  notReady(
    status,
    is_open ? `${name} is ${status}. There is nothing to restore.` : `${name} is ${status} and cannot be restored.`,
  );

const notRegistered = ({ name, status }: StoredDomain): Problem =>
  notReady(
    status,
    `The registration of ${name} has ended. Buy the name again with domains.purchase, and the domain comes back with all its contents. If you have registered it elsewhere, call domains.add.`,
  );

/** Ends the release of a domain that still has its name and its registration. */
function keepName({ account_id, id }: StoredDomain, { table, commit, now }: Context): Promise<Domain> {
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (!domain) throw notFound();
    if (!isKept(domain)) throw notRestorable(domain);
    requireZoneRemoved(domain);
    const at = now().toISOString();
    const { after, writes } = domainUpdate(domain, {
      status: "pending_delegation",
      status_reason: null,
      deletes_at: null,
      dns_mode: restoredMode(domain),
      // The provider has removed the former zone.
      handover: null,
      is_open: true,
      failures: 0,
      ...provedAgainMembers(domain),
      due_at: at,
      updated_at: at,
    });
    const [before, shown] = (await domainViews(table, account_id, [domain, after])) as [Domain, Domain];
    const { name } = domain;
    return {
      value: shown,
      writes: [...writes, { check: holderKey(name), if: { domain_id: id }, orElse: domainTaken(account_id)(name) }],
      changes: [change(domainKind, "restored", id, { before, after: shown })],
    };
  });
}
