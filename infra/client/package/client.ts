import { CodeError } from "./errors.ts";
import { AllFunctions, routes, type WebhooksFunctions } from "./generated/functions.ts";
import type { CodeResponse } from "./generated/types.ts";
import { ApiPromise, List, type Page, type WithResponse } from "./promises.ts";
import {
  type Arguments,
  type ClientOptions,
  type RequestOptions,
  hashedId,
  randomId,
  requestOf,
  type FunctionRoute,
  Transport,
} from "./transport.ts";
import { verifyWebhook } from "./webhooks.ts";

/** Options of a program of code mode. */
export interface CodeOptions extends RequestOptions {
  /** The session's id. Programs of one session share their variables. By default the `request_id`. */
  session_id?: string | undefined;
  /**
   * If true, the program makes only the calls that read data, and the answer lists the other calls. Nothing is changed.
   */
  dry_run?: boolean | undefined;
  /**
   * Your id for this run of the program. If you send the same program with the same id again within an hour, you get
   * the same answer. The `session_id` must also be the same, or missing both times. A program that failed, or whose
   * answer could not be stored, runs again, but makes no write twice. By default a hash of the `idempotencyKey`, or a
   * random id without this key.
   */
  request_id?: string | undefined;
}

/** The result of a program that completed. */
export type CodeResult<Value = unknown> = CodeResponse & { result: { last_value: Value } };

type FunctionCall = (args?: Arguments, options?: RequestOptions) => ApiPromise<unknown>;
type PageData = { page: number; page_size: number; total: number };

const largestPage = 100;

/** A client of the API. Every function is a method under its name, such as `client.mailboxes.add`. */
export class HostedMail extends AllFunctions {
  /** The functions `webhooks.…`, and `verify`, which verifies a delivery of a webhook. */
  declare readonly webhooks: WebhooksFunctions & { verify: typeof verifyWebhook };
  readonly #transport: Transport;

  /**
   * Creates a client without sending a request. Throws a `TypeError` if the address of the API is missing or not valid.
   */
  constructor(options: ClientOptions = {}) {
    super();
    this.#transport = new Transport(options);
    for (const [name, route] of Object.entries(routes)) this.#add(name, this.#callOf(name, route));
    this.#add("webhooks.verify", verifyWebhook);
  }

  /** Runs a program of code mode. Throws a `CodeError` if the program fails. */
  code<Value = unknown>(program: string, options: CodeOptions = {}): ApiPromise<CodeResult<Value>> {
    const sent = this.#sendProgram<Value>(program, options);
    return new ApiPromise(() => sent);
  }

  async #sendProgram<Value>(code: string, options: CodeOptions): Promise<WithResponse<CodeResult<Value>>> {
    const { request_id: given, session_id, dry_run, ...others } = options;
    const key = options.idempotencyKey;
    // The API refuses a repeat that has the same key but another `request_id` or `session_id`. So the default of both
    // ids depends on the key alone.
    const request_id = given ?? (key === undefined ? randomId() : await hashedId(key));
    const flags = dry_run === undefined ? {} : { dry_run };
    const body = { request_id, session_id: session_id ?? request_id, code, ...flags };
    // A program needs no idempotency key, because `request_id` has the same effect.
    const request = { method: "POST", path: "/v1/public/a2a", body, takesKey: false, programRequestId: request_id };
    const answer = await this.#transport.send<CodeResult<Value>>(request, others);
    if (answer.data.error) throw new CodeError(answer.data.error, answer.data);
    return answer;
  }

  /** Adds a method under a dotted name, such as `mailboxes.add`. */
  #add(name: string, method: unknown): void {
    const words = name.split(".");
    const last = words.pop() ?? name;
    let at = this as unknown as Record<string, unknown>;
    for (const word of words) at = (at[word] ??= {}) as Record<string, unknown>;
    at[last] = method;
  }

  #callOf(name: string, route: FunctionRoute): FunctionCall {
    const send = async (args: Arguments = {}, options?: RequestOptions): Promise<WithResponse<unknown>> =>
      this.#transport.send(requestOf(name, route, args), options);
    const { items } = route;
    if (items !== undefined) {
      const isPaged = route.query.includes("page");
      return (args = {}, options = {}) => makeList({ send, args, options, items, isPaged });
    }
    return (args, options) => {
      const sent = send(args, options);
      return new ApiPromise(() => sent);
    };
  }
}

type ListCall = {
  send: (args: Arguments, options: RequestOptions) => Promise<WithResponse<unknown>>;
  args: Arguments;
  options: RequestOptions;
  /** The member of the answer that contains the items, or "" if the answer itself is the list. */
  items: string;
  isPaged: boolean;
};

/** Makes a list. The list sends its first request when it is awaited or iterated. */
function makeList(call: ListCall): List<unknown, unknown> {
  const { send, args, options, isPaged } = call;
  return new List(
    async () => {
      const answer = await send(args, options);
      // An answer in another format, such as CSV, has no pages.
      return isPaged && typeof answer.data === "object"
        ? { ...answer, data: withNextPage(call, answer.data as PageData) }
        : answer;
    },
    async function* () {
      let page = isPaged ? Number(args["page"] ?? 1) : undefined;
      while (true) {
        const answer = await send(page === undefined ? args : { page_size: largestPage, ...args, page }, options);
        yield* itemsIn(answer, call.items);
        if (page === undefined || isLast(answer.data as PageData)) break;
        page += 1;
      }
    },
  );
}

const itemsIn = ({ data }: WithResponse<unknown>, member: string): unknown[] =>
  (member === "" ? data : (data as Arguments)[member]) as unknown[];

const isLast = ({ page, page_size, total }: PageData): boolean => page * page_size >= total;

/**
 * Adds `hasNextPage` and `nextPage` to an answer. These members are not enumerable, because the API did not send them.
 */
function withNextPage(call: ListCall, data: PageData): Page<PageData> {
  const nextPage = async (): Promise<Page<PageData> | undefined> => {
    if (isLast(data)) return undefined;
    const args = { ...call.args, page: data.page + 1, page_size: data.page_size };
    return withNextPage(call, (await call.send(args, call.options)).data as PageData);
  };
  return Object.defineProperties(data, {
    hasNextPage: { value: !isLast(data) },
    nextPage: { value: nextPage },
  }) as Page<PageData>;
}
