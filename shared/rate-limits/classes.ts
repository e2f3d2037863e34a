/** The rate of requests that a limit allows: `perMinute` in the long run, and `burst` at once after a pause. */
export type Limit = { perMinute: number; burst: number };

/**
 * The classes of requests. `whenTableFails` says what happens to a request while the table is unavailable:
 * - `open` accepts the request, because a refusal would make the outage worse;
 * - `closed` refuses the request, because without a limit an attacker could guess secrets, or send mail and requests to
 *   other people without end.
 */
export const limitClasses = {
  default: { perMinute: 600, burst: 100, whenTableFails: "open" },
  /** Routes that make, show or check a secret. */
  sensitive: { perMinute: 60, burst: 30, whenTableFails: "closed" },
  /** Routes that read much, and some that ask the DNS or the registrar. */
  search: { perMinute: 120, burst: 40, whenTableFails: "open" },
  /**
   * Routes that do one of these:
   * - send requests or mail to other parties
   * - change many resources at once
   * - make work for our staff
   * - use a stock that all accounts share
   */
  outbound: { perMinute: 30, burst: 10, whenTableFails: "closed" },
  /** Attempts to log in with one address from one network through a mail server. */
  login_pair: { perMinute: 30, burst: 30, whenTableFails: "closed" },
  /**
   * Attempts to log in with one address through a mail server, from all new networks together. A network is new if no
   * login with this address and a password of its mailbox succeeded from it in the last 30 days.
   */
  login_address: { perMinute: 60, burst: 60, whenTableFails: "closed" },
  /** Attempts to log in from one network through a mail server, with any address. */
  login_source: { perMinute: 300, burst: 150, whenTableFails: "closed" },
} as const satisfies Record<string, Limit & { whenTableFails: "open" | "closed" }>;

export type LimitClass = keyof typeof limitClasses;
export const limitClassNames = Object.keys(limitClasses) as LimitClass[];
