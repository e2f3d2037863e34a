/** How often a principal may call: `perMinute` for ever, and up to `burst` at once after a pause. */
export type Limit = { perMinute: number; burst: number };

/**
 * The classes a route can be of. When the table cannot be asked, `open` lets the request pass, as refusing
 * it would add to the outage; `closed` refuses it, where passing would let somebody guess, or pester others.
 */
export const limitClasses = {
  default: { perMinute: 600, burst: 100, whenTableFails: "open" },
  /** What makes or shows a secret. */
  sensitive: { perMinute: 60, burst: 30, whenTableFails: "closed" },
  /** What reads much to answer little. */
  search: { perMinute: 120, burst: 40, whenTableFails: "open" },
  /** What makes us call or write to somebody else, gives people of ours something to read, or takes from a stock of all. */
  outbound: { perMinute: 30, burst: 10, whenTableFails: "closed" },
  /** Attempts to log in to one address by a mail server. */
  login_address: { perMinute: 60, burst: 60, whenTableFails: "closed" },
  /** Attempts to log in from one network by a mail server, whatever the addresses. */
  login_source: { perMinute: 300, burst: 150, whenTableFails: "closed" },
} as const satisfies Record<string, Limit & { whenTableFails: "open" | "closed" }>;

export type LimitClass = keyof typeof limitClasses;
export const limitClassNames = Object.keys(limitClasses) as LimitClass[];
