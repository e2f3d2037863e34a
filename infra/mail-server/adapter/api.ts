import type { AdapterSettings } from "./settings.ts";

/**
 * Thrown if the adapter has no answer for a mail server:
 * - the API cannot be reached,
 * - the API answered with an error: 429, 5xx, or 4xx because of a mistake in the adapter,
 * - queued mail has to wait.
 *
 * The mail server then gets a temporary failure.
 */
export class NoAnswer extends Error {}

/**
 * Whether the status of the API's answer to a report means that the report itself is wrong. After any other failure,
 * the report is sent again.
 */
export const isRefusal = (status: number): boolean => status === 400 || status === 413 || status === 422;

/** The answer of the endpoint `recipient`: the destination of mail to an address. */
export type Recipient = {
  /**
   * With `none`, no mailbox has the address, and no rule sends its mail on. With `unknown`, the text is no address, or
   * the API handles no mail for the domain.
   */
  kind: "mailbox" | "alias" | "catch_all" | "role" | "forward" | "none" | "unknown";
  /** With `none`: false if the MX of the domain is elsewhere. */
  is_mx_here?: boolean;
  mailbox?: string;
  mailbox_id?: string;
  account_id?: string;
  quota_bytes?: number;
  is_full?: boolean;
  keep_copy?: boolean;
  copies?: { address: string; mailbox_id: string | null }[];
};

/** The answer of the endpoint `sender`: whether a login may send. */
export type Verdict = {
  allowed: boolean;
  reason?: { code: string; message: string };
  mailbox_id: string;
  account_id: string;
  address: string;
  dkim: { domain: string; selector: string } | null;
  route: {
    kind: "shared" | "dedicated" | "own_host";
    dedicated_ip_id?: string;
    source_ips?: string[];
    relay?: string;
    relay_name?: string;
    relay_login?: { user: string; password: string };
  };
};

type SigningKey = { domain: string; selector: string; private_key: string };

const answerTimeoutMs = 10_000;
const mostAnswers = 50_000;
/**
 * The time for which the adapter reuses an answer `unknown`, in milliseconds. The API allows no caching of this answer.
 * But for each letter to another provider, Postfix asks the same question several times.
 */
const unknownDomainMs = 5_000;

type Sent = { method?: string; body?: string; headers?: Record<string, string> };
type CallEndpoint = (path: string, sent?: Sent) => Promise<Response>;

/** The time for which an answer may be used again, in milliseconds. */
function keptMs(response: Response, kind: string | undefined): number {
  if (kind === "unknown") return unknownDomainMs;
  return 1_000 * Number(/max-age=(\d+)/.exec(response.headers.get("cache-control") ?? "")?.[1] ?? 0);
}

/** A kept answer. `until` is the time until which it may be used again, and Infinity while its request is running. */
type Kept = { until: number; answer: Promise<unknown>; accountId?: string | undefined };

/** Caches each answer for the time that `keptMs` returns. Equal questions at the same time share one request. */
function openAnswers(call: CallEndpoint) {
  const kept = new Map<string, Kept>();

  const read = async (path: string, entry: Kept): Promise<unknown> => {
    const response = await call(path);
    const body = (await response.json().catch(() => undefined)) as { kind?: string; account_id?: string } | undefined;
    // For the endpoint `dkim`, 404 is a valid answer: the domain may not send.
    if (response.status === 404 && path.startsWith("dkim?")) return undefined;
    if (response.status !== 200 || body === undefined) throw new NoAnswer(`The API answered ${response.status}.`);
    entry.until = Date.now() + keptMs(response, body.kind);
    entry.accountId = body.account_id;
    return body;
  };

  return {
    /**
     * Returns the answer of an endpoint. Returns undefined for a 404 of `dkim`. Throws `NoAnswer` for any other
     * failure.
     */
    ask: (endpoint: string, query: Record<string, string>): Promise<unknown> => {
      const path = `${endpoint}?${new URLSearchParams(query).toString()}`;
      const known = kept.get(path);
      if (known && known.until > Date.now()) return known.answer;
      const [oldest] = kept.keys();
      if (kept.size >= mostAnswers && oldest !== undefined) kept.delete(oldest);
      const entry: Kept = { until: Infinity, answer: Promise.resolve() };
      entry.answer = read(path, entry).finally(() => {
        if (entry.until === Infinity && kept.get(path) === entry) kept.delete(path);
      });
      kept.delete(path);
      kept.set(path, entry);
      return entry.answer;
    },
    /** Forgets the answers about an account, and the answers of all running requests. */
    forget: (accountId: string): void => {
      for (const [path, entry] of kept) {
        if (entry.accountId === accountId || entry.until === Infinity) kept.delete(path);
      }
    },
  };
}

const jsonHeaders = { "content-type": "application/json" };

const warningMs = 60_000;

/**
 * Returns a function that logs an answer with which the API refuses the adapter's request. Logs at most one line a
 * minute.
 */
function openWarnings(log: (text: string) => void) {
  let last = -Infinity;
  return (status: number, endpoint: string): void => {
    const isRefused = status >= 400 && status < 500 && !(status === 404 && endpoint === "dkim");
    if (!isRefused || Date.now() - last < warningMs) return;
    last = Date.now();
    log(status === 401 ? "The API refuses the key (401)." : `The API answered ${status} to ${endpoint}.`);
  };
}

/**
 * Calls the endpoints of the API, with connections that stay open. If the connection breaks, repeats the request once.
 * If the API refuses the key or a request, `log` gets a line, but at most one line a minute.
 */
export function openApi(
  { api, mail_key }: Pick<AdapterSettings, "api" | "mail_key">,
  log: (text: string) => void = () => {},
) {
  const warn = openWarnings(log);
  const call: CallEndpoint = async (path, { headers, ...sent } = {}) => {
    const send = (): Promise<Response> =>
      fetch(`${api}/internal/mail/${path}`, {
        ...sent,
        headers: { ...headers, "x-mail-key": mail_key },
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
    try {
      // If the connection breaks, the request is sent again. A repeated report has the same batch id, and counts once.
      const response = await send().catch((error: Error) =>
        error.name === "TimeoutError" ? Promise.reject(error) : send(),
      );
      warn(response.status, path.replace(/\?.*$/, ""));
      return response;
    } catch (error) {
      throw new NoAnswer(`The API cannot be reached: ${String(error)}`);
    }
  };
  const { ask, forget } = openAnswers(call);

  return {
    recipient: (address: string) => ask("recipient", { address }) as Promise<Recipient>,
    /** The answer about the mailbox with these ids. `kind` is `mailbox`, or `none` if there is no such mailbox. */
    mailbox: (account_id: string, mailbox_id: string) =>
      ask("recipient", { account_id, mailbox_id }) as Promise<Recipient>,
    sender: (login: string, from: string, to?: string) =>
      ask("sender", { login, from, ...(to === undefined ? {} : { to }) }) as Promise<Verdict>,
    /** Whether the queued mail of the sender `from` may leave. */
    queued: (from: string) => ask("sender", { from, queued: "true" }) as Promise<Verdict>,
    /** The key that signs the mail of a domain. Undefined if the domain may not send. */
    dkim: (domain: string) => ask("dkim", { domain }) as Promise<SigningKey | undefined>,
    /** Checks a login. The headers have the form of nginx's `auth_http` protocol. */
    auth: (headers: Record<string, string>): Promise<Response> => call("auth", { headers }),
    /** The revocations after the position `since`. Without `since`, only the position from which to ask next. */
    revocations: async (query: Record<string, string>): Promise<Response> =>
      call(`revocations?${new URLSearchParams(query).toString()}`),
    /** Sends a batch to `usage` or `events`. Returns the status of the answer. */
    report: async (endpoint: string, body: unknown): Promise<number> => {
      const response = await call(endpoint, { method: "POST", body: JSON.stringify(body), headers: jsonHeaders });
      await response.arrayBuffer();
      return response.status;
    },
    forget,
  };
}

export type Api = ReturnType<typeof openApi>;
