import { expect, test } from "vitest";

import { handler } from "../../../functions/mail/auth.ts";
import { active } from "../../support/domains.ts";
import { request } from "../../support/request.ts";
import { newAccount, type Account } from "../../support/world.ts";

type Headers = Record<string, string>;

const key = process.env["MAIL_SECRET"] ?? "";

/** Asks as nginx does: everything is in headers, both ways. */
export async function ask(headers: Headers): Promise<Headers & { status: string }> {
  const all: Headers = {
    "x-mail-key": key,
    "auth-method": "plain",
    "auth-protocol": "smtp",
    "auth-login-attempt": "1",
    "client-ip": "192.0.2.1",
    ...headers,
  };
  const event = {
    headers: all,
    rawQueryString: "",
    routeKey: "GET /internal/mail/auth",
    requestContext: { requestId: "r", http: { method: "GET", sourceIp: "127.0.0.1" } },
  };
  const answer = await handler(event as never);
  return { status: String(answer.statusCode), ...(answer.headers as Headers) };
}

const send = async ({ id, owner }: Account, method: string, path: string, body?: unknown) =>
  request(method, `/v1/public/accounts/${id}/${path}`, { token: owner.token, body });

async function newMailbox(account: Account): Promise<{ id: string; email: string; password: string; domain: string }> {
  const { name: domain } = await active(account);
  const body = { domain, local_part: "ada", first_name: "Ada", last_name: "L" };
  const { id } = (await send(account, "POST", "mailboxes", body)).body;
  const { email, password } = (await send(account, "POST", `mailboxes/${id}/reveal-credentials`)).body;
  return { id, email, password, domain };
}

test("lets the mailbox's password in by SMTP and IMAP, by its address and its aliases, in any case", async () => {
  const account = await newAccount();
  const { id, email, password, domain } = await newMailbox(account);
  await send(account, "POST", `mailboxes/${id}/aliases`, { alias: "countess" });
  const smtp = await ask({ "auth-user": email, "auth-pass": password });
  expect(smtp).toMatchObject({ status: "200", "auth-status": "OK", "auth-server": "127.0.0.1", "auth-port": "2525" });
  const imap = await ask({ "auth-user": email.toUpperCase(), "auth-pass": password, "auth-protocol": "imap" });
  expect(imap).toMatchObject({ "auth-status": "OK", "auth-port": "1143", "auth-user": email });
  const alias = await ask({ "auth-user": `countess@${domain}`, "auth-pass": password });
  expect(alias).toMatchObject({ "auth-status": "OK", "auth-user": email });
});
