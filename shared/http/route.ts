import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import type { Permissions, ResourceType, Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Commit } from "../changes/recorder.ts";
import type { ProblemCode } from "../core/errors.ts";
import type { IfMatch, Own } from "../core/etag.ts";
import type { Log } from "../core/log.ts";
import type { LimitClass } from "../rate-limits/classes.ts";
import type { Reader } from "../table/table.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * The external services that a function may use (shared/providers). `mail` sends mail to people; `mail_servers`
 * recognizes the deployment's own mail servers.
 */
export type ProviderName = "secrets" | "payments" | "files" | "registrar" | "dns" | "mail" | "mail_servers";

/** A stored resource that the input names, with its scopes (itself first), to which grants can be narrowed. */
export type LocatedResource<T> = {
  id: string;
  scopes: Scope[];
  thing: T;
  /**
   * The account of the resource, if the path does not name it. A public route needs it: without it the resource is
   * missing.
   */
  accountId?: string;
};

/** How the input names the resource of a route. */
export type ResourceLookup<I, T> = {
  /**
   * The place in the input. A missing or unseen resource is a 404 if the path names it, and otherwise a 422 at that
   * place.
   */
  at: "path" | readonly string[] | ((input: I) => readonly string[]);
  /** The types of its scopes. A grant that is narrowed to another type is never enough. */
  within: readonly ResourceType[];
  /** Finds the resource; undefined if the account does not have it, or the input names none. */
  find: (input: I, table: Reader) => Promise<LocatedResource<T> | undefined>;
  /** The message for a missing resource that is not named by the path. */
  missing?: string;
};

/** The second argument of `run`, beside its parsed input. */
export type Context = {
  principal: Principal;
  /** The principal's permissions in the account of the path; none if the path has no account. */
  permissions: Permissions;
  requestId: string;
  table: Reader;
  /** The only way to write. Every change is recorded together with its writes. */
  commit: Commit;
  /**
   * Replaces the answer that is stored for the idempotency key, if the work went on after the transaction and the
   * answer can say more than its value.
   */
  answer: <T>(value: T) => Promise<T>;
  /**
   * The id of a request with an idempotency key. It stays the same each time the request is sent until it has an
   * answer.
   */
  keyId?: string | undefined;
  /** The API's address for this caller, without a slash at its end, for addresses in the answer. */
  address?: string | undefined;
  /** The caller's `If-Match` condition. `commit` checks it; a route with several transactions has to check it first. */
  ifMatch?: IfMatch | undefined;
  log: Log;
  now: () => Date;
};

type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject> = {
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
};

type AnswerFile = { type: string; of: (output: unknown) => { name: string; text: string } | undefined };
type AnswerLater = { is: (output: unknown) => boolean; location: string };

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject, O extends z.ZodType, T> = {
  /** The function name: `auth.groups.create` lives in functions/auth/groups/create.ts. */
  name: string;
  method: Method;
  path: string;
  summary: string;
  description?: string;
  /** The capability that the caller must hold; null if being authenticated is enough, with the reason in `open`. */
  capability: Capability | null;
  open?: string;
  /**
   * Whether the caller can change something by it. This decides which rights on the table the Lambda of this route
   * gets.
   */
  access: "read" | "write";
  /**
   * The right on the table that the Lambda of this route needs beyond `access`: its caller only reads, but the function
   * stores what it learns on the way.
   */
  grants?: "write";
  params?: P;
  query?: Q;
  body?: B;
  /** The status of success; 200 by default. */
  status?: 200 | 201 | 202;
  output: O;
  /**
   * The answer as a file of another media type, unless the request prefers JSON. `of` returns undefined for an answer
   * without a file.
   */
  file?: AnswerFile;
  /**
   * Work that goes on after the answer, which is then a 202. `is` says whether it does, and `location` where its
   * progress can be read.
   */
  later?: AnswerLater;
  /** The path of the created resource, with members of the output in braces. */
  location?: string;
  /** The members of the answer that are secrets. An answer with one of them is shown only once, and is never stored. */
  shownOnce?: readonly (keyof z.output<O> & string)[];
  /**
   * Whether code mode may store the answer for a while, in a session or for a repeated request; true by default. False
   * for answers that are valid for a short time, such as signed addresses.
   */
  kept?: boolean;
  /**
   * Takes several transactions. An interrupted request may be done in part, and the same request sent again does the
   * rest.
   */
  resumes?: boolean;
  /** Computes much. Its Lambda gets a whole processor, and the longest time that the gateway waits. */
  heavy?: boolean;
  /**
   * The kind whose entity tag GET and PATCH send, and by which all methods honour `If-Match`; without it that field is
   * refused.
   */
  etag?: Own;
  /** The class of rate limit; `default` if not given. */
  limit?: LimitClass;
  /**
   * The services that the Lambda of this route uses beside the table: `secrets` encrypts and decrypts, `files` signs
   * addresses.
   */
  uses?: readonly ProviderName[];
  /**
   * Whether it needs no credential over REST; `open` says why. Its changes are recorded as the system's, not as the
   * caller's.
   */
  public?: boolean;
  /** Whether a suspended account may still call it, because it makes the account active again. */
  whileSuspended?: boolean;
  /** The problem codes `run` itself may answer with. */
  problems?: readonly ProblemCode[];
  /**
   * How code mode passes the body: its members as arguments like the others, or all in one argument named `payload`,
   * together with the account's id.
   */
  codeArguments?: "flat" | "payload";
  /**
   * The scopes to which a grant can be narrowed and still be enough: those of the resource in the path, or `visible` if
   * `run` itself narrows its answer to what the principal may see.
   */
  scope?: "visible" | ((params: z.output<P>) => Scope[]);
  /** The resource of the route, found before authorization. `run` gets it as `found`. */
  subject?: ResourceLookup<Input<P, Q, B>, T>;
  run: (input: Input<P, Q, B> & { found: T }, context: Context) => Promise<z.input<O>>;
};

const Nothing = z.strictObject({});
type Nothing = typeof Nothing;

/** The answer of deletions and revocations. */
export const Empty = z.strictObject({}).meta({ id: "Empty", description: "Nothing: it is done." });

/** A route as everything else sees it: the declaration with its defaults filled in. */
export type Route = {
  name: string;
  method: Method;
  path: string;
  summary: string;
  description: string;
  capability: Capability | null;
  open?: string;
  access: "read" | "write";
  grants?: "write";
  params: z.ZodObject;
  query: z.ZodObject;
  body: z.ZodObject;
  status: 200 | 201 | 202;
  output: z.ZodType;
  file?: AnswerFile;
  later?: AnswerLater;
  location?: string;
  shownOnce: readonly string[];
  kept: boolean;
  resumes: boolean;
  heavy: boolean;
  etag?: Own;
  limit: LimitClass;
  uses: readonly ProviderName[];
  public: boolean;
  whileSuspended: boolean;
  problems: readonly ProblemCode[];
  codeArguments: "flat" | "payload";
  scope?: "visible" | ((params: Record<string, unknown>) => Scope[]);
  subject?: ResourceLookup<AnyInput, unknown>;
  run: (input: AnyInput & { found: unknown }, context: Context) => Promise<unknown>;
};

type AnyInput = Record<"params" | "query" | "body", Record<string, unknown>>;

/** Declares a route. Everything derived from it (Lambda, gateway, OpenAPI, code mode, tests) reads this object. */
export function defineRoute<
  O extends z.ZodType,
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodObject = Nothing,
  T = undefined,
>(declaration: Declaration<P, Q, B, O, T>): Route {
  return {
    description: "",
    params: Nothing,
    query: Nothing,
    body: Nothing,
    status: 200,
    shownOnce: [],
    kept: true,
    resumes: false,
    heavy: false,
    limit: "default",
    uses: [],
    public: false,
    whileSuspended: false,
    problems: [],
    codeArguments: "flat",
    ...declaration,
  } as unknown as Route;
}
