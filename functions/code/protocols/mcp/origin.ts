import { Problem } from "../../../../shared/errors.ts";

/** The host of an origin or a `Host` header on this machine itself, with any port. */
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/**
 * Refuses a browser's request from a page that is not allowed (403), against DNS rebinding. `allowed` is a list
 * with commas. A server reached over loopback also allows pages of this machine. Other clients send no `Origin`.
 */
export function checkOrigin(headers: Record<string, string | undefined>, allowed = ""): void {
  const { origin, host = "" } = headers;
  if (origin === undefined) return;
  const origins = new Set(allowed.split(",").map((one) => one.trim()));
  if (origin !== "" && (origins.has(origin) || origins.has("*"))) return;
  if (loopback.test(host) && origin.startsWith("http://") && loopback.test(origin.slice("http://".length))) return;
  throw new Problem("origin_not_allowed", "Requests from this web origin are not allowed.");
}
