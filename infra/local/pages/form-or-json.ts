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
