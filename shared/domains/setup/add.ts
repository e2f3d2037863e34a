import { covers } from "../../auth/permissions.ts";
import { change } from "../../changes/kind.ts";
import { Problem, notFound } from "../../core/errors.ts";
import { requireFeature } from "../../core/features.ts";
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
  isTransferring,
  notReady,
  type DnsMode,
  type Domain,
  regainedMembers,
  type StoredDomain,
  domainsOf,
  domainsIn,
  domainNameKey,
  holderKey,
} from "../domain.ts";
import { domainOfNewName, domainById, scopesOfDomain } from "../find.ts";
import { proofRecord, proofOfName } from "../health/proof.ts";
import { ifUnchangedOrGone, holderWrite, readHolder, type StoredHolder } from "../holder.ts";
import { domainView, domainViews } from "../view.ts";
import { aheadOfZone, requireZonePossible } from "../zone-neighbours.ts";
import { planMove } from "./move.ts";
import { planNewDomains } from "./new.ts";
import { isDetached, isKept, mayReuse, planTakeover } from "./releasing.ts";
import { domainUpdate } from "./work.ts";

const exists = (name: string) => (): Problem =>
  new Problem("domain_exists", `The account has ${name} already.`, { conflicts_with: name });

/** The error for a new name that a domain of the account has already. */
function inTheWay(domain: StoredDomain): Problem {
  const { name, status } = domain;
  if (isKept(domain)) return notReady(status, `${name} was deleted. Call domains.restore to get it back.`);
  if (status === "releasing") return notReady(status, `${name} is being deleted. Add it again once it is deleted.`);
  return exists(name)();
}

export const domainTaken = (accountId: string) => (name: string) => (): Problem => {
  const proof = proofRecord({ account_id: accountId, name });
  return new Problem(
    "domain_taken",
    `Another account has ${name}. If the name is yours, publish this TXT record or delegate the name to these nameservers. Then add the name again.`,
    { nameservers: nameserversOf(accountId), txt_name: `${proof.name}.${name}`, txt_value: proof.value },
  );
};

/** The items that `addDomain` reads first. The names that look like the new name are read after them. */
export const aheadOfNewDomain = (accountId: string, name: string, workspaceId: string, dnsMode: DnsMode): Ahead => {
  const { keys = [] } = aheadOfLists([domainsOf(accountId), domainsIn(accountId, workspaceId)]);
  const near = dnsMode === "hosted" ? aheadOfZone(name) : { keys: [], ranges: [] };
  return { keys: [...keys, domainNameKey(accountId, name), holderKey(name), ...near.keys], ranges: near.ranges };
};

/**
 * Connects a name to the account. The customer then proves the name, by a delegation or by a TXT record.
 * - If another account holds the name, but not firmly (`StoredHolder`), this account takes the name over by a proof.
 * - If a domain of this account has lost the name, that domain gets the name back.
 * - A `failed` domain of this account is deleted first.
 * - For a domain that has lost the name or is `failed`, the caller needs `domain.delete` on this domain. If a domain
 *   that has lost the name is in another workspace than the given one, the caller also needs `domain.move`.
 *
 * Throws:
 * - 404 if the account's domain of this name was deleted meanwhile;
 * - 409 `domain_exists` if the account has the name in a domain that is not `failed` or `releasing`, or that the caller
 *   may not see;
 * - 409 `domain_exists` if the caller lacks the permission to reuse the account's domain (`mayReuse`);
 * - 409 `domain_taken` if another account has the name, and this account cannot take it over;
 * - 409 `domain_not_ready` if the account's domain of this name is being deleted, or its zone is being removed;
 * - 409 `domain_not_ready` if the account's domain was deleted, but its name is still registered here;
 * - 409 `dns_unavailable` for a hosted domain, if the deployment hosts no zones;
 * - 409 `zone_conflict` for a hosted domain, if the nameservers hold a zone above or below the name;
 * - 422 if the workspace is gone.
 */
export async function addDomain(
  accountId: string,
  { name, workspaceId, dnsMode = "hosted" }: { name: string; workspaceId: string; dnsMode?: DnsMode },
  context: Context,
  resolver: Resolver,
): Promise<Domain> {
  if (dnsMode === "hosted") requireFeature("dns");
  const { table } = context;
  const [own, holder] = await Promise.all([
    domainOfNewName(table, accountId, name),
    readHolder(table, name),
    dnsMode === "hosted" && requireZonePossible(name, accountId, context),
  ]);
  const isLost = own !== undefined && isDetached(own);
  const maySee = own && covers(context.permissions, "domain.view", scopesOfDomain(own));
  if (own && own.status !== "failed" && !isLost) throw maySee ? inTheWay(own) : exists(name)();
  if (own && !mayReuse(context.permissions, own, workspaceId)) throw exists(name)();
  const { taking, claim } = await claimName(accountId, name, holder, resolver);
  if (isLost) return regainDomain(own, { workspaceId, dnsMode, taking, claim, inTheWay, verb: "regained" }, context);
  if (own) await removeFailed(accountId, own, context);
  return context.commit(async () => {
    const at = context.now();
    const due_at = later(at, firstCheckMs);
    const place = { accountId, workspaceId, now: at };
    const origin = { name, source: "connected", dns_mode: dnsMode } as const;
    const given = { ...origin, status: "pending_delegation", auto_renew: false, due_at } as const;
    const { domains, writes } = await planNewDomains(table, place, [given], {
      taken: domainTaken(accountId),
      exists,
      claim,
    });
    const [domain] = domains as [StoredDomain];
    const view = domainView(domain);
    return {
      value: view,
      writes: [...writes, ...(taking ? await planTakeover(table, taking.rival, taking.why, at) : [])],
      changes: [change(domainKind, "created", domain.id, { after: view })],
    };
  });
}

/**
 * A takeover of a name that `rival` holds, but not firmly. `why` is the proof of the new account: `proved` by the
 * delegation of the name, or `published` by a TXT record.
 */
type Taking = { rival: StoredHolder; why: "proved" | "published" };

/**
 * Finds out whether an account can have a name. `holder` is the present holder of the name. Throws 409 `domain_taken`
 * if another account has the name, and this account cannot take it over. Returns:
 * - `claim`, a function that makes the writes that give the name to a domain;
 * - `taking`, the takeover if another account loses the name.
 */
export async function claimName(
  accountId: string,
  name: string,
  holder: StoredHolder | undefined,
  resolver: Resolver,
): Promise<Pick<Regaining, "taking" | "claim">> {
  const rival = holder && holder.account_id !== accountId ? holder : undefined;
  const taking = rival && { rival, why: await requireProof(accountId, name, rival, resolver) };
  // `ifUnchangedOrGone`, because the rival may have released the name meanwhile.
  const condition = rival ? ifUnchangedOrGone(rival) : "absent";
  const claim = (domain: StoredDomain): Write[] => [
    { ...holderWrite(domain, condition), orElse: domainTaken(accountId)(name) },
  ];
  return { taking, claim };
}

/** Throws 409 `domain_taken` if the rival holds the name firmly, or if this account does not prove the name. */
async function requireProof(
  accountId: string,
  name: string,
  rival: StoredHolder,
  resolver: Resolver,
): Promise<Taking["why"]> {
  const domain = { account_id: accountId, name, nameservers: nameserversOf(accountId) };
  const proof = rival.firm ? undefined : await proofOfName(resolver, domain);
  if (proof === undefined) throw domainTaken(accountId)(name)();
  return proof === "record" ? "published" : "proved";
}

/** The time from adding a domain to the first automatic check of its proof, in milliseconds. */
const firstCheckMs = 60_000;

type Regaining = {
  workspaceId: string;
  dnsMode: DnsMode;
  taking: Taking | undefined;
  claim: (domain: StoredDomain) => Write[];
  /** Makes the error for a domain that is not detached (`isDetached`). */
  inTheWay: (domain: StoredDomain) => Problem;
  verb: "regained" | "restored";
};

/** Throws 409 `domain_not_ready` while the zone of a domain is being removed from the nameservers. */
export function requireZoneRemoved({ name, status, due_at, deletes_at }: StoredDomain): void {
  if (due_at === deletes_at) return;
  throw notReady(status, `The zone of ${name} is being removed. Try again in a minute.`);
}

/**
 * Gives a domain back the name that it had lost. The domain keeps its contents, and its name must be proved again, as
 * for a new domain. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - the error of `inTheWay` if the domain is not detached (`isDetached`);
 * - 409 `domain_exists` if the caller lacks the permission to reuse the domain (`mayReuse`);
 * - 409 `domain_not_ready` while the zone of the domain is being removed from the nameservers;
 * - the error of `claim` if another account has the name;
 * - 422 if the workspace is gone.
 */
export function regainDomain(
  found: StoredDomain,
  { workspaceId, dnsMode, taking, claim, inTheWay, verb }: Regaining,
  { table, commit, now, permissions }: Context,
): Promise<Domain> {
  const { account_id, id } = found;
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (!domain) throw notFound();
    if (!isDetached(domain)) throw inTheWay(domain);
    if (!mayReuse(permissions, domain, workspaceId)) throw exists(domain.name)();
    requireZoneRemoved(domain);
    const at = now();
    const { place, writes: moved } = await planMove(table, domain, workspaceId);
    const { after, writes } = domainUpdate(domain, {
      ...place,
      ...regainedMembers(domain),
      status: "pending_delegation",
      source: "connected",
      dns_mode: dnsMode,
      registration: null,
      auto_renew: isTransferring(domain) && domain.auto_renew,
      // A domain that was deleted by mistake is probably still delegated to us. With a check at once, its mail goes on.
      due_at: verb === "restored" ? at.toISOString() : later(at, firstCheckMs),
      updated_at: at.toISOString(),
    });
    const [before, shown] = (await domainViews(table, account_id, [domain, after])) as [Domain, Domain];
    return {
      value: shown,
      writes: [
        ...writes,
        ...moved,
        ...claim(after),
        ...(taking ? await planTakeover(table, taking.rival, taking.why, at) : []),
      ],
      changes: [change(domainKind, verb, id, { before, after: shown })],
    };
  });
}
