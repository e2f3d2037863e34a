import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { ordinalOf } from "../../core/ids.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import type { Context } from "../../http/route.ts";
import { changeRows, readList } from "../../table/ranked-list.ts";
import type { Key, Write } from "../../table/writes.ts";
import { addressTaken } from "./add.ts";
import { deletedById, type FoundDeleted, deletedRemovals } from "./deleted.ts";
import { mailboxById } from "./find.ts";
import { addressKey, anyLocal, Mailbox, mailboxesOf, mailboxKind, type StoredMailbox } from "./mailbox.ts";
import { namedOf, namesWrite } from "./names.ts";
import { addressWrite, AddressTaken, domainList, domainListWrites, requireReady } from "./plan.ts";
import { mailboxCore, mailboxViewsIn } from "./view.ts";

export const RestoredMailbox = Mailbox.extend({
  aliases_taken: z
    .array(z.string())
    .meta({ description: "The aliases that are not restored, because other mailboxes have these addresses." }),
}).meta({ id: "RestoredMailbox", description: "A restored mailbox." });
type RestoredMailbox = z.output<typeof RestoredMailbox>;

/** The id of the mailbox to restore. Throws 409 `mailbox_ambiguous` if several deleted mailboxes had the address. */
function onlyId({ mailboxes, domain }: FoundDeleted): string {
  const [mailbox, ...others] = mailboxes;
  if (others.length === 0) return mailbox.id;
  const detail = `Several deleted mailboxes had the address ${mailbox.local_part}@${domain.name}. Name one by its id.`;
  throw new Problem("mailbox_ambiguous", detail, { mailbox_ids: mailboxes.map(({ id }) => id) });
}

/**
 * Restores a deleted mailbox with its id, its place in the lists, its password, and the aliases that are still free.
 * Throws:
 * - 404 if the mailbox cannot be restored any more
 * - 409 `address_taken` if another mailbox has the mailbox's address
 * - 409 `domain_not_ready` if the domain accepts no new addresses
 * - 409 `mailbox_ambiguous` if several deleted mailboxes had the address
 * - 409 `mailbox_not_ready` if the mailbox is not deleted
 */
export async function restoreMailbox(found: FoundDeleted, context: Context): Promise<RestoredMailbox> {
  const id = onlyId(found);
  const { table, commit, now } = context;
  const { account_id } = found.domain;
  const run = commit(async () => {
    const finding = deletedById(table, account_id, id);
    const [deleted, owners, domain, existing] = await Promise.all([
      finding,
      finding.then((one) => table.getMany(one ? aliasKeys(account_id, one.mailbox) : [])),
      domainById(table, account_id, found.domain.id),
      mailboxById(table, account_id, id),
    ]);
    const at = now().toISOString();
    if (existing)
      throw new Problem("mailbox_not_ready", "The mailbox is not deleted.", { mailbox_status: existing.status });
    if (!deleted || !domain || deleted.mailbox.restorable_until <= at) throw notFound();
    requireReady(domain);
    const { deleted_at: _, restorable_until: __, ...before } = deleted.mailbox;
    const aliases = before.aliases.filter((_local, index) => !owners[index]);
    const mailbox: StoredMailbox = { ...before, aliases, updated_at: at, version: before.version + 1 };
    const [[view], returning, removals] = await Promise.all([
      mailboxViewsIn([domain], table, account_id, [mailbox]),
      planReturn(domain, mailbox, context),
      deletedRemovals(table, account_id, deleted),
    ]);
    if (!view) throw notFound();
    const lost = before.aliases.filter((local) => !aliases.includes(local));
    return {
      value: { ...view, aliases_taken: lost.map((local) => `${local}@${domain.name}`) },
      writes: [...returning, ...removals],
      changes: [change(mailboxKind, "restored", id, { after: mailboxCore(mailbox, domain) })],
    };
  });
  return run.catch((error: unknown) => {
    throw error instanceof AddressTaken ? addressTaken(error, found.domain, context) : error;
  });
}

/** The keys of a mailbox's aliases. */
const aliasKeys = (accountId: string, { domain_id, aliases }: StoredMailbox): Key[] =>
  aliases.map((local) => addressKey(accountId, domain_id, local));

/**
 * The writes that put a mailbox back into its lists, and give the mailbox its addresses. The transaction fails if
 * another mailbox takes one of the addresses meanwhile.
 */
async function planReturn(domain: StoredDomain, mailbox: StoredMailbox, { table }: Context): Promise<Write[]> {
  const { account_id } = domain;
  const { id, local_part, place, aliases } = mailbox;
  // The id of every stored mailbox has an ordinal.
  const ordinal = ordinalOf(id) ?? -1;
  const [{ state }, inDomain, names] = await Promise.all([
    readList(table, mailboxesOf(account_id), [ordinal]),
    domainList(table, domain, [place]),
    namesWrite(table, account_id, namedOf(mailbox, domain)),
  ]);
  return [
    ...changeRows(state, { returned: new Map([[ordinal, mailbox]]) }),
    ...domainListWrites(domain, inDomain, { returned: new Map([[place, { mailbox_id: id }]]) }),
    names,
    addressWrite(domain, local_part, { kind: "mailbox", mailbox_id: id }),
    ...aliases.map((local) => {
      const kind = local === anyLocal ? "catch_all" : "alias";
      // If another mailbox takes the alias meanwhile, the transaction fails, and the next plan leaves the alias out.
      const { orElse: _, ...write } = addressWrite(domain, local, { kind, mailbox_id: id });
      return write;
    }),
  ];
}
