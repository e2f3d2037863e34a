import { createHook } from "node:async_hooks";
import { randomBytes } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { handler as auth } from "../../functions/mail/auth.ts";
import { handler as recipient } from "../../functions/mail/recipient.ts";
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

/** A network that nobody else asks from. */
export const newSource = (): string =>
  `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`;

/** Asks who may log in, with these headers and no others, as they are on the wire. */
export async function askWith(headers: Headers): Promise<Headers & { status: string }> {
  const answer: Response = await auth(eventOf("/internal/mail/auth", headers, ""));
  return {
    status: String(answer.statusCode),
    ...(answer.headers as Headers),
    ...(answer.body ? { body: answer.body } : {}),
  };
}

/** Asks as nginx does: everything is in headers, both ways. */
export const ask = (headers: Headers): Promise<Headers & { status: string }> =>
  askWith({
    "x-mail-key": key(),
    "auth-method": "plain",
    "auth-protocol": "smtp",
    "auth-login-attempt": "1",
    "client-ip": newSource(),
    ...headers,
  });

/** Whether somebody is let in by a protocol. */
export async function logsIn(user: string, pass: string, protocol = "smtp"): Promise<boolean> {
  const escaped = (text: string) => text.replaceAll(/[^\x21-\x7e]|%/gu, (one) => encodeURIComponent(one));
  const answer = await ask({ "auth-user": escaped(user), "auth-pass": escaped(pass), "auth-protocol": protocol });
  return answer["auth-status"] === "OK";
}

/** Where mail for an address goes; the query is what follows `address=`. */
export async function whereTo(query: string, headers: Headers = { "x-mail-key": key() }) {
  const { statusCode, body = "" } = await recipient(eventOf("/internal/mail/recipient", headers, `address=${query}`));
  return { status: statusCode, ...(JSON.parse(body) as { kind?: unknown; [member: string]: unknown }) };
}

/** How many passwords are hashed meanwhile. */
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
