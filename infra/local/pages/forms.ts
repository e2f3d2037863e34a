import type { LocalRequest } from "../server/respond.ts";

/** Whether a body came as JSON: its sender wants to read the answer as JSON too. */
export const isJson = ({ headers }: LocalRequest): boolean =>
  /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");

/** A body as JSON, undefined where it is none, or as `read` reads the fields of a form. */
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
 * Whether a page of this server sent the form. A browser says so, or says where the form was (`Sec-Fetch-Site`; to
 * plain HTTP at another name than localhost only `Origin`); what says neither is no browser.
 */
export function isOwnForm({ headers }: LocalRequest): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `http://${headers.get("host") ?? ""}`;
}

/** Whether a request asks for JSON instead of a page. */
export const wantsJson = ({ headers, query }: Pick<LocalRequest, "headers" | "query">): boolean =>
  query.has("format") ? query.get("format") === "json" : (headers.get("accept") ?? "").includes("application/json");
