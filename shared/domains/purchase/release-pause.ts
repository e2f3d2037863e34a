import * as z from "zod";

import { later, Timestamp } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import type { StoredDomain } from "../domain.ts";
import { advanceRequest, skewMs, storeProgress, type RequestKind } from "../setup/registrar-request.ts";
import type { DomainWork } from "../setup/work.ts";

/*
 * After a name was released, there is a pause before the name is registered or transferred again.
 *
 * Access patterns
 *   the end of a name's last registration here      DOMAIN#<name> / RELEASED
 */
const releasedKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "RELEASED" });

const Released = z.object({ at: Timestamp });

/** How long the end of a registration is stored, in seconds. It is read for a few minutes only. */
const releaseKeptSeconds = 86_400;

/** The write that records when the registration of a name was released. */
export const releasedWrite = (name: string, now: Date): Write => ({
  put: { ...releasedKey(name), at: now.toISOString(), ttl: Math.ceil(now.getTime() / 1_000) + releaseKeptSeconds },
});

/**
 * The length of the pause, in milliseconds. It prevents two mistakes:
 * - A late request to release the former registration would release the new registration.
 * - The worker would take an operation of the former registration for an operation of the new registration. The worker
 *   searches operations from `skewMs` before the request on, and the pause is longer.
 */
const pauseMs = skewMs + 60_000;

/** When the pause of a name ends (RFC 3339). For a name that was not released lately, a time that has passed. */
async function pauseEnd(table: Reader, name: string): Promise<string> {
  const released = await table.get(releasedKey(name), Released);
  return later(new Date(released?.at ?? 0), pauseMs);
}

/**
 * Advances the registration or the transfer of a name by all steps that are possible now. During the pause of the name,
 * the registrar is not asked, and the request is due at the end of the pause.
 */
export async function advanceAfterPause<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: StoredDomain,
  work: DomainWork,
): Promise<void> {
  if (kind.isOpen(domain) && kind.progress(domain).stage === "held") {
    const due_at = await pauseEnd(work.table, domain.name);
    if (due_at > work.now().toISOString()) return void (await storeProgress(kind, domain, { due_at }, work));
  }
  await advanceRequest(kind, domain, work);
}
