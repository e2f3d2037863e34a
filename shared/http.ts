import { json } from "./answer.ts";
import { fromStrings } from "./input.ts";
import { invoke } from "./invoke.ts";
import { lambda, type Handler } from "./lambda.ts";
import type { Route } from "./route.ts";

/** The Lambda handler of a route: payload 2.0 event → `invoke` → JSON answer. */
export const http = (route: Route): Handler =>
  lambda(route.name, async (request, door) => {
    const raw = {
      params: request.pathParameters ?? {},
      query: fromStrings(route.query, new URLSearchParams(request.rawQueryString)),
      body: request.body ?? (takesNothing(route) ? {} : undefined),
    };
    const { input, output } = await invoke(route, raw, door);
    return json(
      route.status,
      output,
      route.location === undefined ? {} : { location: fill(route.location, input.params, output) },
    );
  });

/** Whether a request without a body is as good as one with an empty object. */
const takesNothing = (route: Route): boolean => route.body.safeParse({}).success;

/** Fills a path template with the members of the path and of what was created. */
function fill(template: string, params: Record<string, unknown>, output: unknown): string {
  const members: Record<string, unknown> = { ...params, ...(output as Record<string, unknown>) };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(members[name])));
}
