/** The parts of a request target (RFC 9112 §3.2). */
export type Target = {
  /** The authority of an absolute-form target, which overrides the Host header (RFC 9112 §3.2.2). */
  authority?: string;
  /** As sent, percent-encoded. */
  encodedPath: string;
  /** Decoded as API Gateway does it. */
  path: string;
  /** As sent, without the question mark. */
  query: string;
};

/** A target that API Gateway answers with 400. */
export class BadTarget extends Error {}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new BadTarget(`"${text}" is not validly percent-encoded`);
  }
}

/**
 * HTTP APIs hand on a decoded `rawPath`, and do it twice, cutting at a question mark in between: seen in
 * live captures of July 2026 (hotsock/voker, `vokerhttp/testdata/ingress-paths.json`). So `%2F` becomes a
 * separator, `%3F` ends the path, and `%25` that does not begin a second escape is refused.
 */
const decodePath = (encoded: string): string => decode(decode(encoded).replace(/\?.*$/s, ""));

/** Throws `BadTarget` for anything but origin-form and absolute-form, and for malformed escapes in the path. */
export function parseTarget(target: string): Target {
  const form = /^(?:https?:\/\/(?<authority>[^/?]+))?(?<path>\/[^?]*)?(?:\?(?<query>.*))?$/i.exec(target)?.groups;
  if (!form || (form["authority"] === undefined && form["path"] === undefined)) {
    throw new BadTarget("The request target is neither a path nor an http URL");
  }
  const encodedPath = form["path"] ?? "/";
  return {
    encodedPath,
    path: decodePath(encodedPath),
    query: form["query"] ?? "",
    ...(form["authority"] === undefined ? {} : { authority: form["authority"] }),
  };
}

/**
 * The parameters of a query string: names and values decoded (`+` is a space), repeated names joined by
 * commas. Throws `BadTarget` for malformed escapes.
 */
export function parseQuery(query: string): Record<string, string> {
  const parameters = new Map<string, string>();
  for (const piece of query.split("&").filter((text) => text !== "")) {
    const [name = "", ...rest] = piece.replaceAll("+", " ").split("=");
    const [key, value] = [decode(name), decode(rest.join("="))];
    const earlier = parameters.get(key);
    parameters.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return Object.fromEntries(parameters);
}
