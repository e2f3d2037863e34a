import type { Server } from "node:net";

import type { Api } from "./api.ts";
import { startLineServer } from "./lines.ts";
import { isAddress } from "./maps.ts";
import { readSession, type Sessions } from "./sessions.ts";
import { sizeOf } from "./usage.ts";

type Request = Record<string, string>;
type PolicyWork = { api: Api; sessions: Sessions; store: string };

/**
 * Reads the first request in some bytes: lines with `name=value`, and then an empty line. Undefined while the request
 * is not complete.
 */
function takeRequest(bytes: Buffer): { question: Request; rest: Buffer } | undefined {
  const end = bytes.indexOf("\n\n");
  if (end < 0) {
    if (bytes.length > 100_000) throw new Error("The request is too long.");
    return undefined;
  }
  const lines = bytes.subarray(0, end).toString().split("\n");
  const question = Object.fromEntries(lines.map((line) => [line.split("=", 1)[0], line.replace(/^[^=]*=/, "")]));
  return { question, rest: bytes.subarray(end + 2) };
}

/** The SMTP codes of refusals, by the API's code (docs/mail-servers.md). Every other refusal has `550 5.7.1`. */
const replies: Record<string, string> = {
  not_yours: "553 5.7.1",
  bad_recipient: "553 5.1.3",
  warm_up_limit: "451 4.7.1",
};

/**
 * Quotes the local part of an address if it needs quotes (RFC 5321 §4.1.2). Postfix tells its policy service every
 * address without quotes.
 */
function quoteLocal(address: string): string {
  const [, local = "", domain = ""] = /^(.*)@([^@]*)$/.exec(address) ?? [];
  return /[\s"\\()<>[\]:;,@]/.test(local) ? `"${local.replaceAll(/["\\]/g, "\\$&")}"@${domain}` : address;
}

/** Decides whether the user of a session may send a letter to a recipient. Returns the action for Postfix. */
async function judgeSender(
  { sasl_username: name = "", sender = "", recipient = "" }: Request,
  { api, sessions }: PolicyWork,
): Promise<string> {
  const session = readSession(name);
  if (!session || sessions.isRevoked(session)) return "421 4.7.0 Log in again.";
  const { allowed, reason } = await api.sender(session.login, sender, quoteLocal(recipient));
  if (allowed) return "DUNNO";
  const { code = "", message = "This is not allowed." } = reason ?? {};
  return `${replies[code] ?? "550 5.7.1"} ${message}`;
}

/**
 * Decides whether a mailbox has room for an incoming letter. Uses the API's answer and the size that Dovecot counts.
 * Returns the action for Postfix.
 */
async function judgeRecipient({ recipient = "", size = "0" }: Request, { api, store }: PolicyWork): Promise<string> {
  if (!isAddress(recipient)) return "DUNNO";
  const { is_full: isFull, keep_copy = true, ...found } = await api.recipient(recipient);
  const { account_id: account, mailbox_id: mailbox, quota_bytes: quota } = found;
  if (account === undefined || mailbox === undefined || quota === undefined || !keep_copy) return "DUNNO";
  const hasRoom = isFull !== true && (await sizeOf(store, account, mailbox)) + Number(size) <= quota;
  return hasRoom ? "DUNNO" : "452 4.2.2 The mailbox is full.";
}

/**
 * Starts Postfix's policy service (SMTPD_POLICY_README). The outgoing Postfix asks about mail from a user who has
 * logged in, and sends the user name in `sasl_username`. The Postfix for incoming mail asks about a recipient.
 */
export const startPolicy = (port: number, work: PolicyWork): Promise<Server> =>
  startLineServer(port, takeRequest, async (request) => {
    const judge = request["sasl_username"] ? judgeSender : judgeRecipient;
    const action = await judge(request, work).catch(() => "451 4.3.0 Try again later.");
    return `action=${action}\n\n`;
  });
