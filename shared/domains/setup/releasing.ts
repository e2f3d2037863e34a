import { covers, type Permissions } from "../../auth/permissions.ts";
import { change } from "../../changes/kind.ts";
import { recordWrites, systemAuthor } from "../../changes/record.ts";
import { dayMs, later } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainKind, hasRegistration, holderKey, type Domain, type StoredDomain } from "../domain.ts";
import { domainById, scopesOfDomain } from "../find.ts";
import { readHolder, type StoredHolder } from "../holder.ts";
import { domainViews } from "../view.ts";
import { domainUpdate, type ChangedMembers } from "./work.ts";

/** The reasons why a domain is `releasing`: a text for people, and for how many days the domain keeps its contents. */
const reasons = {
  proved: {
    keptDays: 30,
    text: "Another account proved that the name is theirs: it is delegated to their nameservers.",
  },
  published: { keptDays: 30, text: "Another account proved that the name is theirs: it has their TXT record." },
  bought: { keptDays: 30, text: "Another account registered the name." },
  ended: { keptDays: 30, text: "The registration of the name ended, and was not renewed." },
  deleted: {
    keptDays: 5,
    text: "The domain was deleted. `domains.restore` gets it back while nobody else has the name.",
  },
  released: {
    keptDays: 5,
    text: "The domain was deleted, and its name is given up at `deletes_at`. `domains.restore` keeps the domain and its name.",
  },
} as const;

/** The reasons that earlier versions of this product wrote, without a `deletes_at`. */
const formerReasons = new Set<string | null>([
  reasons.proved.text,
  "Another account is buying the name: nobody had registered it.",
]);

/** Whether a domain was deleted or has lost its name, and is kept for a while. */
export const isKept = ({ status, deletes_at }: Pick<StoredDomain, "status" | "deletes_at">): boolean =>
  status === "releasing" && deletes_at !== null;

/** Whether a domain is kept without its name. Another account can have the name. */
export const isDetached = (domain: Pick<StoredDomain, "status" | "deletes_at" | "registration">): boolean =>
  isKept(domain) && !hasRegistration(domain);

/**
 * Whether a caller may take the name of `own`, a domain of the account, for a new domain in a workspace. A `failed`
 * domain is deleted for this. A domain that is kept without its name gets the name back, and is moved to the workspace.
 */
export function mayReuse(permissions: Permissions, own: StoredDomain, workspaceId: string): boolean {
  const scopes = scopesOfDomain(own);
  const isMoved = own.status !== "failed" && own.workspace_id !== workspaceId;
  return covers(permissions, "domain.delete", scopes) && (!isMoved || covers(permissions, "domain.move", scopes));
}

/** The time until which a `releasing` domain is kept; undefined if the domain is being deleted now. */
export function keptUntil({ deletes_at, status_reason, updated_at }: StoredDomain): string | undefined {
  if (deletes_at !== null) return deletes_at;
  return formerReasons.has(status_reason) ? later(new Date(updated_at), reasons.proved.keptDays * dayMs) : undefined;
}

/**
 * Plans that a domain becomes `releasing`.
 * - The domain keeps its mailboxes, records and other contents for a while.
 * - The worker soon removes the zone of the domain from our nameservers.
 * - With `ended` and `deleted`, the domain loses its name. With `released`, it keeps its name and its registration. In
 *   the other cases the caller gives the name to another account.
 *
 * `more` has further members to change. Returns the new state of the domain, and its views.
 */
export async function planReleasing(
  table: Reader,
  domain: StoredDomain,
  why: keyof typeof reasons,
  now: Date,
  more: ChangedMembers = {},
): Promise<{ domain: StoredDomain; before: Domain; after: Domain; writes: Write[] }> {
  const { account_id, id, name, registration } = domain;
  const { keptDays, text } = reasons[why];
  const deletes_at = later(now, keptDays * dayMs);
  const { after, writes } = domainUpdate(domain, {
    ...more,
    status: "releasing",
    status_reason: text,
    deletes_at,
    is_open: false,
    failures: 0,
    broken_records: [],
    // Only a domain that was verified can have a zone to remove.
    due_at: domain.verified_at === null ? deletes_at : now.toISOString(),
    updated_at: now.toISOString(),
    ...(why !== "released" && registration ? { registration: { ...registration, status: "expired" } } : {}),
  });
  const losesName = why === "ended" || why === "deleted";
  const [views, holder] = await Promise.all([
    domainViews(table, account_id, [domain, after]),
    losesName ? readHolder(table, name) : undefined,
  ]);
  const [before, shown] = views as [Domain, Domain];
  const freed: Write[] = holder?.domain_id === id ? [{ delete: holderKey(name), if: { domain_id: id } }] : [];
  return { domain: after, before, after: shown, writes: [...writes, ...freed] };
}

/**
 * Plans the takeover of a name from the domain of another account. That account gets an event. Plans nothing for a
 * domain that is `pending_transfer` or not open. A deleted domain is not open.
 */
export async function planTakeover(
  table: Reader,
  { account_id, domain_id }: StoredHolder,
  why: "proved" | "published" | "bought",
  now: Date,
): Promise<Write[]> {
  const domain = await domainById(table, account_id, domain_id);
  // A domain in `pending_transfer` has no contents to keep. If its transfer succeeds, it becomes the holder of the name
  // again.
  if (!domain?.is_open || domain.status === "pending_transfer") return [];
  const { before, after, writes } = await planReleasing(table, domain, why, now);
  const taken = change(domainKind, "taken_over", domain_id, { before, after });
  return [...writes, ...recordWrites(account_id, [taken], systemAuthor("domain", "domains"), now)];
}
