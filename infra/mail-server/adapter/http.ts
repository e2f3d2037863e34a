import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";

import type { Api } from "./api.ts";
import type { Journal } from "./journal.ts";
import { isAddress, readUser } from "./maps.ts";
import { readSession, sessionName } from "./sessions.ts";
import type { AdapterSettings } from "./settings.ts";

type Work = { api: Api; journal: Journal; settings: AdapterSettings };
type Reply = { status: number; headers?: Record<string, string>; body?: unknown };

/** The headers of nginx's request that the API reads. */
const loginHeaders = ["auth-method", "auth-user", "auth-pass", "auth-protocol", "auth-login-attempt", "client-ip"];

/**
 * The answer to a login that the API cannot decide now. nginx passes the text on to the mail program, and closes the
 * connection. For IMAP and POP3, the text begins with a response code (RFC 5530 §3, RFC 3206 §4). For SMTP, the code
 * comes from RFC 4954 §6.
 */
function notNow(protocol: string): Reply {
  const code = { imap: "[UNAVAILABLE] ", pop3: "[SYS/TEMP] " }[protocol] ?? "";
  const text = `${code}Temporary server problem, try again later`;
  return { status: 200, headers: { "auth-status": text, "auth-error-code": "454 4.7.0" } };
}

/**
 * Passes a login from nginx to the API. For IMAP and POP3, Dovecot gets the user name <mailbox id>@<account id> and
 * `local_key` as the password. The API has already checked the user's password. For SMTP, Postfix gets the name of the
 * session.
 */
async function answerLogin({ headers }: IncomingMessage, { api, journal, settings }: Work): Promise<Reply> {
  const protocol = String(headers["auth-protocol"]);
  const sentHeaders = loginHeaders.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, String(headers[name])]],
  );
  // A revocation that the API makes after this time ends the session, even if the API's answer arrives later.
  const begunAt = new Date();
  const response = await api.auth(Object.fromEntries(sentHeaders)).catch(() => undefined);
  if (response?.status !== 200) return notNow(protocol);
  const authHeaders = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith("auth-")));
  const body = (await response.json().catch(() => ({}))) as Record<string, string>;
  if (authHeaders["auth-status"] !== "OK") return { status: 200, headers: authHeaders };
  const { mailbox_id = "", account_id = "", address = "" } = body;
  const at = begunAt.toISOString();
  journal.add("usage", {
    list: "logins",
    entry: { mailbox_id, account_id, at, protocol: protocol === "pop3" ? "pop" : protocol },
  });
  if (protocol === "smtp") {
    const session = { login: address, mailbox: mailbox_id, account: account_id, loggedInAt: begunAt.getTime() };
    return { status: 200, headers: { ...authHeaders, "auth-user": sessionName(session) } };
  }
  return {
    status: 200,
    headers: { ...authHeaders, "auth-user": `${mailbox_id}@${account_id}`, "auth-pass": settings.local_key },
  };
}

/**
 * Answers with the folder and the quota of a Dovecot user. Answers 404 for an unknown user, and Dovecot then refuses
 * the letter.
 */
async function answerMailbox(url: URL, { api, settings }: Work): Promise<Reply> {
  const user = readUser(url.searchParams.get("user") ?? "");
  const found = user && (await api.mailbox(user.account, user.mailbox));
  if (!user || found?.quota_bytes === undefined) return { status: 404 };
  const home = join(settings.store, user.account, user.mailbox);
  return { status: 200, headers: { "x-home": home, "x-quota-bytes": String(found.quota_bytes) } };
}

/** A letter for rspamd. `session` is the name of the SMTP session. */
type Letter = { session: string; sender: string; authors: string[]; recipients: number };

/**
 * Checks whether the login of a session may send a letter. The login must be allowed to send from the sender in the
 * letter's envelope, and from every address in `From:`. If the login may send the letter, answers with the key that
 * signs the letter, and counts the letter as sent. If not, answers with the refusal, or with 503 for a temporary one.
 */
async function answerSigning(letter: Letter, { api, journal }: Work): Promise<Reply> {
  const { session, sender, authors, recipients } = letter;
  const { login } = readSession(session) ?? {};
  if (login === undefined) return { status: 503 };
  // For `From: ceo@example.com <>`, rspamd gives an empty text as the author. The API would read the empty text as the
  // null reverse-path, from which every mailbox may send. So the adapter refuses the letter without asking the API.
  if (!authors.every(isAddress)) return { status: 200, body: { refusal: "The From header has no valid address." } };
  const verdicts = await Promise.all([...new Set([sender, ...authors])].map((from) => api.sender(login, from)));
  const { code, message: refusal } = verdicts.find(({ allowed }) => !allowed)?.reason ?? {};
  // The warm-up limit ends at midnight. After a 503, rspamd refuses the letter only temporarily.
  if (code === "warm_up_limit") return { status: 503 };
  // The first verdict is about the sender in the envelope.
  const [{ dkim, mailbox_id, account_id, address, route } = {} as Partial<(typeof verdicts)[number]>] = verdicts;
  const key = dkim && (await api.dkim(dkim.domain));
  if (refusal !== undefined || !key) return { status: 200, body: { refusal: refusal ?? "This domain cannot send." } };
  const at = new Date().toISOString();
  // Postfix sends mail with the null reverse-path from the shared addresses, because this mail names no sender domain.
  const ipId = sender === "" ? null : route?.dedicated_ip_id;
  const source = ipId === undefined ? {} : { dedicated_ip_id: ipId };
  journal.add("usage", { list: "sent", entry: { mailbox_id, account_id, address, at, recipients, ...source } });
  const { domain, selector, private_key } = key;
  return { status: 200, body: { domain, selector, private_key } };
}

const longestBody = 1_000_000;

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > longestBody) throw new Error("The question is too long.");
  }
  return JSON.parse(text);
}

const isSame = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));

async function replyTo(request: IncomingMessage, work: Work): Promise<Reply> {
  if (!isSame(String(request.headers["x-local-key"] ?? ""), work.settings.local_key)) return { status: 403 };
  const url = new URL(request.url ?? "/", "http://adapter");
  if (url.pathname === "/auth") return answerLogin(request, work);
  if (url.pathname === "/mailbox") return answerMailbox(url, work);
  if (url.pathname === "/sign") return answerSigning((await readBody(request)) as Letter, work);
  return { status: 404 };
}

async function serve(request: IncomingMessage, response: ServerResponse, work: Work): Promise<void> {
  const { status, headers, body } = await replyTo(request, work).catch((): Reply => ({ status: 503 }));
  response.writeHead(status, headers).end(body === undefined ? "" : JSON.stringify(body));
}

/**
 * Starts the server for requests of nginx, Dovecot and rspamd on this machine. Answers a failure with 503. All three
 * programs treat a 503 as temporary.
 */
export async function startHttp(work: Work): Promise<Server> {
  const server = createServer((request, response) => void serve(request, response, work));
  await once(server.listen(work.settings.http_port, "127.0.0.1"), "listening");
  return server;
}
