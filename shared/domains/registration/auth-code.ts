import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { Timestamp } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { isLocked, Refused, type Registrar, type Registration } from "../../providers/registrar/registrar.ts";
import { domainKey, domainKind, isRegistered, notReady, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { domainViews } from "../view.ts";

export const AuthCode = z
  .object({
    auth_code: z.string().meta({
      description:
        "The code to give to the new registrar. Everybody who has the code can transfer the name. The code is shown in this answer only.",
    }),
    transferable_at: Timestamp.meta({ description: "The time from which the name can be transferred." }),
  })
  .meta({ id: "DomainAuthCode", description: "The code by which another registrar transfers a name." });
type AuthCode = z.output<typeof AuthCode>;

/**
 * Asks the registrar for the auth code of a name, and records in the audit log that the caller got a code. The code
 * itself is stored nowhere. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 409 `not_registered_here` if the name was not purchased here;
 * - 409 `domain_not_ready`, `transfer_locked` or `transfer_too_soon` if the name cannot be transferred at present;
 * - 503 if the registrar does not answer.
 */
export async function createAuthCode(found: StoredDomain, context: Context, registrar: Registrar): Promise<AuthCode> {
  const { table, commit, now } = context;
  requireOwned(found);
  const registration = await registrar.registration(found.name);
  const transferable_at = requireTransferable(found, registration, now());
  const auth_code = await codeOf(found, registrar);
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireOwned(domain);
    const { account_id, id, version } = domain;
    const [view] = (await domainViews(table, account_id, [domain])) as [object];
    return {
      value: { auth_code, transferable_at },
      writes: [{ check: domainKey(account_id, id), if: { id, version } }],
      changes: [change(domainKind, "auth_code_created", id, { before: view, after: view })],
    };
  });
}

/** Throws 409 if the name is not registered here, or if its account has locked it against transfer. */
function requireOwned(domain: StoredDomain): void {
  const { name, status, is_open, registration } = domain;
  if (!registration) {
    throw new Problem("not_registered_here", `${name} was not purchased here. The name's registrar has the auth code.`);
  }
  if (!is_open || !isRegistered(domain)) {
    throw notReady(status, `${name} is ${status}. It cannot be transferred to another registrar.`);
  }
  if (!registration.locked) return;
  const detail = `${name} is locked against transfer. Unlock it first: domains.update with locked: false.`;
  throw new Problem("transfer_locked", detail);
}

/**
 * Requires that the registry allows a transfer of the name. Returns the time from which the name can be transferred.
 */
function requireTransferable({ name, status }: StoredDomain, found: Registration | undefined, now: Date): string {
  if (!found || found.phase === "redemption") {
    throw notReady(status, `${name} is not registered any more. It cannot be transferred to another registrar.`);
  }
  if (isLocked(found)) {
    throw new Problem("transfer_locked", `${name} is still being unlocked. Try again in a few minutes.`);
  }
  const { transferableAt: transferable_at } = found;
  if (transferable_at > now.toISOString()) {
    const detail = `${name} can be transferred from ${transferable_at}, 60 days after its registration or last transfer.`;
    throw new Problem("transfer_too_soon", detail, { transferable_at });
  }
  const forbidding = found.statuses.find((one) => one === "serverTransferProhibited" || one === "pendingTransfer");
  if (forbidding === undefined) return transferable_at;
  const detail = `The registry does not allow a transfer of ${name} at present: the name has the status ${forbidding}.`;
  throw new Problem("transfer_locked", detail);
}

/** Gets the auth code from the registrar. Throws 409 `domain_not_ready` if the registrar refuses to give the code. */
async function codeOf({ name, status }: StoredDomain, registrar: Registrar): Promise<string> {
  try {
    return await registrar.authCode(name);
  } catch (error) {
    if (error instanceof Refused) throw notReady(status, error.message);
    throw error;
  }
}
