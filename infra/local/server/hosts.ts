const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The host of an authority, without its port, in lower case. */
const hostOf = (authority: string): string => authority.replace(/:\d*$/, "").toLowerCase();

/**
 * Whether a request names a host that can only be meant for this machine. A page of another site can
 * point a name of its own at 127.0.0.1 and then read our answers (DNS rebinding), but its browser still
 * sends that name.
 */
export const isAllowedHost = (authority: string | undefined, configured: readonly string[]): boolean =>
  authority !== undefined && (loopback.has(hostOf(authority)) || configured.includes(hostOf(authority)));
