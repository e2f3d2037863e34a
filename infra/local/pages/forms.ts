import type { LocalRequest } from "../server/respond.ts";

/** Tells whether the body was sent as JSON. The answer is then JSON too. */
export const isJson = ({ headers }: LocalRequest): boolean =>
  /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");

/** Parses a body: JSON (undefined if malformed), or the fields of a form through `read`. */
export function formOrJson(request: LocalRequest, read: (form: URLSearchParams) => unknown): unknown {
  const text = request.body.toString();
  if (!isJson(request)) return read(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Tells whether a page of this server sent the form. Browsers name the sender in `Sec-Fetch-Site`. Over plain HTTP to
 * another host than localhost they name it only in `Origin`. A request with neither header is accepted, because it is not
 * from a browser.
 */
export function isOwnForm({ headers }: LocalRequest): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `http://${headers.get("host") ?? ""}`;
}

/** Tells whether a request asks for JSON instead of a page. */
export const wantsJson = ({ headers, query }: Pick<LocalRequest, "headers" | "query">): boolean =>
  query.has("format") ? query.get("format") === "json" : (headers.get("accept") ?? "").includes("application/json");
