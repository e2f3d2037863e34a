export type Match<T> = { target: T; routeKey: string; pathParameters: Record<string, string> };

type Segment = { kind: "literal" | "parameter" | "greedy"; text: string };
type Compiled<T> = { routeKey: string; method: string; segments: Segment[]; shape: string; target: T };

const rank = { literal: 0, parameter: 1, greedy: 2 };

function segmentOf(part: string): Segment {
  const name = /^\{([^{}]+)\}$/.exec(part)?.[1];
  if (name === undefined) return { kind: "literal", text: part };
  return name.endsWith("+") ? { kind: "greedy", text: name.slice(0, -1) } : { kind: "parameter", text: name };
}

function compile<T>(trigger: string, target: T): Compiled<T> {
  const [, method, path] = /^([A-Z]+) \/(.*)$/.exec(trigger) ?? [];
  if (method === undefined || path === undefined) throw new Error(`"${trigger}" is not a trigger`);
  const segments = path.split("/").map(segmentOf);
  const shape = segments.map(({ kind, text }) => (kind === "literal" ? text : `{${kind}}`));
  return { routeKey: trigger, method, segments, shape: `${method} /${shape.join("/")}`, target };
}

function moreSpecificFirst(a: Compiled<unknown>, b: Compiled<unknown>): number {
  const differing = a.segments.findIndex((segment, index) => segment.kind !== b.segments[index]?.kind);
  const [left, right] = [a.segments[differing], b.segments[differing]];
  return left && right ? rank[left.kind] - rank[right.kind] : b.segments.length - a.segments.length;
}

function parametersOf(segments: Segment[], parts: string[]): Record<string, string> | undefined {
  const greedy = segments.at(-1)?.kind === "greedy";
  if (greedy ? parts.length < segments.length : parts.length !== segments.length) return undefined;
  const parameters: [string, string][] = [];
  for (const [index, { kind, text }] of segments.entries()) {
    const part = parts[index] ?? "";
    if (kind === "greedy") parameters.push([text, parts.slice(index).join("/")]);
    else if (kind === "literal" ? part !== text : part === "") return undefined;
    else if (kind === "parameter") parameters.push([text, part]);
  }
  return Object.fromEntries(parameters);
}

/**
 * Which trigger takes a request, by the rules of API Gateway HTTP APIs: the method must be equal, a
 * literal segment wins over `{name}` and that over `{name+}`, `$default` takes the rest. `path` is the
 * decoded path of the event; a trailing or doubled slash is an empty segment and matches no `{name}`.
 * Throws for a malformed trigger and for two triggers that would take the same requests.
 */
export function createMatcher<T>(
  triggers: readonly { trigger: string; target: T }[],
): (method: string, path: string) => Match<T> | undefined {
  const fallback = triggers.find(({ trigger }) => trigger === "$default");
  const compiled = triggers
    .filter(({ trigger }) => trigger !== "$default")
    .map(({ trigger, target }) => compile(trigger, target))
    .toSorted(moreSpecificFirst);
  const byShape = new Map<string, string>();
  for (const { shape, routeKey } of compiled) {
    const other = byShape.get(shape);
    if (other !== undefined) throw new Error(`"${other}" and "${routeKey}" take the same requests`);
    byShape.set(shape, routeKey);
  }
  return (method, path) => {
    const parts = path.split("/").slice(1);
    for (const { routeKey, segments, target, method: wanted } of compiled) {
      const pathParameters = wanted === method ? parametersOf(segments, parts) : undefined;
      if (pathParameters) return { target, routeKey, pathParameters };
    }
    return fallback && { target: fallback.target, routeKey: "$default", pathParameters: {} };
  };
}
