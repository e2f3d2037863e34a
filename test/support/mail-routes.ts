import { createHook } from "node:async_hooks";
import { randomBytes } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { handler as auth } from "../../functions/mail/auth.ts";
import { handler as dkim } from "../../functions/mail/dkim.ts";
import { handler as recipient } from "../../functions/mail/recipient.ts";
import { handler as revocations } from "../../functions/mail/revocations.ts";
import { handler as sender } from "../../functions/mail/sender.ts";
import type { Response } from "../../shared/http/response.ts";

type Headers = Record<string, string>;

const key = (): string => process.env["MAIL_SECRET"] ?? "";

const eventOf = (path: string, headers: Headers, rawQueryString: string): APIGatewayProxyEventV2 =>
  ({
    headers,
    rawQueryString,
    routeKey: `GET ${path}`,
    requestContext: { requestId: "r", http: { method: "GET", sourceIp: "127.0.0.1" } },
  }) as unknown as APIGatewayProxyEventV2;

/** A network from which no other test sends requests. */
export const newSource = (): string =>
  `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`;

/** Asks for a login with exactly these headers, as they are on the wire. */
export async function askWith(headers: Headers): Promise<Headers & { status: string }> {
  const answer: Response = await auth(eventOf("/internal/mail/auth", headers, ""));
  return {
    status: String(answer.statusCode),
    ...(answer.headers as Headers),
    ...(answer.body ? { body: answer.body } : {}),
  };
}

/** Asks for a login as nginx does. Request and answer are in headers. */
export const ask = (headers: Headers): Promise<Headers & { status: string }> =>
  askWith({
    "x-mail-key": key(),
    "auth-method": "plain",
    "auth-protocol": "smtp",
    "auth-login-attempt": "1",
    "client-ip": newSource(),
    ...headers,
  });

/** Whether a login by a protocol succeeds, by default from a network of its own. */
export async function logsIn(user: string, pass: string, protocol = "smtp", source = newSource()): Promise<boolean> {
  const escaped = (text: string) => text.replaceAll(/[^\x21-\x7e]|%/gu, (one) => encodeURIComponent(one));
  const answer = await ask({
    "auth-user": escaped(user),
    "auth-pass": escaped(pass),
    "auth-protocol": protocol,
    "client-ip": source,
  });
  return answer["auth-status"] === "OK";
}

const mailRoutes = { recipient, sender, dkim, revocations } as const;

type MailRouteAnswer = { status: number | undefined; headers: Headers; body: Record<string, unknown> };

/** Asks a route by GET. The query is as it is on the wire. */
export async function askMailRoute(
  name: keyof typeof mailRoutes,
  query: string,
  headers: Headers = { "x-mail-key": key() },
): Promise<MailRouteAnswer> {
  const answer: Response = await mailRoutes[name](eventOf(`/internal/mail/${name}`, headers, query));
  const { statusCode: status, body = "{}" } = answer;
  return { status, headers: answer.headers as Headers, body: JSON.parse(body) as Record<string, unknown> };
}

/**
 * Asks for the recipient of an address. `query` is the text after `address=`. `status` is the status of the answer, and
 * `mailbox_status` the status of the mailbox.
 */
export async function whereTo(query: string, headers?: Headers): Promise<Record<string, unknown>> {
  const { status, body } = await askMailRoute("recipient", `address=${query}`, headers);
  const { status: mailbox_status, ...members } = body;
  return { status, ...(typeof mailbox_status === "string" ? { mailbox_status } : {}), ...members };
}

/** Whether a login may send from an address: `allowed`, or the code of the reason against it. */
export async function sendsAs(login: string, from: string): Promise<string> {
  const { status, body } = await askMailRoute("sender", new URLSearchParams({ login, from }).toString());
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body["allowed"] === true ? "allowed" : (body["reason"] as { code: string }).code;
}

/** Counts the passwords that are hashed while `work` runs. */
export async function hashesDuring(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const hook = createHook({
    init: (_, type) => {
      if (type.startsWith("ARGON2")) count++;
    },
  });
  hook.enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return count;
}
