import * as z from "zod";

import type { Scope } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainKey } from "../../domains/domain.ts";
import { domainById, domainByName, scopesOfDomain, expectedDomainId, seenDomain } from "../../domains/find.ts";
import type { ResourceLookup, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { workspaceKey } from "../../workspaces/workspace.ts";
import { MailboxRef, readAddress } from "./local-part.ts";
import { addressKey, mailboxKey, StoredAddress, StoredMailbox } from "./mailbox.ts";

export const MailboxParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  mailbox: MailboxRef,
});

export const noSuchMailbox = "There is no such mailbox in this account, or you cannot see it";

export const MailboxOrAliasParams = MailboxParams.extend({
  mailbox: MailboxRef.meta({ description: "The mailbox's id, its address or one of its aliases." }),
});

/** The mailbox with this id; undefined when the account has none. */
export async function mailboxById(table: Reader, accountId: string, id: string): Promise<StoredMailbox | undefined> {
  const mailbox = await table.get(mailboxKey(accountId, id), StoredMailbox);
  return mailbox?.id === id ? mailbox : undefined;
}

export type FoundMailbox = { mailbox: StoredMailbox; domain: StoredDomain };

/**
 * The mailbox with this id or primary address, with its domain; undefined if the account has none. With `byAlias`, an
 * alias of the mailbox is a reference too.
 */
export async function mailboxByRef(
  table: Reader,
  accountId: string,
  ref: string,
  { byAlias = false } = {},
): Promise<FoundMailbox | undefined> {
  const address = readAddress(ref);
  if (!address) {
    const mailbox = await mailboxById(table, accountId, ref);
    if (mailbox) table.seen?.note({ ...mailboxKey(accountId, ref), ...mailbox });
    const domain = mailbox && (await domainById(table, accountId, mailbox.domain_id));
    return mailbox && domain && { mailbox, domain };
  }
  const domain = await domainByName(table, accountId, address.domain);
  const owner = domain && (await table.get(addressKey(accountId, domain.id, address.local), StoredAddress));
  if (!domain || !owner || (owner.kind !== "mailbox" && !byAlias)) return undefined;
  table.seen?.note({ ...addressKey(accountId, domain.id, address.local), ...owner });
  const mailbox = await mailboxById(table, accountId, owner.mailbox_id);
  return mailbox && { mailbox, domain };
}

type ExpectedMailbox = Ahead & { keys: Key[]; id?: string | undefined; mailbox?: StoredMailbox | undefined };

/**
 * Guesses which mailbox a reference names, from the items that this process has seen. `mailbox` is the mailbox as the
 * process saw it last. `keys` are the items that `mailboxByRef` reads, and the workspace for the view. The plan of the
 * transaction reads the mailbox and the domain again, so `keys` has them twice.
 */
export function expectedMailbox({ seen }: Pick<Expected, "seen">, accountId: string, ref: string): ExpectedMailbox {
  const address = readAddress(ref);
  const named = address && expectedDomainId(seen, accountId, address.domain);
  const pointer = address && named !== undefined ? addressKey(accountId, named, address.local) : undefined;
  const id = address ? pointer && StoredAddress.safeParse(seen.recall(pointer)).data?.mailbox_id : ref;
  const key = id === undefined ? undefined : mailboxKey(accountId, id);
  const mailbox = key && StoredMailbox.safeParse(seen.recall(key)).data;
  const domainId = named ?? mailbox?.domain_id;
  const workspaceId = seenDomain({ seen }, accountId, domainId)?.workspace_id;
  const readAgain = [...(key ? [key] : []), ...(domainId === undefined ? [] : [domainKey(accountId, domainId)])];
  const workspace = workspaceId === undefined ? [] : [workspaceKey(accountId, workspaceId)];
  return { keys: [...readAgain, ...readAgain, ...(pointer ? [pointer] : []), ...workspace], again: true, id, mailbox };
}

/**
 * The items that `mailboxByRef` reads and that the plan of the transaction reads again, and the workspace for the view.
 * The result has only the items whose keys follow from the reference and from the items that this process has seen.
 */
export function aheadOfMailbox(
  expected: Pick<Expected, "seen">,
  accountId: string,
  ref: string,
): Ahead & { keys: Key[] } {
  const { keys, again } = expectedMailbox(expected, accountId, ref);
  return { keys, ...(again ? { again } : {}) };
}

/** The scopes of a mailbox: the mailbox itself, its domain and its workspace. Grants can be narrowed to any of them. */
export const scopesOfMailbox = ({ mailbox, domain }: FoundMailbox): Scope[] => [
  { type: "mailbox", id: mailbox.id },
  ...scopesOfDomain(domain),
];

type MailboxLookup = ResourceLookup<{ params: { account_id: string; mailbox: string } }, FoundMailbox>;

const lookup = (
  options: { byAlias?: boolean },
  within: MailboxLookup["within"] = ["mailbox", "domain", "workspace"],
): MailboxLookup => ({
  at: "path",
  within,
  find: async ({ params }, table) => {
    const thing = await mailboxByRef(table, params.account_id, params.mailbox, options);
    if (thing) table.seen?.note({ ...domainKey(params.account_id, thing.domain.id), ...thing.domain });
    if (!thing) return undefined;
    const { mailbox, domain } = thing;
    return { id: mailbox.id, scopes: scopesOfMailbox(thing), thing, label: `${mailbox.local_part}@${domain.name}` };
  },
});

/** The mailbox in the path of a route, with its domain. */
export const mailboxInPath = lookup({});

/** The mailbox in the path of a route that only reads. The path can have an alias of the mailbox. */
export const mailboxOrAliasInPath = lookup({ byAlias: true });

/**
 * The mailbox in the path of a route that adds addresses to the mailbox or removes addresses from it. The addresses
 * belong to the mailbox's domain, so a grant on the mailbox alone is not enough.
 */
export const readdressedInPath = lookup({}, ["domain", "workspace"]);
