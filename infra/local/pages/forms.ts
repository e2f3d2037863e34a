import { type Answer, isJson, jsonAnswer, parseJson } from "../server/http-message.ts";
import type { LocalRequest } from "../server/respond.ts";

/**
 * Parses a body. Returns the value of JSON, or undefined for malformed JSON. For a form, returns the result of `read`.
 */
export function formOrJson(request: LocalRequest, read: (form: URLSearchParams) => unknown): unknown {
  const text = request.body.toString();
  return isJson(request) ? parseJson(text) : read(new URLSearchParams(text));
}

/**
 * Whether a page of this server sent the form. Browsers name the sender in `Sec-Fetch-Site`. Over plain HTTP to a host
 * other than localhost, browsers name the sender only in `Origin`. A request with neither header does not come from a
 * browser, and is accepted.
 */
export function isOwnForm({ headers }: LocalRequest): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `http://${headers.get("host") ?? ""}`;
}

/** Why a form of another site is refused. */
export const foreignForm = "The form was refused, because another site sent it.";

export const refuseForeignForm = (): Answer => jsonAnswer(403, { message: foreignForm });

/** Whether a request asks for JSON instead of a page. */
export const wantsJson = ({ headers, query }: Pick<LocalRequest, "headers" | "query">): boolean =>
  query.has("format") ? query.get("format") === "json" : (headers.get("accept") ?? "").includes("application/json");
