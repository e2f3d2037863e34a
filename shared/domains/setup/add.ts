import { change } from "../../changes/kind.ts";
import { Problem, notFound } from "../../core/errors.ts";
import { nameserversOf } from "../../core/platform.ts";
import { later } from "../../core/time.ts";
import { removeFailed } from "../../deletion/domain.ts";
import type { Resolver } from "../../dns/answer.ts";
import type { Context } from "../../http/route.ts";
import { aheadOfLists } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Write } from "../../table/writes.ts";
import {
  domainKind,
  notReady,
  type Domain,
  type StoredDomain,
  domainsOf,
  domainsIn,
  domainNameKey,
  holderKey,
} from "../domain.ts";
import { domainOfNewName, domainById } from "../find.ts";
import { ifUnchangedOrGone, holderWrite, readHolder, type StoredHolder } from "../holder.ts";
import { domainView, domainViews } from "../view.ts";
import { delegationState } from "./delegation.ts";
import { planMove } from "./move.ts";
import { planNewDomains } from "./new.ts";
import { isDetached, planTakeover } from "./takeover.ts";
import { domainUpdate } from "./work.ts";

const exists = (name: string) => (): Problem =>
  new Problem("domain_exists", `The account has ${name} already.`, { conflicts_with: name });

const inTheWay = ({ name, status }: StoredDomain): Problem =>
  status === "releasing"
    ? notReady(status, `${name} is being deleted. Add it again once it is deleted.`)
    : exists(name)();

const taken = (accountId: string) => (name: string) => (): Problem =>
  new Problem(
    "domain_taken",
    `Another account has ${name}. If it is yours, delegate it to these nameservers and add it again.`,
    { nameservers: nameserversOf(accountId) },
  );

/** The items that `addDomain` reads before the names that look like the new one. */
export const aheadOfNewDomain = (accountId: string, name: string, workspaceId: string): Ahead => {
  const { keys = [] } = aheadOfLists([domainsOf(accountId), domainsIn(accountId, workspaceId)]);
  return { keys: [...keys, domainNameKey(accountId, name), holderKey(name)] };
};

/**
 * Connects a name to the account. The customer then delegates it to the account's nameservers.
 * - A name that another account connected but never proved goes to the account that the parent zone delegates it to.
 * - A domain of the account that lost this name gets it back.
 * - 409 `domain_exists`, `domain_taken`.
 * - 409 `domain_not_ready` while the account's own domain of this name is being deleted.
 */
export async function addDomain(
  accountId: string,
  { name, workspaceId }: { name: string; workspaceId: string },
  context: Context,
  resolver: Resolver,
): Promise<Domain> {
  const { table } = context;
  const [known, holder] = await Promise.all([domainOfNewName(table, accountId, name), readHolder(table, name)]);
  const isLost = known !== undefined && isDetached(known);
  if (known && known.status !== "failed" && !isLost) throw inTheWay(known);
  const rival = holder && holder.account_id !== accountId ? holder : undefined;
  if (rival) await requireProof(accountId, name, rival, resolver);
  // `ifUnchangedOrGone`, because the rival may have released the name meanwhile.
  const claim = (domain: StoredDomain): Write[] => [
    { ...holderWrite(domain, rival ? ifUnchangedOrGone(rival) : "absent"), orElse: taken(accountId)(name) },
  ];
  if (isLost) return regainDomain(known, { workspaceId, rival, claim, inTheWay }, context);
  if (known) await removeFailed(accountId, known, context);
  return context.commit(async () => {
    const at = context.now();
    const due_at = later(at, firstCheckMs);
    const place = { accountId, workspaceId, now: at };
    const given = { name, source: "connected", status: "pending_delegation", auto_renew: false, due_at } as const;
    const { domains, writes } = await planNewDomains(table, place, [given], { taken: taken(accountId), exists, claim });
    const [domain] = domains as [StoredDomain];
    const view = domainView(domain);
    return {
      value: view,
      writes: [...writes, ...(rival ? await planTakeover(table, rival, "proved", at) : [])],
      changes: [change(domainKind, "created", domain.id, { after: view })],
    };
  });
}

/**
 * Throws 409 `domain_taken`, unless the rival's hold is not firm and the name is delegated to this account's
 * nameservers.
 */
async function requireProof(accountId: string, name: string, rival: StoredHolder, resolver: Resolver): Promise<void> {
  const refusal = taken(accountId)(name)();
  if (rival.firm) throw refusal;
  const { verified } = await delegationState(resolver, name, nameserversOf(accountId));
  if (!verified) throw refusal;
}

/** The time from adding a domain to the first automatic check of its delegation, in milliseconds. */
const firstCheckMs = 60_000;

type Regaining = {
  workspaceId: string;
  /** The present holder of the name, who has not proved it. */
  rival: StoredHolder | undefined;
  claim: (domain: StoredDomain) => Write[];
  inTheWay: (domain: StoredDomain) => Problem;
};

/**
 * Gives a domain back the name that another account had taken over, with all contents that are kept. The name must be
 * delegated to the account again, as for a new domain. Throws 409 `domain_not_ready` while its zone is being removed
 * from the nameservers.
 */
function regainDomain(
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
