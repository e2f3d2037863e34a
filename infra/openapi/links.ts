import type { Route } from "../../shared/http/route.ts";

type Link = { operationId: string; description: string; parameters: Record<string, string> };

const placeholder = /\{(\w+)\}/g;

const namesIn = (path: string): string[] => [...path.matchAll(placeholder)].map(([, name = ""]) => name);

const shapeOf = (path: string): string => path.replaceAll(placeholder, "{}");

/** The OpenAPI link from a route that creates a resource to the route that reads it. The link has the name of the latter. */
export function linksOf(created: Route, routes: readonly Route[]): Record<string, Link> {
  const { location } = created.http;
  if (location === undefined) return {};
  const reading = routes.find(({ http: { method, path } }) => method === "GET" && shapeOf(path) === shapeOf(location));
  if (!reading) throw new Error(`No route reads the location ${location} of ${created.name}`);
  const sources = namesIn(location).map((name) =>
    name in created.params.shape ? `$request.path.${name}` : `$response.body#/${name}`,
  );
  const parameters = Object.fromEntries(namesIn(reading.http.path).map((name, index) => [name, sources[index] ?? ""]));
  const description = `${reading.summary}. \`Location\` has the same path.`;
  return { [reading.name]: { operationId: reading.name, description, parameters } };
}
