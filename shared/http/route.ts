import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import type { Permissions, ResourceType, Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Commit } from "../changes/recorder.ts";
import type { ProblemCode } from "../core/errors.ts";
import type { IfMatch, TagSchemas } from "../core/etag.ts";
import type { Log } from "../core/log.ts";
import type { LimitClass } from "../rate-limits/classes.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Seen } from "../table/seen-items.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { type Deprecation, deprecationNote } from "./deprecation.ts";

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * The external services that a function may use (shared/providers). `mail` sends mail to people; `mail_servers`
 * recognizes the deployment's own mail servers.
 */
export type ProviderName = "secrets" | "payments" | "files" | "registrar" | "dns" | "mail" | "mail_servers";

/**
 * A stored resource that the input names. `scopes` has the resource itself first, and then the resources that contain
 * it.
 */
export type LocatedResource<T> = {
  id: string;
  scopes: Scope[];
  thing: T;
  /** The name of the resource for people, such as a mailbox's address. */
  label?: string;
  /**
   * The account of the resource. A public route and a route without an account in its path require this member. If the
   * member is absent, these routes answer as if the resource did not exist.
   */
  accountId?: string;
};

/** How the input names the resource of a route. */
export type ResourceLookup<I, T> = {
  /**
   * Where the input names the resource: in the path, or at the location of a member. A resource that is missing or that
   * the caller may not see is a 404 for `path`, and a 422 at the location of the member.
   */
  at: "path" | readonly string[] | ((input: I) => readonly string[]);
  /** The types of the resource's scopes. A grant that is narrowed to another type is never enough. */
  within: readonly ResourceType[];
  /** Finds the resource; undefined if the account does not have it, or if the input names no resource. */
  find: (input: I, table: Reader) => Promise<LocatedResource<T> | undefined>;
  /** The message of the 422. */
  missing?: string;
  /**
   * For a public route, or a route without an account in its path: the message of the 403 `account_suspended` if the
   * resource's account is suspended or closed. Without this message, the resource then counts as missing.
   */
  stopped?: string;
};

/** The context of a call: the second argument of `run`, after the parsed input. */
export type Context = {
  principal: Principal;
  /**
   * The principal's permissions in the account that the path or the query names. No permissions if neither names an
   * account, or if the route is public.
   */
  permissions: Permissions;
  requestId: string;
  table: Reader;
  /** Runs the transactions of the route. Records every change in the transaction of its writes. */
  commit: Commit;
  /**
   * Replaces the answer that is stored for the idempotency key by `value`, and returns `value`. For a route that learns
   * more after its transaction.
   */
  answer: <T>(value: T) => Promise<T>;
  /** The id of a request with an idempotency key. A repeat of the request has the same id until there is an answer. */
  keyId?: string | undefined;
  /**
   * Whether an earlier, interrupted attempt of the same request has begun its work: whether the attempt has committed a
   * transaction with `begins` (`ChangePlan`).
   */
  hasBegun?: boolean | undefined;
  /**
   * Charges the caller's rate limit for a request of the class `limit`, which is another class than the route's class.
   * Use this for input that makes a call more expensive than other calls of the route. Throws 429 `rate_limited`.
   */
  chargeClass: (limit: LimitClass) => Promise<void>;
  /**
   * Asks the issuer of the caller's token for the caller's verified e-mail address. Use this if the token has no
   * verified address. The result is undefined if the issuer gives no address. Throws 503 if the issuer does not answer.
   */
  askEmail?: (() => Promise<string | undefined>) | undefined;
  /** Whether the answer becomes the file of the route's `http.file`. */
  wantsFile?: boolean | undefined;
  /** The address by which the caller reached the API, without a slash at its end, for addresses in the answer. */
  address?: string | undefined;
  /**
   * The caller's `If-Match` condition. `commit` checks this condition. A route with several transactions has to check
   * the condition itself.
   */
  ifMatch?: IfMatch | undefined;
  /**
   * The time at which the program of this call must stop. After this time, a call of many steps begins no further step.
   */
  stopAt?: Date | undefined;
  log: Log;
  now: () => Date;
};

type RepeatContext = Pick<Context, "table" | "permissions">;
type ExistsContext = Pick<Context, "table" | "permissions" | "now">;

type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject> = {
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
};

/**
 * A condition on the account besides the caller's permission, such as a plan. `check` throws 409 with the `code`.
 * `ahead` names the items that `check` reads.
 */
export type Requirement = {
  code: ProblemCode;
  ahead: (accountId: string) => Key[];
  check: (accountId: string, table: Reader, at: Date) => Promise<void>;
};

/** What is known when a route guesses the reads of a request (`ahead`). Memory of earlier requests may be stale. */
export type Expected = {
  /**
   * A guess of the caller's permissions, as `expectedStanding` makes it: all permissions unless this process has seen a
   * narrower grant.
   */
  permissions: Permissions;
  /** The items that were seen, such as pointers to other items. */
  seen: Seen;
  principal: Principal;
};

/** How a route answers over REST. */
type Http = {
  method: Method;
  path: string;
  /**
   * The schemas of the resource's entity tag. Answers of all methods but DELETE have the tag, and all methods honour
   * `If-Match`. Without `etag`, a request with `If-Match` is refused.
   */
  etag?: TagSchemas;
  /**
   * The file of another media type that a request gets unless the request prefers JSON. With `onlyIfPreferred`, a
   * request gets the file only if it prefers the file to JSON. `of` makes the file from the output; undefined if the
   * output has no file.
   */
  file?: {
    type: string;
    onlyIfPreferred?: boolean;
    of: (output: unknown) => { name: string; text: string } | undefined;
  };
  /**
   * For a route that may continue after its answer. `is` tells whether this request continues. If it does, the answer
   * is a 202. `location` is the path template of the resource in which the caller can read the progress.
   */
  later?: { is: (output: unknown) => boolean; location: string };
  /**
   * Whether an output is from a dry run. The answer of a dry run has the status 200. `isDryRun` is for routes that
   * create a resource, except in a dry run.
   */
  isDryRun?: (output: unknown) => boolean;
  /** The status of success. The default is 200. */
  status: 200 | 201 | 202;
  /** The path template of the created resource, with members of the path and the output in braces. */
  location?: string;
};

type DeclaredHttp = Omit<Http, "status" | "location"> &
  ({ status?: 200 | 202; location?: never } | { status: 201; location?: string });

/** The needs of a route's Lambda. */
type LambdaNeeds = {
  /** The external services that the route uses. The default is none. */
  uses: readonly ProviderName[];
  /**
   * Whether the route computes much. Its Lambda then gets a whole processor, and the longest time the gateway allows.
   */
  heavy: boolean;
  /** The right to write to the table, for a route with the access `read` that stores something while it answers. */
  table?: "write";
};

/** How code mode calls a route. */
type CodeMode = {
  /**
   * How a program passes the input. `flat`, the default: every member of the path, query and body is an argument.
   * `payload`: the members of the body and the account's id are in one argument named `payload`.
   */
  arguments: "flat" | "payload";
  /**
   * Whether the answer of a call may be stored, in a session or for a repeat of the program. The default is true. False
   * for answers with an address that can contain a credential, such as a signed address.
   */
  storesAnswer: boolean;
};

/** The capability that the caller must hold. Null if no capability is needed; `open` is the reason. */
type Needed =
  | { capability: Capability; open?: never; public?: never }
  | {
      capability: null;
      open: string;
      /**
       * Whether the route needs no credential over REST. The system is then the actor of its changes, not the caller.
       */
      public?: true;
    };

/** Whether a route changes something for the caller. The access decides which rights on the table the Lambda gets. */
type Access =
  | { access: "read"; lambda?: Partial<LambdaNeeds> }
  | { access: "write"; lambda?: Partial<Omit<LambdaNeeds, "table">> };

/** The resource of a route, to which the caller's grant may be narrowed. */
type Narrowing<I, P, T> =
  | {
      /**
       * The scopes of the path's resource. `visible`: `run` itself leaves out everything that the caller may not see.
       */
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
  /** Everyday words with which people look for the function. `functions.search` uses these words. */
  synonyms?: readonly string[];
  description?: string;
  /** The announcement that the route will be removed. The route's answers and descriptions contain the announcement. */
  deprecated?: Deprecation;
  params?: P;
  query?: Q;
  body?: B;
  output: O;
  /**
   * The members of the answer that are secrets. An answer with a secret is shown only once, and is never stored.
   */
  shownOnce?: readonly (keyof z.output<O> & string)[];
  /** The codes of the problems that `run` itself throws. */
  problems?: readonly ProblemCode[];
  /** A condition on the account of the path, which is checked before `run`. */
  requires?: Requirement;
  /** The class of the rate limit. The default is `default`. */
  limit?: LimitClass;
  /**
   * Whether the route takes several transactions. An interrupted request may then be partly done, and a repeat of the
   * request completes it.
   */
  resumes?: boolean;
  /** Whether a suspended account can call the route, because the route helps to make the account active again. */
  whileSuspended?: boolean;
  codeMode?: Partial<CodeMode>;
  /**
   * Whether `run`, `requireExists`, `preview` or `checkRepeat` uses permissions of the caller besides the capability on
   * the resource. Usually authorization does not look for super admins if a grant is enough to call the route. With
   * `usesPermissions`, authorization looks even then, so that a super admin has all permissions in `run`. This costs
   * one more read for users who are not owners.
   */
  usesPermissions?: true;
  /**
   * The items and ranges that `run` will read, if the input tells them. They are read together with the caller's
   * permissions, so that the call needs one round trip less.
   */
  ahead?: (input: Input<P, Q, B>, expected: Expected) => Ahead;
  /**
   * The effect that a call would have, for a dry run in code mode. Only reads, and has only members that the caller may
   * see.
   */
  preview?: (input: Input<P, Q, B>, context: Pick<Context, "table" | "permissions">) => Promise<unknown>;
  /**
   * For a dry run in code mode of a route that has no `subject` and is not rehearsed. Throws the error of `run` if the
   * resource in the path does not exist, or if the caller may not use it. Only reads.
   */
  requireExists?: (input: Input<P, Q, B>, context: ExistsContext) => Promise<unknown>;
  /**
   * Requires the permissions that `run` requires besides `capability`, before a stored answer is returned to a repeat
   * of the request. Resources that are gone by now need no permission. Throws the errors of `run`.
   */
  checkRepeat?: (input: Input<P, Q, B>, context: RepeatContext, answer: z.output<O>) => Promise<void>;
  run: (input: Input<P, Q, B> & { found: T }, context: Context) => Promise<z.input<O>>;
} & Needed &
  Access &
  Narrowing<Input<P, Q, B>, z.output<P>, T>;

const Nothing = z.strictObject({});
type Nothing = typeof Nothing;

/** The answer of a route that returns nothing, such as a deletion or a revocation. */
export const Empty = z.strictObject({}).meta({ id: "Empty", description: "An empty object. The request succeeded." });

/** A route: the declaration with all defaults filled in. */
export type Route = {
  name: string;
  http: Http;
  summary: string;
  synonyms: readonly string[];
  description: string;
  deprecated?: Deprecation;
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
  requires?: Requirement;
  limit: LimitClass;
  resumes: boolean;
  whileSuspended: boolean;
  lambda: LambdaNeeds;
  codeMode: CodeMode;
  usesPermissions?: true;
  ahead?: (input: AnyInput, expected: Expected) => Ahead;
  preview?: (input: AnyInput, context: Pick<Context, "table" | "permissions">) => Promise<unknown>;
  requireExists?: (input: AnyInput, context: ExistsContext) => Promise<unknown>;
  checkRepeat?: (input: AnyInput, context: RepeatContext, answer: unknown) => Promise<void>;
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
  const { deprecated, description = "" } = declaration;
  return {
    synonyms: [],
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
    description: deprecated ? `${deprecationNote(deprecated)}\n\n${description}` : description,
    http: { status: 200, ...declaration.http },
    lambda: { uses: [], heavy: false, ...declaration.lambda },
    codeMode: { arguments: "flat", storesAnswer: true, ...declaration.codeMode },
  } as unknown as Route;
}

/** Whether an answer of the route has a secret that is shown only once. */
export function holdsSecret({ shownOnce }: Pick<Route, "shownOnce">, answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const members = new Map<string, unknown>(Object.entries(answer));
  return shownOnce.some((name) => (members.get(name) ?? null) !== null);
}

/** Whether the route can answer without a secret. Such answers are stored for repeated requests. */
export function canAnswerWithoutSecret({ shownOnce, output }: Pick<Route, "shownOnce" | "output">): boolean {
  if (!(output instanceof z.ZodObject)) return shownOnce.length === 0;
  const { shape } = output;
  return shownOnce.every((name) => [undefined, null].some((empty) => shape[name]?.safeParse(empty).success));
}
