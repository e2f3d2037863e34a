import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { namedSecret } from "../named-secret.ts";
import {
  MailRefused,
  type Letter,
  type Mail,
  type MailEnvironment,
  domainOf,
  type MailSender,
  automaticMailHeaders,
  messageIdOf,
} from "./mail.ts";
import { readSmtpUrl, type SmtpServer } from "./smtp-url.ts";

export type SmtpOptions = {
  /** The time limit for the connection and its TLS handshake, in milliseconds. */
  connectTimeoutMs?: number;
  /** The time limit for the whole delivery, in milliseconds. */
  timeoutMs?: number;
  /** Certificates to trust instead of Node's own, as PEM. */
  ca?: string;
};

/**
 * Returns a function that reads the SMTP server from the environment's URL. A URL that was fetched from Secrets Manager
 * is used for 5 minutes, and then fetched again. Throws if the environment has no URL.
 */
export function smtpServer({ SMTP_URL_SECRET_NAME: name, SMTP_URL: url }: MailEnvironment): () => Promise<SmtpServer> {
  if (name !== undefined) return namedSecret(name, readSmtpUrl, "an smtp:// or smtps:// URL");
  if (url === undefined) throw new Error("No SMTP server is configured. Set SMTP_URL_SECRET_NAME or SMTP_URL.");
  return async () => readSmtpUrl(url);
}

/** The bytes of a letter (RFC 5322, multipart/alternative): its text, and the same content as HTML. */
const messageOf = ({ id, to, subject, text, html }: Letter, sender: MailSender): Promise<Buffer> =>
  new MailComposer({
    from: sender,
    to: { name: "", address: to },
    subject,
    text,
    html,
    messageId: messageIdOf({ id }, sender),
    headers: { ...automaticMailHeaders },
  })
    .compile()
    .build();

/** Calls the SMTP client with a callback, and returns the result as a promise. */
const promiseOf = <T = unknown>(
  work: (done: (error?: Error | null, value?: T) => void) => void,
): Promise<T | undefined> =>
  new Promise((resolve, reject) => work((error, value) => (error ? reject(error) : resolve(value))));

/** Connects, logs in if the server has a login, and sends one message. */
async function deliver(connection: SMTPConnection, { login }: SmtpServer, from: string, to: string, message: Buffer) {
  await promiseOf((done) => connection.connect(done));
  if (login) {
    await promiseOf((done) => connection.login({ credentials: { user: login.user, pass: login.password } }, done));
  }
  await promiseOf((done) => connection.send({ from, to: [to], size: message.length }, message, done));
}

/** An error of the SMTP client. `command` is the SMTP command that failed, and `response` the reply of the server. */
const SmtpFailure = z.object({
  code: z.string().catch(""),
  originalCode: z.string().optional().catch(undefined),
  responseCode: z.number().optional().catch(undefined),
  command: z.string().catch(""),
  response: z.string().catch(""),
});

const mailUnavailable = (): Problem =>
  new Problem("upstream_unavailable", "The mail server does not answer, or accepts no mail at the moment.", {
    retry_after: 30,
  });

/**
 * If the server answers one of these commands with 5yz, it refuses the letter. If it answers any other command with
 * 5yz, it refuses us as a client.
 */
const letterCommands = new Set(["RCPT TO", "DATA"]);

/**
 * The error for the caller:
 * - `MailRefused` if the server refuses the letter permanently;
 * - an Error if the server refuses us, if the server's certificate is not trusted, or if the server offers no login
 *   method that we support;
 * - 503 `upstream_unavailable` otherwise, also for the reply 503 (bad sequence of commands, RFC 5321 §4.2.3).
 *
 * The message of the error has the codes of the reply. It has no other text of the reply, because this text can repeat
 * an address or a name.
 */
function failureOf(error: unknown): Error {
  const { success, data } = SmtpFailure.safeParse(error);
  if (!success) return error instanceof Error ? error : new Error("The mail could not be sent.");
  const { code, originalCode, responseCode = 0, command, response } = data;
  if (responseCode >= 500 && responseCode !== 503) {
    const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
    const reply = enhanced === undefined ? String(responseCode) : `${responseCode} ${enhanced}`;
    return letterCommands.has(command)
      ? new MailRefused(`The mail server answered ${reply} to ${command}.`)
      : new Error(`The mail server refuses our mail: it answered ${reply} to ${command}.`);
  }
  const isUntrusted = /CERT|SELF_SIGNED|UNABLE_TO/.test(originalCode ?? "");
  if (isUntrusted) return new Error(`The mail server's certificate is not trusted: ${originalCode}.`);
  if (code === "EAUTH" && responseCode === 0)
    return new Error("The mail server offers no login method that we support.");
  return mailUnavailable();
}

/** Sends a letter over a connection of its own. Rejects when `timeoutMs` have passed, or the connection ends early. */
async function submit(server: SmtpServer, letter: Letter, sender: MailSender, options: Required<SmtpOptions>) {
  const { connectTimeoutMs, timeoutMs, ca } = options;
  const message = await messageOf(letter, sender);
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.tls === "implicit",
    requireTLS: server.tls === "required",
    ignoreTLS: server.tls === "off",
    name: domainOf(sender.address),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    socketTimeout: timeoutMs,
    tls: { minVersion: "TLSv1.2", ...(ca === "" ? {} : { ca }) },
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  connection.on("error", reject);
  connection.once("end", () => reject(mailUnavailable()));
  const timer = setTimeout(() => reject(mailUnavailable()), timeoutMs);
  try {
    await Promise.race([deliver(connection, server, sender.address, letter.to, message), failed]);
    connection.quit();
  } catch (error) {
    connection.close();
    throw error instanceof Problem ? error : failureOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Sends mail by an SMTP server (RFC 5321), with a new connection for each letter. The time limit is 5 seconds for a
 * connection and 10 seconds for a delivery, unless `options` say otherwise.
 */
export function smtpMail(server: () => Promise<SmtpServer>, sender: MailSender, options: SmtpOptions = {}): Mail {
  const given = { connectTimeoutMs: 5_000, timeoutMs: 10_000, ca: "", ...options };
  return { send: async (letter) => submit(await server(), letter, sender, given) };
}
