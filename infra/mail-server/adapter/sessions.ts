/**
 * An SMTP session: the address of the mailbox that logged in, the ids of the mailbox and of its account, and the time
 * of the login, in milliseconds since 1970.
 */
export type Session = { login: string; mailbox: string; account: string; loggedInAt: number };

/**
 * The user name that nginx gives Postfix for a session. When Postfix and rspamd ask about a letter, they send this
 * name. So each letter belongs to one login, and the adapter stores no logins.
 */
export const sessionName = ({ login, mailbox, account, loggedInAt }: Session): string =>
  `${login}/${loggedInAt}/${mailbox}/${account}`;

const nameForm = /^(?<login>.+)\/(?<at>\d+)\/(?<mailbox>[^/]+)\/(?<account>[^/]+)$/;

/** Reads a name that `sessionName` made. Undefined for any other text. */
export function readSession(name: string): Session | undefined {
  const { login, at, mailbox, account } = nameForm.exec(name)?.groups ?? {};
  if (login === undefined || mailbox === undefined || account === undefined) return undefined;
  return { login, mailbox, account, loggedInAt: Number(at) };
}

/** The largest number of revocations that are kept. The oldest are forgotten first. */
const mostRevocations = 100_000;

/**
 * Keeps track of SMTP sessions that a revocation has ended. Neither nginx nor Postfix can close the session of one
 * user. So the policy service refuses the letters of the session, and the user has to log in again. A restart of the
 * adapter forgets the revocations. So sessions that began before the restart count as ended.
 */
export function openSessions(openedAt = Date.now()) {
  /** The time of the last revocation, by the id of a mailbox or an account. */
  const revoked = new Map<string, number>();
  /** All sessions that began before this time have ended. */
  let oldestLogin = openedAt;
  return {
    /** Notes that the mailbox or account with this id was revoked at a time, in milliseconds since 1970. */
    revoke: (id: string, at: number): void => {
      const last = Math.max(at, revoked.get(id) ?? 0);
      revoked.delete(id);
      revoked.set(id, last);
      const [oldest] = revoked.keys();
      if (revoked.size > mostRevocations && oldest !== undefined) revoked.delete(oldest);
    },
    /** Ends all sessions that began before a time, in milliseconds since 1970. */
    revokeAll: (at: number): void => {
      oldestLogin = Math.max(at, oldestLogin);
    },
    /** Whether the mailbox, its account or all sessions were revoked, or the adapter was started, after the login. */
    isRevoked: ({ mailbox, account, loggedInAt }: Session): boolean =>
      loggedInAt < oldestLogin || [mailbox, account].some((id) => (revoked.get(id) ?? 0) >= loggedInAt),
  };
}

export type Sessions = ReturnType<typeof openSessions>;
