import type { Endpoint } from "../../shared/core/endpoint.ts";
import { Problem } from "../../shared/core/errors.ts";
import { relayOf } from "../../shared/dedicated-ips/relay.ts";
import { holderKey } from "../../shared/domains/domain.ts";
import { json, type Response } from "../../shared/http/response.ts";
import { mailServerHandler, type MailRequest, type MailWork } from "../../shared/mail/servers/handler.ts";
import { addressOf, logIn, type LoggedIn, type Protocol, protocols } from "../../shared/mail/servers/log-in.ts";
import {
  chargeAddress,
  chargeSource,
  lastLoginFrom,
  loginSource,
  noteLogin,
  sourceKey,
} from "../../shared/mail/servers/login-limits.ts";
import { mailServers } from "../../shared/mail/servers/platform.ts";
import { batchReads } from "../../shared/table/batch-reads.ts";
import { readAhead } from "../../shared/table/read-ahead.ts";
import { SeenItems } from "../../shared/table/seen-items.ts";

/** The longest user name and the longest password, in characters. */
const longestText = 1_000;

/** Decodes a header, whose value nginx percent-encodes. Returns a malformed value unchanged. */
function decodeHeader(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The number of attempts after which nginx closes a connection. nginx keeps memory for each attempt until it closes the
 * connection, so more attempts would take more memory.
 */
const mostAttempts = 10;

/**
 * The header that makes nginx delay a refusal, to slow down guessing. The delay doubles with each attempt on a
 * connection, until it is 16 times the first delay or 30 seconds. Without the header, nginx closes the
 * connection after the refusal.
 */
function waitHeader(firstSeconds: number, attempt: number): Record<string, string> {
  const seconds = Math.min(30, firstSeconds * 2 ** Math.min(attempt - 1, 4));
  return seconds === 0 || attempt >= mostAttempts ? {} : { "auth-wait": String(seconds) };
}

/** The number of the attempt on its connection, from 1; 1 if the header is missing or malformed. */
const attemptOf = ({ headers }: Pick<MailRequest, "headers">): number => {
  const text = headers["auth-login-attempt"] ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
};

/** A refusal in words, its code in each protocol, and the delay after the first attempt of a connection, in seconds. */
type Refusal = { words: string; smtp: string; imap: string; pop3: string; firstWait: number };

/**
 * The answer that refuses a login. SMTP has its code in a header of its own. For IMAP and POP3 the text begins with a
 * response code (RFC 5530 §3, RFC 3206 §4), which nginx passes on. The code tells mail programs whether to ask for the
 * password again.
 */
function refusal({ words, smtp, firstWait, ...codes }: Refusal, request: MailRequest): Response {
  const protocol = request.headers["auth-protocol"];
  const code = protocol === "imap" || protocol === "pop3" ? `[${codes[protocol]}] ` : "";
  return {
    statusCode: 200,
    headers: {
      "auth-status": `${code}${words}`,
      "auth-error-code": smtp,
      ...waitHeader(firstWait, attemptOf(request)),
    },
  };
}

const refusedLogin = (request: MailRequest): Response => {
  const codes = { smtp: "535 5.7.8", imap: "AUTHENTICATIONFAILED", pop3: "AUTH" };
  const firstWait = mailServers().loginWaitSeconds;
  return refusal({ words: "Invalid login or password", ...codes, firstWait }, request);
};

const tryLater = (request: MailRequest): Response => {
  const codes = { smtp: "451 4.3.2", imap: "UNAVAILABLE", pop3: "SYS/TEMP" };
  const words = "Temporary server problem, try again later";
  return refusal({ words, ...codes, firstWait: 3 }, request);
};

/** nginx reads the headers. Other mail servers can read the mailbox in the body. */
function acceptedLogin({ address, accountId, mailbox: { id, quota } }: LoggedIn, server: Endpoint): Response {
  const body = { mailbox_id: id, account_id: accountId, address, quota_bytes: quota };
  return json(200, body, {
    "auth-status": "OK",
    "auth-server": server.address,
    "auth-port": String(server.port),
    "auth-user": address,
    "x-mailbox-id": id,
    "x-account-id": accountId,
    "x-quota-bytes": String(quota),
  });
}

/**
 * The server to which nginx connects a login. For SMTP, this is the relay of the domain's managed dedicated IP, if the
 * domain has an active managed dedicated IP.
 */
async function serverFor({ domain }: LoggedIn, protocol: Protocol, { table }: MailWork): Promise<Endpoint> {
  const relay = protocol === "smtp" ? await relayOf(table, domain) : undefined;
  return relay ?? mailServers()[protocol];
}

const protocolOf = (text: string | undefined): Protocol | undefined => protocols.find((one) => one === text);

async function answerLogin(request: MailRequest, work: MailWork) {
  const { headers } = request;
  const protocol = protocolOf(headers["auth-protocol"]);
  const user = decodeHeader(headers["auth-user"] ?? "");
  const password = decodeHeader(headers["auth-pass"] ?? "");
  const isReadable =
    protocol !== undefined &&
    (headers["auth-method"] ?? "plain") === "plain" &&
    user !== "" &&
    password !== "" &&
    user.length <= longestText &&
    password.length <= longestText;
  if (!isReadable) return { response: refusedLogin(request), fields: { outcome: "unreadable" } };
  const source = loginSource(user, headers["client-ip"] ?? "");
  await chargeSource(source, work);
  // The source of the login and the holder of the domain are read in one round trip.
  const keys = [sourceKey(source), holderKey(addressOf(user).domain)];
  const table = readAhead(batchReads(work.table, new SeenItems()), { keys });
  const last = await lastLoginFrom(table, source, work.now());
  // The limit for the address counts only attempts from networks without a recent login to this address.
  if (!last) await chargeAddress(source, work);
  const loggedIn = await logIn({ user, password, protocol }, { ...work, table });
  if (!loggedIn) return { response: refusedLogin(request), fields: { outcome: "refused", protocol } };
  // A login by a master password does not make the client's network known for the address. Otherwise the holder of the
  // master password could guess the passwords of mailboxes from this network, without the limit for the address.
  if (!loggedIn.isByMaster) await noteLogin(source, last, work);
  return {
    response: acceptedLogin(loggedIn, await serverFor(loggedIn, protocol, work)),
    fields: { outcome: "accepted", protocol, account_id: loggedIn.accountId, domain_id: loggedIn.domain.id },
  };
}

/**
 * Answers nginx's mail `auth_http` protocol: whether a password is valid for a mailbox by SMTP, IMAP or POP3, and
 * which server to use. The answer is in the headers of a 200, as nginx requires. Only a request that does not come from
 * a mail server gets 401.
 */
export const handler = mailServerHandler("mail.auth", answerLogin, (problem, requestId, request) =>
  problem instanceof Problem && problem.status === 401
    ? { statusCode: 401, headers: { "x-request-id": requestId } }
    : tryLater(request),
);
