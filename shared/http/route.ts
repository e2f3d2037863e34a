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
 * What of the outside world a function may need (shared/providers); `mail` sends mail to people, `mail_servers` tells
 * the deployment's mail servers from others.
 */
export type Port = "secrets" | "payments" | "files" | "registrar" | "dns" | "mail" | "mail_servers";

/** A thing that the input names, as it is stored, and what contains it (itself first), for grants narrowed to that. */
export type Located<T> = {
  id: string;
  scopes: Scope[];
  thing: T;
  /** The account it is of, where the path does not say; a public route finds nothing that has none. */
  accountId?: string;
};

/** How the input names the thing a route is about. */
export type Subject<I, T> = {
  /** Where the input names it. In the path, one that is missing or unseen is a 404; elsewhere a 422 at that place. */
  at: "path" | readonly string[] | ((input: I) => readonly string[]);
  /** The kinds of its scopes: a grant that is narrowed to something else never suffices. */
  within: readonly ResourceType[];
  /** Undefined when the account has no such thing, or the input names none. */
  find: (input: I, table: Reader) => Promise<Located<T> | undefined>;
  /** What is told where one is missing that is not in the path. */
  missing?: string;
};

/** What `run` gets beside its parsed input. */
export type Context = {
  principal: Principal;
  /** What the principal may do in the account of the path; nothing where the path has none. */
  permissions: Permissions;
  requestId: string;
  table: Reader;
  /** The one way to write: whoever changes something says what, and it is recorded with it. */
  commit: Commit;
  /**
   * An answer that says more than the transaction's value could, as what was begun by it has gone on since: it is
   * what an idempotency key answers with from now on.
   */
  answer: <T>(value: T) => Promise<T>;
  /** What the request goes by, when it has an idempotency key: the same each time it is sent until it has an answer. */
  keyId?: string | undefined;
  /** Where the API is reached by this caller, without a slash at its end: for addresses in the answer. */
  address?: string | undefined;
  /** What the caller last saw of what it changes. `commit` honours it; who needs several transactions asks first. */
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
  /** What the caller must hold; null when being authenticated is enough, with the reason in `open`. */
  capability: Capability | null;
  open?: string;
  /** Whether its caller may change something by it, and so which grants on the table the Lambda of this route gets. */
  access: "read" | "write";
  /**
   * What the Lambda of this route may do with the table, where that is more than `access`: its caller only reads, and the
   * product notes what it learns on the way.
   */
  grants?: "write";
  params?: P;
  query?: Q;
  body?: B;
  /** The status of success, 200 if not said. */
  status?: 200 | 201 | 202;
  output: O;
  /** The answer as a file of another media type, unless the request prefers JSON; undefined when this one has none. */
  file?: AnswerFile;
  /** What is done after the answer, which is then a 202: whether that is so, and where it is read how that goes on. */
  later?: AnswerLater;
  /** Where the created thing is read, with members of the output in braces. */
  location?: string;
  /** The members of the answer that are secrets: an answer that has one shows it this once, and is never stored. */
  shownOnce?: readonly (keyof z.output<O> & string)[];
  /**
   * Whether code mode may store the answer, for a while, in a session or for a repeat; true if not said. False for what is
   * handed out for a short time, such as signed addresses.
   */
  kept?: boolean;
  /** Takes several transactions: what is cut off may be done in part, and the same request sent again does the rest. */
  resumes?: boolean;
  /** Computes much: its Lambda gets a whole processor, and as long as the gateway waits. */
  heavy?: boolean;
  /** The kind whose entity tag GET and PATCH answer, and all honour `If-Match` by; without it that field is refused. */
  etag?: Own;
  /** How often it may be called; `default` if not said. */
  limit?: LimitClass;
  /** What the Lambda of this route uses beside the table: `secrets` seals and opens, `files` signs addresses. */
  uses?: readonly Port[];
  /** Whether it takes no credential at all over REST; `open` says why. What it does is not its caller's doing. */
  public?: boolean;
  /** Whether a suspended account may still do it: what makes it active again. */
  whileSuspended?: boolean;
  /** The problem codes `run` itself may answer with. */
  problems?: readonly ProblemCode[];
  /** In code mode the body's members are arguments like the others, or are in one named `payload`, with the account's id. */
  codeArguments?: "flat" | "payload";
  /**
   * What a grant may be narrowed to and still suffice: the things that contain (or are) what the path
   * names, or `visible` when `run` itself narrows its answer to what the principal may see.
   */
  scope?: "visible" | ((params: z.output<P>) => Scope[]);
  /** The one thing the route is about, found before it is decided who may: `run` gets it as `found`. */
  subject?: Subject<Input<P, Q, B>, T>;
  run: (input: Input<P, Q, B> & { found: T }, context: Context) => Promise<z.input<O>>;
};

const Nothing = z.strictObject({});
type Nothing = typeof Nothing;

/** What deletions and revocations answer. */
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
  uses: readonly Port[];
  public: boolean;
  whileSuspended: boolean;
  problems: readonly ProblemCode[];
  codeArguments: "flat" | "payload";
  scope?: "visible" | ((params: Record<string, unknown>) => Scope[]);
  subject?: Subject<AnyInput, unknown>;
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
