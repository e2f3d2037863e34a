import * as z from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

import { type Route, canAnswerWithoutSecret } from "../../shared/http/route.ts";

type Header = { schema: { type: "string" | "integer"; pattern?: string; enum?: string[] }; description: string };

/** The response headers that the document describes, by name. */
const answerHeaders = {
  "X-Request-Id": {
    schema: { type: "string" },
    description: "The id of the request: your `X-Request-Id`, or a generated id.",
  },
  Location: {
    schema: { type: "string" },
    description: "The path of the created resource, or of the task's state.",
  },
  "Content-Disposition": {
    schema: { type: "string" },
    description: "The name for the saved file (RFC 6266). A JSON answer does not have this header.",
  },
  ETag: {
    schema: { type: "string" },
    description:
      "The entity tag of the resource's own state, for `If-Match` and `If-None-Match`. The tag does not cover members from other resources, such as a domain's mailboxes and records, or a workspace's name.",
  },
  "Idempotency-Replayed": {
    schema: { type: "string", enum: ["true"] },
    description:
      "`true` if this answer is a replay. An earlier equal request took effect, and this is the answer to the earlier request.",
  },
  "RateLimit-Policy": {
    schema: { type: "string" },
    description:
      'The limit that counted the request: its class, its quota `q`, and the time `w` in seconds in which the whole quota comes back. An example is `"default";q=100;w=10`. The header is absent if the request was refused before it was counted (draft-ietf-httpapi-ratelimit-headers).',
  },
  RateLimit: {
    schema: { type: "string" },
    description:
      'The remaining quota `r`, and the time `t` in seconds until the whole quota is back. An example is `"default";r=99;t=1` (draft-ietf-httpapi-ratelimit-headers).',
  },
  "Retry-After": {
    schema: { type: "integer" },
    description:
      "The number of seconds to wait before you try again. A 409 has this header for `idempotency_in_flight`.",
  },
  "WWW-Authenticate": {
    schema: { type: "string" },
    description:
      "The challenge of RFC 6750. It contains `error` if the request had a credential. The document at `resource_metadata` names the token issuers (RFC 9728).",
  },
} as const satisfies Record<string, Header>;

type AnswerHeader = keyof typeof answerHeaders;
type Headers = NonNullable<ZodOpenApiResponseObject["headers"]>;

/** The suffix of the names of components for optional headers. */
const sometimes = ".sometimes";

const reference = (name: AnswerHeader, suffix: string) => ({ $ref: `#/components/headers/${name}${suffix}` });

/**
 * References to the headers of an answer. The answer always has the headers in `always`. The answer can have the
 * headers in `maybe`.
 */
export const headersWith = (always: readonly AnswerHeader[], maybe: readonly AnswerHeader[] = []): Headers =>
  Object.fromEntries([
    ...["X-Request-Id" as const, ...always].map((name) => [name, reference(name, "")]),
    ...maybe.map((name) => [name, reference(name, sometimes)]),
  ]) as Headers;

/**
 * References to the headers of an answer whose status the gateway can also send. All these headers are optional,
 * because the gateway sends none of them.
 */
export const headersBesideGateway = (headers: readonly AnswerHeader[]): Headers =>
  headersWith([], ["X-Request-Id", ...headers]);

/** The header components to which the responses refer. */
export function headerComponents(paths: object): Record<string, Header & { required: boolean }> {
  // The search skips schemas, because they are large and refer to no header.
  const used = JSON.stringify(paths, (_, value: unknown) => (value instanceof z.ZodType ? undefined : value));
  const both = Object.entries<Header>(answerHeaders).flatMap(([name, header]) => [
    [name, { ...header, required: true }] as const,
    [`${name}${sometimes}`, { ...header, required: false }] as const,
  ]);
  return Object.fromEntries(both.filter(([name]) => used.includes(`"#/components/headers/${name}"`)));
}

export const rateLimit = ["RateLimit-Policy", "RateLimit"] as const;

const secretNote = " The answer contains a secret, so it is not stored. A repeat gets 409 `secret_already_shown`.";
const possibleSecretNote = (members: string): string =>
  ` An answer that shows a secret (${members}) is not stored. A repeat then gets 409 \`secret_already_shown\`.`;
const programNote =
  " A repeat of the same program with the same key gets the stored envelope, with `Idempotency-Replayed: true`. Another program with the same key gets a 422. Each write of the program has its own key, derived from your key. So you can repeat an interrupted program, and no write takes effect twice. An envelope with a secret is not stored, and a repeat gets 409 `secret_already_shown`. Without this header, `request_id` is the key, but only for an hour and for the same program in the same session. For a message of the A2A protocol, `messageId` is the key.";

function secretNoteOf(route: Route): string {
  const { shownOnce } = route;
  if (shownOnce.length === 0) return "";
  return canAnswerWithoutSecret(route)
    ? possibleSecretNote(shownOnce.map((name) => `\`${name}\``).join(", "))
    : secretNote;
}

function idempotencyKey(route: Route, isFunction: boolean): z.ZodType {
  const functionNote =
    "Your key for this request. It is stored for 24 hours, only for you and this route. The same request with the same key takes effect only once. A repeat gets the answer of the first request, with `Idempotency-Replayed: true`. Another request with the same key gets a 422. While the first request is still running, a repeat gets 409 `idempotency_in_flight`.";
  const description = isFunction
    ? `${functionNote}${secretNoteOf(route)}`
    : `Your key for this program. It is stored for 24 hours.${programNote}`;
  return z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, { error: "Write 1 to 255 visible ASCII characters" })
    .optional()
    .meta({ description });
}

/** Matches an entity tag (RFC 9110 §8.8.3). */
const tag = String.raw`(?:W/)?"[\x21\x23-\x2b\x2d-\x7e]*"`;
const fields = {
  "If-Match": z.string().regex(new RegExp(String.raw`^(?: *\* *|[ ,]*${tag}(?: *,[ ,]*${tag})*[ ,]*)$`), {
    error: "Write * or a list of entity tags in quotes",
  }),
  "If-None-Match": z.string(),
};

/** The request headers that a route supports. `isFunction` is false for the endpoints of code mode. */
export function requestHeaders(route: Route, isFunction: boolean, takesKey: boolean): z.ZodObject {
  const conditional = {
    "If-Match": `${route.http.method === "GET" ? "Return" : "Change"} the resource only if it still has one of these entity tags (RFC 9110 §13.1.1). If it has none of them, the answer is 412 \`precondition_failed\`. Write \`*\` for any tag, or tags in quotes as in \`ETag\`, separated by commas. Any other value gets a 422. Without this header the last write wins.`,
    "If-None-Match":
      "The entity tags of the versions that you already have (RFC 9110 §13.1.2). If the resource still has one of them, the answer is 304 without a body. A value that cannot be read is ignored.",
  };
  const honoured = route.http.method === "GET" ? (["If-Match", "If-None-Match"] as const) : (["If-Match"] as const);
  const conditions = honoured.map(
    (name) => [name, fields[name].optional().meta({ description: conditional[name] })] as const,
  );
  return z.object({
    "X-Request-Id": z.string().optional().meta({
      description:
        "Your id for this request: 1 to 128 visible ASCII characters. The answer and the logs contain this id. Any other value is replaced by a generated id.",
    }),
    ...(takesKey ? { "Idempotency-Key": idempotencyKey(route, isFunction) } : {}),
    ...(route.http.etag ? Object.fromEntries(conditions) : {}),
  });
}
