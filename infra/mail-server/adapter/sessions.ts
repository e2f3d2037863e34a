type LoginOwner = { ids: string[]; loggedInAt: number };

/**
 * The largest number of logins that are kept, and the largest number of revocations. The oldest are forgotten first.
 */
const most = 100_000;

function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

/**
 * Keeps track of SMTP sessions that a revocation has ended. Neither nginx nor Postfix can close the session of one
 * user. So the policy service refuses the user's letters until the user logs in again. After a restart of the adapter,
 * earlier logins and revocations are forgotten.
 */
export function openSessions() {
  /** The time of the last revocation, by the id of a mailbox or an account. */
  const revoked = new Map<string, number>();
  const owners = new Map<string, LoginOwner>();
  return {
    /**
     * Notes a login with the mailbox address `login`. The revocation of one of `ids`, a mailbox or an account, ends the
     * session.
     */
    loggedIn: (login: string, ids: string[]): void => keep(owners, login, { ids, loggedInAt: Date.now() }),
    /** Notes that the mailbox or account with this id was revoked at a time, in milliseconds since 1970. */
    revoke: (id: string, at: number): void => keep(revoked, id, at),
    /**
     * Whether the mailbox or its account was revoked after the last login with this address. False if no login is known.
     */
    isRevoked: (login: string): boolean => {
      const owner = owners.get(login);
      return owner?.ids.some((id) => (revoked.get(id) ?? 0) >= owner.loggedInAt) ?? false;
    },
  };
}

export type Sessions = ReturnType<typeof openSessions>;
