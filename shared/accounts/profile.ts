import type { Principal } from "../auth/principal.ts";
import { profileOf, type Profile } from "../auth/principal.ts";
import type { Log } from "../core/log.ts";
import type { Table } from "../table/table.ts";
import { accessKey } from "./standing.ts";

/**
 * The shortest time between two writes of a profile, in milliseconds. Without this limit, a user with different tokens
 * could cause a write with each request.
 */
const refreshMs = 3_600_000;

/** A user's profile as an account stores it, and when it was stored. */
export type StoredProfile = Profile & { profile_at?: string | undefined };

/** The profile members of a user's token that differ from the stored profile; undefined if none differ. */
function profileChange(principal: Principal, stored: Profile): Profile | undefined {
  const changed = Object.entries(profileOf(principal)).filter(
    ([name, value]) => stored[name as keyof Profile] !== value,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/**
 * If the name or the e-mail address in a member's token differs from the stored profile, stores the profile of the
 * token, at most once an hour. Does nothing if the member has no access record. If the write fails, the function does
 * not throw, and a later request tries again.
 */
export async function refreshProfile(
  table: Pick<Table, "attempt">,
  accountId: string,
  principal: Principal,
  stored: StoredProfile,
  { now, log }: { now: () => Date; log: Log },
): Promise<void> {
  const changed = profileChange(principal, stored);
  const at = now();
  if (!changed || Date.parse(stored.profile_at ?? "") > at.getTime() - refreshMs) return;
  try {
    const set = { ...changed, profile_at: at.toISOString() };
    // The new version makes the transaction of a concurrent grant fail, because the grant would overwrite the profile.
    // The grant then reads the record again.
    await table.attempt({ update: accessKey(accountId, principal), set, add: { version: 1 }, if: "present" });
  } catch (error) {
    log.info("profile not stored", { account_id: accountId, error: String(error) });
  }
}
