import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import type { Permissions, ResourceType, Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Commit } from "../changes/recorder.ts";
import type { ProblemCode } from "../core/errors.ts";
import type { IfMatch, Own } from "../core/etag.ts";
import type { Log } from "../core/log.ts";
import type { LimitClass } from "../rate-limits/classes.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Seen } from "../table/seen-items.ts";
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
  /** The name that people know it by, such as a mailbox's address. */
  label?: string;
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

/** The second argument of `run`; the first one is the parsed input. */
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

/** The items that this process saw in earlier requests, to guess the reads of a request. They may be stale. */
export type Expected = {
  /** The permissions of the caller; everything if they were not seen. */
  permissions: Permissions;
  /** Items that pointed to others. */
  seen: Seen;
};

/** How a route answers over REST. */
type Http = {
  method: Method;
  path: string;
  /**
   * The kind whose entity tag GET and PATCH send, and by which all methods honour `If-Match`; without it that field is
   * refused.
   */
  etag?: Own;
  /**
   * The answer as a file of another media type, unless the request prefers JSON. `of` returns undefined for an answer
   * without a file.
   */
  file?: { type: string; of: (output: unknown) => { name: string; text: string } | undefined };
  /**
   * For work that continues after the answer, which is then a 202. `is` says whether the work continues, and `location`
   * is where its progress can be read.
   */
  later?: { is: (output: unknown) => boolean; location: string };
  /** The status of success; 200 by default. */
  status: 200 | 201 | 202;
  /** The path of the created resource, with members of the output in braces. */
  location?: string;
};

type DeclaredHttp = Omit<Http, "status" | "location"> &
  ({ status?: 200 | 202; location?: never } | { status: 201; location?: string });

/** The needs of a route's Lambda. */
type LambdaNeeds = {
  /**
   * The services that it uses in addition to the table: `secrets` encrypts and decrypts, `files` signs addresses. None
   * by default.
   */
  uses: readonly ProviderName[];
  /** Computes much. It gets a whole processor, and the longest time that the gateway waits. */
  heavy: boolean;
  /**
   * The right on the table that a route with the access `read` needs in addition, if it stores something while it
   * answers.
   */
  table?: "write";
};

/** How code mode calls a route. */
type CodeMode = {
  /**
   * How a program passes the body: its members as arguments like the others (the default), or all in one argument named
   * `payload`, together with the account's id.
   */
  arguments: "flat" | "payload";
  /**
   * Whether the answer may be stored for a while, in a session or for a repeated request; true by default. False for
   * answers that are valid for a short time, such as signed addresses.
   */
  storesAnswer: boolean;
};

/** The capability that the caller must hold; null if being authenticated is enough, with the reason in `open`. */
type Needed =
  | { capability: Capability; open?: never; public?: never }
  | {
      capability: null;
      open: string;
      /** Whether it needs no credential over REST. Its changes are recorded as the system's, not as the caller's. */
      public?: true;
    };

/** Whether the caller can change something by a route. This decides which rights on the table its Lambda gets. */
type Access =
  | { access: "read"; lambda?: Partial<LambdaNeeds> }
  | { access: "write"; lambda?: Partial<Omit<LambdaNeeds, "table">> };

/** The resource to which a grant can be narrowed and still be enough. */
type Narrowing<I, P, T> =
  | {
      /** The scopes of the path, or `visible` if `run` itself narrows its answer to what the principal may see. */
      scope?: "visible" | ((params: P) => Scope[]);
      subject?: never;
    }
  | {
      scope?: never;
      /** The resource of the route, found before authorization. `run` gets it as `found`. */
      subject: ResourceLookup<I, T>;
    };

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject, O extends z.ZodType, T> = {
  /** The function name: `auth.groups.create` lives in functions/auth/groups/create.ts. */
  name: string;
  http: DeclaredHttp;
  summary: string;
  /** Everyday words of people who look for the function. `functions.search` finds it by them too. */
  synonyms?: readonly string[];
  description?: string;
  params?: P;
  query?: Q;
  body?: B;
  output: O;
  /** The members of the answer that are secrets. An answer with one of them is shown only once, and is never stored. */
  shownOnce?: readonly (keyof z.output<O> & string)[];
  /** The problem codes `run` itself may answer with. */
  problems?: readonly ProblemCode[];
  /** The class of rate limit; `default` if not given. */
  limit?: LimitClass;
  /**
   * Takes several transactions. An interrupted request may be partly done; the same request, sent again, completes it.
   */
  resumes?: boolean;
  /** Whether a suspended account may still call it, because it makes the account active again. */
  whileSuspended?: boolean;
  codeMode?: Partial<CodeMode>;
  /**
   * The items and ranges that `run` will read, as far as the input tells. They are read together with the caller's
   * permissions, so that the call needs one round trip less.
   */
  ahead?: (input: Input<P, Q, B>, expected: Expected) => Ahead;
  /** What a call would do, for a dry run in code mode. It only reads, and shows only what the caller may see. */
  preview?: (input: Input<P, Q, B>, context: Pick<Context, "table" | "permissions">) => Promise<unknown>;
  run: (input: Input<P, Q, B> & { found: T }, context: Context) => Promise<z.input<O>>;
} & Needed &
  Access &
  Narrowing<Input<P, Q, B>, z.output<P>, T>;

const Nothing = z.strictObject({});
type Nothing = typeof Nothing;

/** The answer of deletions and revocations. */
export const Empty = z.strictObject({}).meta({ id: "Empty", description: "An empty object. The request succeeded." });

/** A route: the declaration with all defaults filled in. */
export type Route = {
  name: string;
  http: Http;
  summary: string;
  synonyms: readonly string[];
  description: string;
  capability: Capability | null;
  open?: string;
  public: boolean;
  access: "read" | "write";
  scope?: "visible" | ((params: Record<string, unknown>) => Scope[]);
  subject?: ResourceLookup<AnyInput, unknown>;
  params: z.ZodObject;
  query: z.ZodObject;
  body: z.ZodObject;
  output: z.ZodType;
  shownOnce: readonly string[];
  problems: readonly ProblemCode[];
  limit: LimitClass;
  resumes: boolean;
  whileSuspended: boolean;
  lambda: LambdaNeeds;
  codeMode: CodeMode;
  ahead?: (input: AnyInput, expected: Expected) => Ahead;
  preview?: (input: AnyInput, context: Pick<Context, "table" | "permissions">) => Promise<unknown>;
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
    synonyms: [],
    description: "",
    params: Nothing,
    query: Nothing,
    body: Nothing,
    shownOnce: [],
    resumes: false,
    limit: "default",
    public: false,
    whileSuspended: false,
    problems: [],
    ...declaration,
    http: { status: 200, ...declaration.http },
    lambda: { uses: [], heavy: false, ...declaration.lambda },
    codeMode: { arguments: "flat", storesAnswer: true, ...declaration.codeMode },
  } as unknown as Route;
}
