import { InvalidInput, Problem } from "../../core/errors.ts";
import { later } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { isLocked, type Registrar, type Registration } from "../../providers/registrar/registrar.ts";
import { isRegistered, isRenewing, notReady, type StoredDomain } from "../domain.ts";
import type { Protection } from "../registration-state.ts";
import type { ChangedMembers } from "./work.ts";

/**
 * The time from a change until the worker compares the registrar's settings with ours, in milliseconds. If the request
 * could not change the registrar's settings, the worker corrects them.
 */
const graceMs = 120_000;

type Given = { [M in keyof Protection]?: Protection[M] | undefined };

/** Whether a change sets the lock or the privacy of a registration. */
export const hasProtection = ({ locked, privacy }: Given): boolean => locked !== undefined || privacy !== undefined;

/**
 * The members of a domain that store its new lock and privacy. They also make the worker check the registrar's settings
 * soon. Throws 422 if the domain was not purchased here, and 409 `domain_not_ready` while its name is not registered.
 */
export function protectionMembers(domain: StoredDomain, given: Given, now: Date): ChangedMembers {
  if (!hasProtection(given)) return {};
  const { name, status, registration } = domain;
  const { locked = registration?.locked, privacy = registration?.privacy } = given;
  if (!registration || locked === undefined || privacy === undefined) throw notHere(given);
  if (!isRegistered(domain)) {
    throw notReady(status, `${name} is not registered at present. Its lock and its privacy cannot be changed.`);
  }
  if (registration.locked === locked && registration.privacy === privacy) return {};
  return {
    registration: { ...registration, locked, privacy },
    // A renewal keeps its due time, because the registration is checked at once after the renewal.
    due_at: isRenewing(domain) ? domain.due_at : later(now, graceMs),
  };
}

const notHere = (given: Given): InvalidInput =>
  new InvalidInput(
    Object.entries(given).flatMap(([member, value]) =>
      value === undefined
        ? []
        : [
            {
              loc: ["body", member],
              msg: "The domain was not purchased here. Set this at its registrar",
              type: "value_error",
            },
          ],
    ),
  );

/**
 * Sets the lock and the privacy at the registrar if they differ from the customer's settings. Throws 503 if the
 * registrar does not answer.
 */
export async function correctProtection(
  found: Registration,
  { locked, privacy }: Protection,
  name: string,
  registrar: Registrar,
): Promise<void> {
  if (isLocked(found) !== locked) await registrar.setLock(name, locked);
  if (found.privacy !== privacy) await registrar.setPrivacy(name, privacy);
}

/**
 * Sets the lock and the privacy of a domain at the registrar. If the registrar does not answer, the worker sets them
 * later.
 */
export async function applyProtection(
  { id, name, registration }: StoredDomain,
  { log }: Pick<Context, "log">,
  registrar: Registrar,
): Promise<void> {
  try {
    const found = await registrar.registration(name);
    if (found && registration) await correctProtection(found, registration, name, registrar);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 503) throw error;
    log.info("lock and privacy left to the worker", { domain_id: id, reason: error.message });
  }
}
