import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Response } from "./answer.ts";

/** Where somebody begins who comes without knowing a page. */
const firstPage = "/docs/overview";

/** Leads a person from the root, and from a page's address with a slash behind it, to a page; undefined for every other request. */
export function pageInstead({ rawPath, requestContext }: APIGatewayProxyEventV2): Response | undefined {
  if (!["GET", "HEAD"].includes(requestContext.http.method)) return undefined;
  const page = rawPath === "/" ? firstPage : /^(\/docs(?:\/[a-z0-9-]+)?)\/$/.exec(rawPath)?.[1];
  return page === undefined ? undefined : { statusCode: 302, headers: { location: page } };
}
