import { createHash } from "node:crypto";

import type { Endpoint } from "../../shared/core/endpoint.ts";
import { clientNetwork } from "../../shared/core/ip.ts";
import { relayOf } from "../../shared/dedicated-ips/relay.ts";
import type { Response } from "../../shared/http/response.ts";
import { readAddress } from "../../shared/mail/mailboxes/local-part.ts";
import { mailServerHandler, type MailRequest, type MailWork } from "../../shared/mail/servers/handler.ts";
import { logIn, type LoggedIn, type Protocol } from "../../shared/mail/servers/log-in.ts";
import { mailServers } from "../../shared/mail/servers/platform.ts";
import { charge } from "../../shared/rate-limits/limiter.ts";

const longestUser = 1_000;

/** nginx percent-encodes the values of its request headers. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const loginAnswer = (headers: Record<string, string>): Response => ({ statusCode: 200, headers });

/**
 * The delay before an answer, in seconds, to slow down guessing. It doubles with each attempt on a connection, up to 30.
 */
const waitSeconds = (attempt: number): number =>
  Math.min(30, mailServers().loginWaitSeconds * 2 ** Math.min(attempt - 1, 4));

/** The number of the attempt on its connection, from 1. */
const attemptOf = (text = ""): number => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1);

function refusedLogin(attempt: number): Response {
  const wait = waitSeconds(attempt);
  return loginAnswer({
    "auth-status": "Invalid login or password",
    "auth-error-code": "535 5.7.8",
    ...(wait === 0 ? {} : { "auth-wait": String(wait) }),
  });
}

const tryLater = (): Response =>
  loginAnswer({
    "auth-status": "Temporary server problem, try again later",
    "auth-error-code": "451 4.3.2",
    "auth-wait": "3",
  });

function accepted({ address }: LoggedIn, server: Endpoint): Response {
  return loginAnswer({
    "auth-status": "OK",
    "auth-server": server.address,
    "auth-port": String(server.port),
    "auth-user": address,
  });
}

/** The server for a mailbox. Mail to send goes by the domain's dedicated IP, if it has an active one. */
async function serverFor({ domain }: LoggedIn, protocol: Protocol, { table }: MailWork): Promise<Endpoint> {
  const own = protocol === "smtp" ? await relayOf(table, domain) : undefined;
  return own ?? mailServers()[protocol];
}

/** Normalizes the spelling of an address. */
function canonicalUser(user: string): string {
  const address = readAddress(user);
  return address ? `${address.local}@${address.domain}` : user;
}

/**
 * Charges an attempt to its source and to its address, before any expensive work; throws 429. The source is charged
 * first, so that a source at its limit does not use up the address's room.
 */
async function chargeAttempt(user: string, source: string, { table, memory, log, now }: MailWork): Promise<void> {
  const address = createHash("sha256").update(canonicalUser(user)).digest("hex").slice(0, 32);
  const limiter = { table, memory, log, now };
  await charge({ principalId: `login-from/${clientNetwork(source)}`, class: "login_source", cost: 1 }, limiter);
  await charge({ principalId: `login/${address}`, class: "login_address", cost: 1 }, limiter);
}

const protocolOf = (text: string | undefined): Protocol | undefined =>
  text === "smtp" || text === "imap" ? text : undefined;

async function answerLogin({ headers }: MailRequest, work: MailWork) {
  const protocol = protocolOf(headers["auth-protocol"]);
  const user = unescaped(headers["auth-user"] ?? "");
  const password = unescaped(headers["auth-pass"] ?? "");
  const attempt = attemptOf(headers["auth-login-attempt"]);
  const isReadable =
    protocol !== undefined &&
    (headers["auth-method"] ?? "plain") === "plain" &&
    user !== "" &&
    password !== "" &&
    user.length <= longestUser &&
    password.length <= longestUser;
  if (!isReadable) return { response: refusedLogin(attempt), fields: { outcome: "unreadable" } };
  await chargeAttempt(user, headers["client-ip"] ?? "", work);
  const loggedIn = await logIn({ user, password, protocol }, work);
  if (!loggedIn) return { response: refusedLogin(attempt), fields: { outcome: "refused", protocol } };
  return {
    response: accepted(loggedIn, await serverFor(loggedIn, protocol, work)),
    fields: { outcome: "accepted", protocol, account_id: loggedIn.accountId, domain_id: loggedIn.domain.id },
  };
}

/**
 * Answers nginx's mail `auth_http` protocol: whether a password is valid for a mailbox by SMTP or IMAP, and which
 * server to use. The answer is in the headers of a 200, as nginx requires, unless the request did not come from a mail
 * server.
 */
export const handler = mailServerHandler("mail.auth", answerLogin, (problem, requestId) =>
  problem.status === 401 ? { statusCode: 401, headers: { "x-request-id": requestId } } : tryLater(),
);
