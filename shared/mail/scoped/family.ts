import * as z from "zod";

import type { Capability } from "../../auth/capabilities.ts";
import type { ResourceType, Scope } from "../../auth/permissions.ts";
import { Id, ordinalOf } from "../../core/ids.ts";
import { noSuchDomain, domainKey } from "../../domains/domain.ts";
import { domainById, domainByRef, scopesOfDomain } from "../../domains/find.ts";
import { DomainRef } from "../../domains/name.ts";
import type { LocatedResource, ResourceLookup, Expected } from "../../http/route.ts";
import { type List, rowKey } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Item, Key } from "../../table/writes.ts";
import { workspaceCheck } from "../../workspaces/workspace.ts";
import { mailboxById } from "../mailboxes/find.ts";
import { mailboxKey } from "../mailboxes/mailbox.ts";

/*
 * Access patterns
 *   entries for a scope                  ACCOUNT#<id> / <prefix of the kind>#<scope type>#<scope id>#<id>
 *   entries for an address of a domain   ACCOUNT#<id> / <prefix of the kind>#address#<domain id>#<local part>#<id>
 *   entries for patterns of a domain     ACCOUNT#<id> / <prefix of the kind>#pattern#<domain id>#<id>
 */

export const MailScopeType = z.enum(["account", "workspace", "domain"]);

/** A wide scope: the mail of the account, of a workspace or of a domain. */
export type WideScope = { type: z.output<typeof MailScopeType>; id: string };

/**
 * The scope of an entry: a wide scope, one mailbox, or the addresses of a domain that a local part or a pattern names.
 * For addresses, `id` is the id of the domain.
 */
export type MailScope = WideScope | { type: "mailbox"; id: string } | { type: "address"; id: string; local: string };

/** Whether a local part is a pattern: it has the `*` that stands for any characters. */
export const isPattern = (local: string): boolean => local.includes("*");

/**
 * The part of a sort key that names a scope. All patterns of a domain have the same part, because the lookup for an
 * arriving mail reads all of them.
 */
function placeOf(scope: MailScope): string {
  if (scope.type !== "address") return `${scope.type}#${scope.id}`;
  return isPattern(scope.local) ? `pattern#${scope.id}` : `address#${scope.id}#${scope.local}`;
}

/** The key of an entry under its scope. Without an id, the prefix of all entries of the scope. */
export const scopeKey = (accountId: string, prefix: string, scope: MailScope, ownId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `${prefix}#${placeOf(scope)}#${ownId}`,
});

/** The prefixes of all entries for addresses and patterns of a domain. */
export const addressPrefixes = (accountId: string, prefix: string, domainId: string): Key[] =>
  ["address", "pattern"].map((kind) => ({ PK: `ACCOUNT#${accountId}`, SK: `${prefix}#${kind}#${domainId}#` }));

/** An id that no domain or workspace has. */
const noId = "00000000-0000-8000-8000-000000000000";

/**
 * The scopes that a domain's mail is in, widest first. Without a domain, the ids of the workspace and the domain are
 * `noId`, so that lookups find nothing.
 */
export const scopesAround = (accountId: string, domain?: { id: string; workspace_id: string }): WideScope[] => [
  { type: "account", id: accountId },
  { type: "workspace", id: domain?.workspace_id ?? noId },
  { type: "domain", id: domain?.id ?? noId },
];

/**
 * The scopes of grants that cover an entry: the entry itself, the entry's own scope, and the domain and the workspace
 * that this scope is in. If the entry's own scope is a deleted mailbox (`isGone`), the mailbox is left out, because
 * grants on the mailbox allow nothing for its entries until the mailbox is restored.
 */
export const scopesOfScoped = (
  type: "credential" | "forwarding",
  entry: Scoped,
  { workspaceId, isGone }: { workspaceId: string | undefined; isGone: boolean },
): Scope[] => {
  const { id, scope_type, scope_id } = entry;
  const domainId = domainIdOf(entry);
  // The account is never among these scopes. The domain, also of an address, is added below.
  const isAddedHere = scope_type === "workspace" || (scope_type === "mailbox" && !isGone);
  const own = isAddedHere ? [{ type: scope_type, id: scope_id }] : [];
  return [
    { type, id },
    ...own,
    ...(domainId === undefined ? [] : [{ type: "domain" as const, id: domainId }]),
    ...(workspaceId === undefined ? [] : [{ type: "workspace" as const, id: workspaceId }]),
  ];
};

/** A stored entry. If the scope is a mailbox, `scope_domain_id` is the id of its domain. */
export type Scoped = {
  id: string;
  scope_type: MailScope["type"];
  scope_id: string;
  scope_domain_id?: string | undefined;
};

/**
 * The id of the domain to which an entry belongs, because the entry's scope is the domain, or a mailbox or address of
 * the domain. Undefined if the scope is the account or a workspace.
 */
export function domainIdOf({ scope_type, scope_id, scope_domain_id }: Scoped): string | undefined {
  if (scope_type === "domain" || scope_type === "address") return scope_id;
  return scope_type === "mailbox" ? scope_domain_id : undefined;
}

/**
 * A kind of entries that each apply to a scope: master passwords or forwarding rules. An entry is stored in a list, and
 * a second time under its scope. There the entry is looked up when mail arrives or is sent.
 */
export type Family<T extends Scoped> = {
  type: "credential" | "forwarding";
  /** The name of the entries in messages, in the plural. */
  noun: string;
  /** The capability to see an entry. */
  view: Capability;
  list: (accountId: string) => List;
  /** The prefix of the sort keys by scope. */
  prefix: string;
  parse: (row: Item) => T;
  scopeOf: (entry: T) => MailScope;
  /** The scope types of the grants that can cover an entry. */
  within: readonly ResourceType[];
  /** The most entries of one scope. All of them are read when mail arrives or is sent. */
  perScope: number;
  perAccount: number;
  /** The most entries that one transaction deletes, together with the items that belong to these entries. */
  atOnce: number;
};

/** The row key of the entry with this id. An id in another form gets an ordinal that no entry ever has. */
export const scopedKey = <T extends Scoped>({ list }: Family<T>, accountId: string, id: string): Key =>
  rowKey(list(accountId), ordinalOf(id) ?? 2 ** 40);

/** The entry with this id; undefined when the account has none. */
export async function scopedById<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  id: string,
): Promise<T | undefined> {
  const [row] = await table.getMany([scopedKey(family, accountId, id)]);
  const thing = row && family.parse(row);
  return thing?.id === id ? thing : undefined;
}

/** The entry with this id and the scopes of grants that cover it; undefined when the account has none. */
export async function locateScoped<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  id: string,
): Promise<LocatedResource<T> | undefined> {
  const thing = await scopedById(family, table, accountId, id);
  if (!thing) return undefined;
  table.seen?.note({ ...scopedKey(family, accountId, id), ...thing });
  const domainId = domainIdOf(thing);
  const isOfMailbox = thing.scope_type === "mailbox";
  const [domain, mailbox] = await Promise.all([
    domainId === undefined ? undefined : domainById(table, accountId, domainId),
    isOfMailbox ? mailboxById(table, accountId, thing.scope_id) : undefined,
  ]);
  const place = { workspaceId: domain?.workspace_id, isGone: isOfMailbox && mailbox === undefined };
  return { id, scopes: scopesOfScoped(family.type, thing, place), thing };
}

/**
 * The items that `scopedInPath` reads. The plan that follows reads the entry again, so the entry is in the list twice.
 * The domain and the mailbox are in the list only if this process has seen the entry.
 */
export function aheadOfScoped<T extends Scoped>(
  family: Family<T>,
  accountId: string,
  id: string,
  { seen }: Expected,
): Ahead & { keys: Key[] } {
  const key = scopedKey(family, accountId, id);
  const before = seen.recall(key);
  const thing = before && family.parse(before);
  const domainId = thing && domainIdOf(thing);
  const mailbox = thing?.scope_type === "mailbox" ? [mailboxKey(accountId, thing.scope_id)] : [];
  return { keys: [key, key, ...(domainId === undefined ? [] : [domainKey(accountId, domainId)]), ...mailbox] };
}

/** The entry whose id is the named member of a route's path. */
export const scopedInPath = <T extends Scoped, N extends string>(
  family: Family<T>,
  name: N,
): ResourceLookup<{ params: { account_id: string } & Record<N, string> }, T> => ({
  at: "path",
  within: family.within,
  find: ({ params }, table) => locateScoped(family, table, params.account_id, params[name]),
});

/** The members of a body that give the scope of an entry; without them, the scope is the whole account. */
export const scopeMembers = {
  domain: DomainRef.optional().meta({ description: "The domain whose mail is in the scope, by its name or id." }),
  workspace_id: Id.optional().meta({ description: "The id of the workspace whose mail is in the scope." }),
};

type ScopeBody = { domain?: string | undefined; workspace_id?: string | undefined };
type ScopeInput = { params: { account_id: string }; body: ScopeBody };

/** The scope that the body of a route gives: a domain, a workspace, or the account when the body gives neither. */
export const scopeInBody: ResourceLookup<ScopeInput, WideScope> = {
  within: ["domain", "workspace"],
  at: ({ body }) => ["body", body.domain === undefined ? "workspace_id" : "domain"],
  missing: noSuchDomain.replace("domain", "domain or workspace"),
  find: async ({ params: { account_id }, body }, table) => {
    if (body.domain !== undefined) {
      const domain = await domainByRef(table, account_id, body.domain);
      return domain && { id: domain.id, scopes: scopesOfDomain(domain), thing: { type: "domain", id: domain.id } };
    }
    const { workspace_id: id } = body;
    if (id === undefined) return { id: account_id, scopes: [], thing: { type: "account", id: account_id } };
    const scope = { type: "workspace" as const, id };
    return (await workspaceCheck(table, account_id, id)) && { id, scopes: [scope], thing: scope };
  },
};
