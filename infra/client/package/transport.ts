import { ApiError, ConnectionError, HostedMailError, type SentIds, TimeoutError } from "./errors.ts";
import type { WithResponse } from "./promises.ts";
import { retrying } from "./retrying.ts";

/** Options of the client. */
export interface ClientOptions {
  /**
   * An access token or a service account's token, or a function that returns a token. The function is called before
   * each try. By default the environment variable `HOSTED_MAIL_TOKEN`.
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /**
   * The address of the API, such as `https://api.example.com`, with or without `/v1/public`. By default the environment
   * variable `HOSTED_MAIL_BASE_URL`.
   */
  baseUrl?: string | undefined;
  /** The largest number of repeats of a request after temporary failures. @default 4 */
  retries?: number | undefined;
  /** The longest time for one try, in milliseconds. `Infinity` sets no limit. @default 30000 */
  timeoutMs?: number | undefined;
  /**
   * The longest wait before a repeat, in milliseconds. If `Retry-After` asks for a longer wait, the error is thrown at
   * once.
   *
   * @default 20000
   */
  longestWaitMs?: number | undefined;
  /** Headers that every request gets. */
  headers?: Record<string, string> | undefined;
  /** A replacement for `fetch`, for example with a proxy or tracing. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The arguments of a function that takes none. */
export type NoArguments = Record<string, never>;

/** Options of one request. */
export interface RequestOptions {
  /**
   * Your own `Idempotency-Key` for a POST. By default, each call of a function that takes a key has a random key.
   * Repeats of the call use the same key.
   */
  idempotencyKey?: string | undefined;
  /**
   * The entity tag that the resource must still have (`If-Match`). If the resource has another tag, the request fails
   * with `precondition_failed`.
   */
  ifMatch?: string | undefined;
  /** Further headers of this request. */
  headers?: Record<string, string> | undefined;
  /** Aborts the request. The call then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** The longest time for one try, in milliseconds. `Infinity` sets no limit. */
  timeoutMs?: number | undefined;
  /** The largest number of repeats of the request after temporary failures. */
  retries?: number | undefined;
}

/**
 * The HTTP route of a function: its method, its path, the names of its query parameters, its body, and the place of its
 * items.
 */
export type FunctionRoute = {
  method: string;
  path: string;
  query: readonly string[];
  /** `flat`: the other arguments are the members of the body. `payload`: the argument `payload` is the body. */
  body?: "flat" | "payload";
  /** The member of the answer that contains the items of a list, or "" if the answer itself is the list. */
  items?: string;
};

export type Arguments = Record<string, unknown>;

/**
 * A request that is ready to be sent. `body` is undefined for a request without a body. `programRequestId` is the
 * `request_id` of a program, which has the effect of an idempotency key.
 */
type ReadyRequest = { method: string; path: string; body?: unknown; takesKey: boolean; programRequestId?: string };

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** 128 random bits. `crypto.randomUUID` does not exist in web pages that were loaded over http. */
export const randomId = (): string => hexOf(crypto.getRandomValues(new Uint8Array(16)));

/**
 * An id of 64 characters that depends only on the text: its SHA-256 hash. In a web page, `crypto.subtle` exists only
 * over https and on localhost.
 */
export async function hashedId(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hexOf(new Uint8Array(hash));
}

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

/** The text of an argument in path or query. The text of null and undefined is empty. */
function argumentText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Whether a text can reach another route as a part of the path. `fetch` removes dot segments even if they are encoded.
 * The gateway decodes the path before it finds the route.
 */
const changesRoute = (text: string): boolean => /^\.\.?$|[/?%]/.test(text);

/**
 * Makes the request of a function from its arguments. Throws a `TypeError` if an argument in the path is missing or
 * could reach another route.
 */
export function requestOf(name: string, route: FunctionRoute, args: Arguments): ReadyRequest {
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = argumentText(rest.get(parameter));
    rest.delete(parameter);
    if (value === "") throw new TypeError(`${name} needs the argument ${parameter}.`);
    if (changesRoute(value)) {
      throw new TypeError(
        `${name} cannot send the argument ${parameter}: it is "." or "..", or has a "/", "?" or "%". Give the resource's id.`,
      );
    }
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  // Without a body, all other arguments are sent in the query. So the API can refuse a misspelt argument.
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
  // In code mode, the payload repeats the account's id. In REST, only the path contains the id.
  const { payload, ...others } = Object.fromEntries(rest);
  const { account_id: _, ...members } = (payload ?? {}) as Arguments;
  return { body: { ...members, ...others } };
}

/** A body, and whether it is JSON. The content of a body that is not JSON is its text. */
type Content = { content: unknown; isJson: boolean };

/** The media type of an answer, without parameters, such as `application/json`. */
const mediaTypeOf = ({ headers }: Response): string =>
  (headers.get("content-type") ?? "").replace(/;.*/s, "").trim().toLowerCase();

const isJsonType = (mediaType: string): boolean => /\bjson\b/.test(mediaType);

function parsedContent(text: string, response: Response): Content {
  const asText = { content: text, isJson: false };
  if (!isJsonType(mediaTypeOf(response))) return asText;
  try {
    return { content: JSON.parse(text) as unknown, isJson: true };
  } catch {
    return asText;
  }
}

/** Whether the header `Accept` names the media type, or a range that contains it, such as `text/*`. */
const accepts = (accept: string, mediaType: string): boolean => {
  const wanted = new Set(accept.split(",").map((one) => one.replace(/;.*/s, "").trim().toLowerCase()));
  return [mediaType, mediaType.replace(/\/.*/, "/*"), "*/*"].some((one) => one !== "" && wanted.has(one));
};

/**
 * Throws a `HostedMailError` if a successful answer is not JSON, unless the request's `Accept` names the answer's media
 * type. The answer then comes from another server than the API, for example from a proxy or a web site.
 */
function checkContent(
  { isJson, response }: Content & { response: Response },
  { accept, request, ids }: { accept: string; request: string; ids: SentIds },
): void {
  const mediaType = mediaTypeOf(response);
  if (isJson || (!isJsonType(mediaType) && accepts(accept, mediaType))) return;
  const found = isJsonType(mediaType) ? "JSON that is not valid" : `${mediaType || "no content type"}, not JSON`;
  throw new HostedMailError(`${request} answered ${found}. Check the address of the API.`, ids);
}

/** The longest time of a timer, in milliseconds (24.8 days). A timer with a longer time fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Sends requests. Adds the token and the idempotency key, limits the time of each try, and repeats requests after
 * temporary failures.
 */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = apiAddress(options.baseUrl);
  }

  /**
   * Sends a request, and returns its data with the response. Throws the errors of `#try`, an `ApiError`, or a
   * `HostedMailError` if the answer is neither JSON nor of a media type in `Accept`.
   */
  async send<Data>(request: ReadyRequest, options: RequestOptions = {}): Promise<WithResponse<Data>> {
    const { method, body, takesKey, programRequestId } = request;
    const headers = new Headers({ accept: "application/json" });
    // The headers are set one by one. `new Headers` would join two values whose names differ only in case.
    for (const one of [this.#options.headers, options.headers]) {
      for (const [name, value] of Object.entries(one ?? {})) headers.set(name, value);
    }
    if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    if (options.ifMatch !== undefined) headers.set("if-match", options.ifMatch);
    if (options.idempotencyKey !== undefined) headers.set("idempotency-key", options.idempotencyKey);
    if (takesKey && !headers.has("idempotency-key")) headers.set("idempotency-key", randomId());
    // The API recognises a repeat of the request by the key or by the program's id.
    const isRecognised = takesKey || programRequestId !== undefined;
    // The API ignores the key of a PATCH or a DELETE, so an error does not report this key.
    const ids = isRecognised ? { idempotencyKey: headers.get("idempotency-key") ?? undefined, programRequestId } : {};
    const answer = await retrying(() => this.#try(request, headers, { ...options, ids }), {
      retries: options.retries ?? this.#options.retries ?? 4,
      longestWaitMs: this.#options.longestWaitMs ?? 20_000,
      isSafeToRepeat: method === "GET" || isRecognised,
      signal: options.signal,
    });
    const { response, content } = answer;
    if (!response.ok) throw new ApiError(response, content, ids);
    const accept = headers.get("accept") ?? "";
    checkContent(answer, { accept, request: `${method} ${this.#base}${request.path}`, ids });
    return { data: content as Data, response, requestId: response.headers.get("x-request-id") ?? undefined };
  }

  /**
   * Sends the request once. Throws a `TimeoutError`, a `ConnectionError`, the reason of the caller's signal, the error
   * of a function `token`, or a `TypeError` if `timeoutMs` is not above 0 or the token cannot be sent.
   */
  async #try(request: ReadyRequest, headers: Headers, { signal, timeoutMs, ids }: RequestOptions & { ids: SentIds }) {
    const { method, path, body } = request;
    signal?.throwIfAborted();
    const limitMs = timeoutMs ?? this.#options.timeoutMs ?? 30_000;
    if (!(limitMs > 0)) throw new TypeError(`timeoutMs must be a number of milliseconds above 0, not ${limitMs}.`);
    const url = this.#base + path;
    const stopping = new AbortController();
    const stop = (): void => stopping.abort(signal?.reason);
    const expire = (): void =>
      stopping.abort(new TimeoutError(`${method} ${url} had no answer within ${limitMs} ms.`, ids));
    const timer = limitMs > longestTimerMs ? undefined : setTimeout(expire, limitMs);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await unlessAborted(this.#authorize(headers), stopping.signal);
      const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      return await this.#fetch(url, { ...sent, signal: stopping.signal }).catch((cause: unknown) => {
        throw new ConnectionError(`${method} ${url} had no answer: ${reasonOf(cause).replace(/\.?$/, ".")}`, {
          ...ids,
          cause,
        });
      });
    } catch (error) {
      throw stopping.signal.aborted ? stopping.signal.reason : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  async #fetch(url: string, init: RequestInit): Promise<Content & { response: Response }> {
    const response = await (this.#options.fetch ?? globalThis.fetch)(url, init);
    return { response, ...parsedContent(await response.text(), response) };
  }

  async #authorize(headers: Headers): Promise<void> {
    const { token = environment("HOSTED_MAIL_TOKEN") } = this.#options;
    const value = (typeof token === "function" ? await token() : token)?.trim();
    if (!value) return;
    // Without this check, the error of `Headers` would contain the token.
    if (!/^[!-~]+$/.test(value))
      throw new TypeError("The token has a space, a line break or another character that a token cannot contain.");
    headers.set("authorization", `Bearer ${value}`);
  }
}

/** Settles as `work` does. If `signal` aborts first, rejects with the signal's reason. */
const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    ),
  ]);

/** The innermost reason why `fetch` failed, such as `connect ECONNREFUSED 127.0.0.1:3000`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return reasonOf(cause);
  return error.message || ((error as { code?: string }).code ?? error.name);
}
