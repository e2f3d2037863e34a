import type { LocalRequest } from "../server/respond.ts";

/**
 * Whether a page of this server sent the form. A browser says so, or says where the form was (`Sec-Fetch-Site`; to
 * plain HTTP at another name than localhost only `Origin`); what says neither is no browser.
 */
export function isOwnForm({ headers }: LocalRequest): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `http://${headers.get("host") ?? ""}`;
}
