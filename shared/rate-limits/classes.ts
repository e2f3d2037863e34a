/** The rate at which a principal may call: `perMinute` in the long run, and up to `burst` at once after a pause. */
export type Limit = { perMinute: number; burst: number };

/**
 * The classes of routes, and what they do when the table cannot be asked:
 * - `open` lets the request pass, because refusing it would add to the outage;
 * - `closed` refuses it, because letting it pass would let somebody guess, or bother others.
 */
export const limitClasses = {
  default: { perMinute: 600, burst: 100, whenTableFails: "open" },
  /** Routes that make or show a secret. */
  sensitive: { perMinute: 60, burst: 30, whenTableFails: "closed" },
  /** Routes that read much to answer little. */
  search: { perMinute: 120, burst: 40, whenTableFails: "open" },
  /**
   * Routes that make us call or write to somebody else, give our staff something to read, or take from a stock of all.
   */
  outbound: { perMinute: 30, burst: 10, whenTableFails: "closed" },
  /** Attempts to log in to one address through a mail server. */
  login_address: { perMinute: 60, burst: 60, whenTableFails: "closed" },
  /** Attempts to log in from one network through a mail server, whatever the addresses. */
  login_source: { perMinute: 300, burst: 150, whenTableFails: "closed" },
} as const satisfies Record<string, Limit & { whenTableFails: "open" | "closed" }>;

export type LimitClass = keyof typeof limitClasses;
export const limitClassNames = Object.keys(limitClasses) as LimitClass[];
