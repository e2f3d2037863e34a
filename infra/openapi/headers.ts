import * as z from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

import type { Route } from "../../shared/http/route.ts";
import { mayReplay } from "../../shared/http/shown-once.ts";

type Header = { schema: { type: "string" | "integer"; pattern?: string; enum?: string[] }; description: string };

/** Every response header field, by name. */
const answerHeaders = {
  "X-Request-Id": { schema: { type: "string" }, description: "The id of the request: yours, or one of ours." },
  Location: { schema: { type: "string" }, description: "Where the created resource is read." },
  "Content-Disposition": {
    schema: { type: "string" },
    description: "The name to keep a file by (RFC 6266); JSON has none.",
  },
  ETag: {
    schema: { type: "string" },
    description:
      "The entity tag of the resource's own state as it is now, for `If-Match` and `If-None-Match`. What the answer shows of other things beside it (a domain's mailboxes and records, a workspace's name) is not part of it.",
  },
  "Idempotency-Replayed": {
    schema: { type: "string", enum: ["true"] },
    description: "An earlier request with the same `Idempotency-Key` has had the effect; this is its answer again.",
  },
  "RateLimit-Policy": {
    schema: { type: "string" },
    description:
      'The limit that was charged: its class, the quota `q`, and the window `w` in seconds in which the quota comes back, as in `"default";q=100;w=10`; absent when the request was refused before it was counted (draft-ietf-httpapi-ratelimit-headers).',
  },
  RateLimit: {
    schema: { type: "string" },
    description:
      'What is left of the quota, `r`, and after how many seconds it is whole again, `t`, as in `"default";r=99;t=1` (draft-ietf-httpapi-ratelimit-headers).',
  },
  "Retry-After": {
    schema: { type: "integer" },
    description: "After how many seconds to try again. A 409 has it with `idempotency_in_flight`.",
  },
  "WWW-Authenticate": {
    schema: { type: "string" },
    description:
      "The challenge of RFC 6750; with `error` once a credential was sent. Under `resource_metadata` is told who issues tokens (RFC 9728).",
  },
} as const satisfies Record<string, Header>;

type AnswerHeader = keyof typeof answerHeaders;
type Headers = NonNullable<ZodOpenApiResponseObject["headers"]>;

const sometimes = ".sometimes";

const reference = (name: AnswerHeader, suffix: string) => ({ $ref: `#/components/headers/${name}${suffix}` });

/** The header fields that an answer always has, and those it has only in the cases their descriptions name. */
export const headersOf = (always: readonly AnswerHeader[], maybe: readonly AnswerHeader[] = []): Headers =>
  Object.fromEntries([
    ...["X-Request-Id" as const, ...always].map((name) => [name, reference(name, "")]),
    ...maybe.map((name) => [name, reference(name, sometimes)]),
  ]) as Headers;

/** The header fields of an answer that may also come from the gateway, which sends none of them. */
export const headersBesideGateway = (headers: readonly AnswerHeader[]): Headers =>
  headersOf([], ["X-Request-Id", ...headers]);

/** The header components that responses refer to. */
export function headerComponents(paths: object): Record<string, Header & { required: boolean }> {
  // Schemas are left out of the search, as they are large and refer to no header.
  const used = JSON.stringify(paths, (_, value: unknown) => (value instanceof z.ZodType ? undefined : value));
  const both = Object.entries<Header>(answerHeaders).flatMap(([name, header]) => [
    [name, { ...header, required: true }] as const,
    [`${name}${sometimes}`, { ...header, required: false }] as const,
  ]);
  return Object.fromEntries(both.filter(([name]) => used.includes(`"#/components/headers/${name}"`)));
}

export const rateLimit = ["RateLimit-Policy", "RateLimit"] as const;

const secretNote = " The answer holds a secret and is not kept: a repeat is answered with 409 `secret_already_shown`.";
const maySecretNote = (members: string): string =>
  ` An answer that shows a secret (${members}) is not kept: a repeat is answered with 409 \`secret_already_shown\`.`;
const programNote =
  " The same program with the same key is answered with the same envelope, and with `Idempotency-Replayed: true`; another one is a 422. Each write of the program has a key of its own made from this one: what was cut off can be sent again, and no write takes effect twice. An envelope with a secret is not kept: 409 `secret_already_shown`. Without it the `request_id` does so for an hour, for each program by itself; a message of the A2A protocol goes by its id only.";

function secretNoteOf(route: Route): string {
  const { shownOnce } = route;
  if (shownOnce.length === 0) return "";
  return mayReplay(route) ? maySecretNote(shownOnce.map((name) => `\`${name}\``).join(", ")) : secretNote;
}

function idempotencyKey(route: Route, isFunction: boolean): z.ZodType {
  const promise =
    "Your name for this request, kept for 24 hours for you and this route: the same request with the same key takes effect once, and a repeat gets the answer of the first with `Idempotency-Replayed: true`. The key with another request is a 422, and while the first is still running a repeat is a 409 `idempotency_in_flight`.";
  const note = isFunction ? secretNoteOf(route) : programNote;
  const description = isFunction ? promise + note : `Your name for this program, kept for 24 hours.${note}`;
  return z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, { error: "Write 1 to 255 visible ASCII characters" })
    .optional()
    .meta({ description });
}

const tag = String.raw`(?:W/)?"[\x21\x23-\x2b\x2d-\x7e]*"`;
const fields = {
  "If-Match": z.string().regex(new RegExp(String.raw`^(?: *\* *|[ ,]*${tag}(?: *,[ ,]*${tag})*[ ,]*)$`), {
    error: "Write * or entity tags in quotes",
  }),
  "If-None-Match": z.string(),
};

/** The request header fields that a route honours. `isFunction` tells functions from the endpoints of code mode. */
export function requestHeaders(route: Route, isFunction: boolean, takesKey: boolean): z.ZodObject {
  const conditional = {
    "If-Match": `${route.method === "GET" ? "Answer" : "Change"} it only if it still has one of these entity tags (RFC 9110 §13.1.1), else 412 \`precondition_failed\`: \`*\` for any, or tags in quotes as \`ETag\` has them, with commas between. Anything else is a 422. Without it the last write wins.`,
    "If-None-Match":
      "Entity tags you know already (RFC 9110 §13.1.2): if it still has one of them, 304 without a body. What cannot be read as such is as good as not sent.",
  };
  const honoured = route.method === "GET" ? (["If-Match", "If-None-Match"] as const) : (["If-Match"] as const);
  const conditions = honoured.map(
    (name) => [name, fields[name].optional().meta({ description: conditional[name] })] as const,
  );
  return z.object({
    "X-Request-Id": z.string().optional().meta({
      description:
        "Your id for this request, 1 to 128 visible ASCII characters: echoed, logged, and part of every error body. Anything else is replaced by an id of ours.",
    }),
    ...(takesKey ? { "Idempotency-Key": idempotencyKey(route, isFunction) } : {}),
    ...(route.etag ? Object.fromEntries(conditions) : {}),
  });
}
