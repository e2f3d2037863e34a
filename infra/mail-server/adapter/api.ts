import type { AdapterSettings } from "./settings.ts";

/**
 * Thrown if the API gives no answer that a mail server can use: it cannot be reached, or it answered 429, 5xx, or 4xx
 * because of a mistake of ours. The mail server then gets a temporary failure.
 */
export class NoAnswer extends Error {}

/**
 * Whether the status of a report says that the report itself is wrong. After any other failure the report is sent
 * again.
 */
export const isRefusal = (status: number): boolean => status === 400 || status === 413 || status === 422;

/** The destination of mail for an address, as the endpoint `recipient` answers it. */
export type Recipient = {
  kind: "mailbox" | "alias" | "catch_all" | "role" | "forward" | "none" | "unknown";
  mailbox?: string;
  mailbox_id?: string;
  account_id?: string;
  quota_bytes?: number;
  is_full?: boolean;
  keep_copy?: boolean;
  copies?: { address: string; mailbox_id: string | null }[];
};

/** Whether a login may send, as the endpoint `sender` answers it. */
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
 * How long the answer `unknown` is used again, in milliseconds. The API does not allow this, but Postfix asks the same
 * several times for each letter to another provider.
 */
const unknownDomainMs = 5_000;

type Sent = { method?: string; body?: string; headers?: Record<string, string> };
type CallEndpoint = (path: string, sent?: Sent) => Promise<Response>;

/** How long an answer may be used, in milliseconds. */
function keptMs(response: Response, kind: string | undefined): number {
  if (kind === "unknown") return unknownDomainMs;
  return 1_000 * Number(/max-age=(\d+)/.exec(response.headers.get("cache-control") ?? "")?.[1] ?? 0);
}

type Kept = { until: number; answer: Promise<unknown>; accountId?: string | undefined };

/** Caches answers for as long as they allow. Equal questions at the same time share one request. */
function openAnswers(call: CallEndpoint) {
  const kept = new Map<string, Kept>();

  const read = async (path: string, entry: Kept): Promise<unknown> => {
    const response = await call(path);
    const body = (await response.json().catch(() => undefined)) as { kind?: string; account_id?: string } | undefined;
    // Only this endpoint answers 404 for a domain that may not send.
    if (response.status === 404 && path.startsWith("dkim?")) return undefined;
    if (response.status !== 200 || body === undefined) throw new NoAnswer(`The API answered ${response.status}.`);
    entry.until = Date.now() + keptMs(response, body.kind);
    entry.accountId = body.account_id;
    return body;
  };

  return {
    /** The answer of an endpoint; undefined for 404. Throws `NoAnswer`. */
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
    /** Forgets the answers about an account, also those of running requests. */
    forget: (accountId: string): void => {
      for (const [path, entry] of kept) {
        if (entry.accountId === accountId || entry.until === Infinity) kept.delete(path);
      }
    },
  };
}

const warningMs = 60_000;

/** Makes a function that logs an answer if it refuses our request as wrong. Logs one line a minute at most. */
function openWarnings(log: (text: string) => void) {
  let last = -Infinity;
  return (status: number, endpoint: string): void => {
    const isOurMistake = status >= 400 && status < 500 && !(status === 404 && endpoint === "dkim");
    if (!isOurMistake || Date.now() - last < warningMs) return;
    last = Date.now();
    log(status === 401 ? "The API refuses the key (401)." : `The API answered ${status} to ${endpoint}.`);
  };
}

/**
 * Calls the endpoints of the API, with connections that stay open. `log` gets a line if the API refuses the key or a
 * request, at most one a minute.
 */
export function openApi(
  { api, mail_key }: Pick<AdapterSettings, "api" | "mail_key">,
  log: (text: string) => void = () => {},
) {
  const warn = openWarnings(log);
  const call: CallEndpoint = async (path, { headers, ...sent } = {}) => {
    try {
      const signal = AbortSignal.timeout(answerTimeoutMs);
      const response = await fetch(`${api}/internal/mail/${path}`, {
        ...sent,
        headers: { ...headers, "x-mail-key": mail_key },
        signal,
      });
      warn(response.status, path.replace(/\?.*$/, ""));
      return response;
    } catch (error) {
      throw new NoAnswer(`The API cannot be reached: ${String(error)}`);
    }
  };
  const { ask, forget } = openAnswers(call);

  return {
    recipient: (address: string) => ask("recipient", { address }) as Promise<Recipient>,
    /** The mailbox with these ids, of kind `mailbox`; of kind `none` if there is none. */
    mailbox: (account_id: string, mailbox_id: string) =>
      ask("recipient", { account_id, mailbox_id }) as Promise<Recipient>,
    sender: (login: string, from: string, to?: string) =>
      ask("sender", { login, from, ...(to === undefined ? {} : { to }) }) as Promise<Verdict>,
    /** The key that signs the mail of a domain; undefined if the domain may not send. */
    dkim: (domain: string) => ask("dkim", { domain }) as Promise<SigningKey | undefined>,
    /** Checks a login. The headers are those of nginx's `auth_http` protocol. */
    auth: (headers: Record<string, string>): Promise<Response> => call("auth", { headers }),
    /** The next revocations. Without `since`, the revocations from now on. */
    revocations: async (query: Record<string, string>): Promise<Response> =>
      call(`revocations?${new URLSearchParams(query).toString()}`),
    /** Sends a batch to `usage` or `events`. Returns the status of the answer. */
    report: async (endpoint: string, body: unknown): Promise<number> => {
      const text = JSON.stringify(body);
      const response = await call(endpoint, {
        method: "POST",
        body: text,
        headers: { "content-type": "application/json" },
      });
      await response.arrayBuffer();
      return response.status;
    },
    forget,
  };
}

export type Api = ReturnType<typeof openApi>;
