import type { LocalRequest } from "../server/respond.ts";

/** Whether a request asks for JSON instead of a page. */
export const wantsJson = ({ headers, query }: Pick<LocalRequest, "headers" | "query">): boolean =>
  query.has("format") ? query.get("format") === "json" : (headers.get("accept") ?? "").includes("application/json");
