import { ApiError, ConnectionError, TimeoutError } from "./errors.ts";
import type { WithResponse } from "./promises.ts";
import { retrying } from "./retrying.ts";

/** How the client is connected. */
export interface ClientOptions {
  /**
   * An access token or a service account token, or a function that gets one for each try. By default the environment
   * variable `HOSTED_MAIL_TOKEN`.
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /**
   * The address of the API, such as `https://api.example.com`, with or without `/v1/public`. By default the environment
   * variable `HOSTED_MAIL_BASE_URL`.
   */
  baseUrl?: string | undefined;
  /** How often a request is repeated after a temporary failure. @default 4 */
  retries?: number | undefined;
  /** How long one try may take, in milliseconds. @default 30000 */
  timeoutMs?: number | undefined;
  /**
   * The longest wait before a repeat, in milliseconds. If `Retry-After` asks for more, the error is thrown at once.
   *
   * @default 20000
   */
  longestWaitMs?: number | undefined;
  /** Headers of every request. */
  headers?: Record<string, string> | undefined;
  /** Another `fetch`, for example with a proxy or tracing. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The arguments of a function that takes none. */
export type NoArguments = Record<string, never>;

/** Options of one request. */
export interface RequestOptions {
  /** Your own `Idempotency-Key` for a POST. By default each call has a random one, which its repeats keep. */
  idempotencyKey?: string | undefined;
  /** The entity tag that the resource must still have (`If-Match`). Otherwise the error is `precondition_failed`. */
  ifMatch?: string | undefined;
  /** Further headers. */
  headers?: Record<string, string> | undefined;
  /** Ends the request. The reason of the signal is thrown. */
  signal?: AbortSignal | undefined;
  /** How long one try may take, in milliseconds. */
  timeoutMs?: number | undefined;
  /** How often the request is repeated after a temporary failure. */
  retries?: number | undefined;
}

/** How a function is called: its method and path, the names of its query, its body, and where its items are. */
export type FunctionRoute = {
  method: string;
  path: string;
  query: readonly string[];
  /** `flat`: the other arguments are the members of the body. `payload`: the argument `payload` is the body. */
  body?: "flat" | "payload";
  /** The member of the answer that has the items of a list; "" if the answer is the list. */
  items?: string;
};

export type Arguments = Record<string, unknown>;

/** A request that is ready to be sent. `body` is undefined for a request without a body. */
type ReadyRequest = { method: string; path: string; body?: unknown; takesKey: boolean; hasOwnKey?: boolean };

/** 128 random bits. `crypto.randomUUID` is missing in pages that came over http. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const environment = (name: string): string | undefined =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;

function apiAddress(baseUrl: string | undefined): string {
  const given = baseUrl ?? environment("HOSTED_MAIL_BASE_URL");
  if (!given) {
    throw new TypeError(
      "The address of the API is missing. Give baseUrl, such as https://api.example.com, or set HOSTED_MAIL_BASE_URL.",
    );
  }
  if (!/^https?:\/\/./.test(given) || !URL.canParse(given))
    throw new TypeError(`baseUrl is not an http(s) URL: ${given}`);
  return given
    .replace(/\/+$/, "")
    .replace(/\/v1\/public$/, "")
    .replace(/\/+$/, "");
}

/** An argument of path or query as text. Null and undefined are the empty text. */
const argumentText = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

/** Sorts the arguments of a function into path, query and body. Throws a `TypeError` if one of the path is missing. */
export function requestOf(name: string, route: FunctionRoute, args: Arguments): ReadyRequest {
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = argumentText(rest.get(parameter));
    rest.delete(parameter);
    if (value === "") throw new TypeError(`${name} needs the argument ${parameter}.`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  // A function without a body sends all its arguments, so that the API can refuse a misspelt one.
  for (const member of route.body ? route.query : [...rest.keys()]) {
    const value = rest.get(member) ?? [];
    rest.delete(member);
    for (const one of Array.isArray(value) ? value : [value]) query.append(member, argumentText(one));
  }
  const search = query.toString();
  return {
    method: route.method,
    path: search === "" ? path : `${path}?${search}`,
    ...requestBody(route, rest),
    takesKey: route.method === "POST",
  };
}

function requestBody({ body }: FunctionRoute, rest: ReadonlyMap<string, unknown>): { body?: unknown } {
  if (!body) return {};
  if (body === "flat") return { body: Object.fromEntries(rest) };
  // In code mode the payload repeats the account's id, which REST has in the path only.
  const { payload, ...others } = Object.fromEntries(rest);
  const { account_id: _, ...members } = (payload ?? {}) as Arguments;
  return { body: { ...members, ...others } };
}

const parsedContent = (text: string, { headers }: Response): unknown => {
  if (!/\bjson\b/.test(headers.get("content-type") ?? "")) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

/**
 * Sends requests: adds the token and the key, limits the time of each try, and repeats requests after temporary
 * failures.
 */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = apiAddress(options.baseUrl);
  }

  /** Sends a request, and returns its data with the response. Throws an `ApiError` or a `ConnectionError`. */
  async send<Data>(request: ReadyRequest, options: RequestOptions = {}): Promise<WithResponse<Data>> {
    const { method, body, takesKey, hasOwnKey = false } = request;
    const headers = new Headers({ accept: "application/json" });
    // One by one, because names that differ in case only would be joined.
    for (const one of [this.#options.headers, options.headers]) {
      for (const [name, value] of Object.entries(one ?? {})) headers.set(name, value);
    }
    if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    if (options.ifMatch !== undefined) headers.set("if-match", options.ifMatch);
    if (options.idempotencyKey !== undefined) headers.set("idempotency-key", options.idempotencyKey);
    if (takesKey && !headers.has("idempotency-key")) headers.set("idempotency-key", randomId());
    const key = headers.get("idempotency-key") ?? undefined;
    const { response, content } = await retrying(() => this.#try(request, headers, options), {
      retries: options.retries ?? this.#options.retries ?? 4,
      longestWaitMs: this.#options.longestWaitMs ?? 20_000,
      isSafeToRepeat: method === "GET" || key !== undefined || hasOwnKey,
      signal: options.signal,
    });
    if (!response.ok) throw new ApiError(response, content, key);
    return { data: content as Data, response, requestId: response.headers.get("x-request-id") ?? undefined };
  }

  /** Sends the request once. Throws a `TimeoutError`, a `ConnectionError`, or the reason of the caller's signal. */
  async #try({ method, path, body }: ReadyRequest, headers: Headers, { signal, timeoutMs }: RequestOptions) {
    signal?.throwIfAborted();
    await this.#authorize(headers);
    const limitMs = timeoutMs ?? this.#options.timeoutMs ?? 30_000;
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    const timer = setTimeout(stop, limitMs);
    signal?.addEventListener("abort", stop, { once: true });
    const idempotencyKey = headers.get("idempotency-key") ?? undefined;
    const url = this.#base + path;
    try {
      const init = {
        method,
        headers,
        signal: stopping.signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      const response = await (this.#options.fetch ?? globalThis.fetch)(url, init);
      return { response, content: parsedContent(await response.text(), response) };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (stopping.signal.aborted) {
        throw new TimeoutError(`${method} ${url} had no answer within ${limitMs} ms.`, { idempotencyKey, cause });
      }
      throw new ConnectionError(`${method} ${url} had no answer: ${reasonOf(cause)}`, { idempotencyKey, cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  async #authorize(headers: Headers): Promise<void> {
    const { token = environment("HOSTED_MAIL_TOKEN") } = this.#options;
    const value = typeof token === "function" ? await token() : token;
    if (value) headers.set("authorization", `Bearer ${value.trim()}`);
  }
}

/** Why `fetch` failed: the innermost reason, such as `connect ECONNREFUSED 127.0.0.1:3000`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return reasonOf(cause);
  return error.message || ((error as { code?: string }).code ?? error.name);
}
