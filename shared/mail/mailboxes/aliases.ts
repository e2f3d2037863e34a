import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { invalidAt, notFound, Problem } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import type { Context } from "../../http/route.ts";
import { addressTaken } from "./add.ts";
import { mailboxUpdate, currentMailbox } from "./change.ts";
import type { FoundMailbox } from "./find.ts";
import { localPartFault, lowerAscii, readAddress } from "./local-part.ts";
import { addressKey, aliasLimit, anyLocal, mailboxKind } from "./mailbox.ts";
import { namedOf, namesWrite } from "./names.ts";
import { addressWrite, AddressTaken, requireReady } from "./plan.ts";
import { mailboxCore } from "./view.ts";

const canonicalName = (given: string): string => lowerAscii(given.trim());

const notAnAddress = "Write an address such as sales@example.com, or only its local part";

/** Explains why a text cannot be an alias in any domain. Undefined if the text can be an alias. */
function aliasFault(text: string): string | undefined {
  if (text.includes("@")) return readAddress(text) ? undefined : notAnAddress;
  return text === anyLocal ? undefined : localPartFault(text);
}

/**
 * The schema of an alias as customers write it: a local part, a whole address, or `*` for all addresses without a
 * mailbox.
 */
export const AliasText = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const message = aliasFault(canonicalName(given));
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite(canonicalName)
  .meta({
    description: "The local part or the whole address. `*`, or `*@` with the domain, is the catch-all.",
    examples: ["sales"],
  });

/** Reads the local part of an alias in a domain, or explains why the alias is invalid. */
function readAlias(given: string, { name }: Pick<StoredDomain, "name">): { local: string } | { fault: string } {
  const { local, domain } = readAddress(given) ?? { local: given, domain: name };
  if (domain !== name) return { fault: `An alias must be in the mailbox's own domain, ${name}` };
  const fault = aliasFault(local);
  return fault === undefined ? { local } : { fault };
}

/** Explains why `is_catch_all` does not fit the alias; undefined if it fits or is absent. */
export function catchAllFault({ alias, is_catch_all }: NewAliasBody): string | undefined {
  const isCatchAll = (readAddress(alias)?.local ?? alias) === anyLocal;
  if (is_catch_all === undefined || is_catch_all === isCatchAll) return undefined;
  return isCatchAll ? "The alias * is always a catch-all" : "Only the alias * can be a catch-all";
}

type NewAliasBody = { alias: string; is_catch_all?: boolean | undefined };
export type NewAlias = { alias: string; is_catch_all: boolean };

/**
 * Adds an address to a mailbox. Throws:
 * - 404 if the mailbox does not exist any more
 * - 409 `address_taken` if a mailbox has the address already
 * - 409 `limit_reached` if the mailbox has 30 aliases already
 * - 409 `domain_not_ready` if the domain accepts no new addresses
 * - 422 for an alias that is not valid in the domain
 */
export async function addAlias(found: FoundMailbox, alias: string, context: Context): Promise<NewAlias> {
  const read = readAlias(alias, found.domain);
  if ("fault" in read) throw invalidAt(["body", "alias"], read.fault);
  const { local } = read;
  const isCatchAll = local === anyLocal;
  const value: NewAlias = { alias: `${local}@${found.domain.name}`, is_catch_all: isCatchAll };
  try {
    return await context.commit(async () => {
      const { mailbox, domain } = await currentMailbox(found, context);
      requireReady(domain);
      if (mailbox.aliases.length >= aliasLimit) {
        throw new Problem("limit_reached", `A mailbox has ${aliasLimit} aliases at most. Delete an alias first.`);
      }
      const { after, write } = mailboxUpdate(
        domain,
        mailbox,
        { aliases: [...mailbox.aliases, local] },
        context.now().toISOString(),
      );
      const kind = isCatchAll ? "catch_all" : "alias";
      return {
        value,
        writes: [
          write,
          addressWrite(domain, local, { kind, mailbox_id: mailbox.id }),
          await namesWrite(context.table, domain.account_id, namedOf(after, domain)),
        ],
        changes: [
          change(mailboxKind, "updated", mailbox.id, {
            before: mailboxCore(mailbox, domain),
            after: mailboxCore(after, domain),
          }),
        ],
      };
    });
  } catch (error) {
    throw error instanceof AddressTaken ? addressTaken(error, found.domain, context) : error;
  }
}

/** Removes an alias from a mailbox. The address is free at once. Throws 404 if the mailbox does not have the alias. */
export function removeAlias(found: FoundMailbox, alias: string, context: Context): Promise<void> {
  const read = readAlias(alias, found.domain);
  if ("fault" in read) throw notFound();
  const { local } = read;
  return context.commit(async () => {
    const { mailbox, domain } = await currentMailbox(found, context);
    if (!mailbox.aliases.includes(local)) throw notFound();
    const aliases = mailbox.aliases.filter((one) => one !== local);
    const { after, write } = mailboxUpdate(domain, mailbox, { aliases }, context.now().toISOString());
    return {
      value: undefined,
      writes: [
        write,
        { delete: addressKey(domain.account_id, domain.id, local), if: { mailbox_id: mailbox.id } },
        await namesWrite(context.table, domain.account_id, namedOf(after, domain)),
      ],
      changes: [
        change(mailboxKind, "updated", mailbox.id, {
          before: mailboxCore(mailbox, domain),
          after: mailboxCore(after, domain),
        }),
      ],
    };
  });
}
