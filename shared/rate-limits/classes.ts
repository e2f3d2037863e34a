/** The rate at which a principal may call: `perMinute` in the long run, and up to `burst` at once after a pause. */
export type Limit = { perMinute: number; burst: number };

/**
 * The classes of routes, and what happens to their requests while the table is unavailable:
 * - `open` accepts the request, because a refusal would make the outage worse;
 * - `closed` refuses the request, because without a limit somebody could guess secrets or send others too much.
 */
export const limitClasses = {
  default: { perMinute: 600, burst: 100, whenTableFails: "open" },
  /** Routes that make or show a secret. */
  sensitive: { perMinute: 60, burst: 30, whenTableFails: "closed" },
  /** Routes that read much to answer little. */
  search: { perMinute: 120, burst: 40, whenTableFails: "open" },
  /**
   * Routes that make us call or write to others, do many things at once, create work for our staff, or use a stock that
   * all accounts share.
   */
  outbound: { perMinute: 30, burst: 10, whenTableFails: "closed" },
  /** Attempts to log in to one address through a mail server. */
  login_address: { perMinute: 60, burst: 60, whenTableFails: "closed" },
  /** Attempts to log in from one network through a mail server, whatever the addresses. */
  login_source: { perMinute: 300, burst: 150, whenTableFails: "closed" },
} as const satisfies Record<string, Limit & { whenTableFails: "open" | "closed" }>;

export type LimitClass = keyof typeof limitClasses;
export const limitClassNames = Object.keys(limitClasses) as LimitClass[];
