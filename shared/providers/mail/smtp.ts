import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { namedSecret } from "../named-secret.ts";
import { automatic, messageIdOf } from "./headers.ts";
import { MailRefused, type Letter, type Mail, type MailEnvironment } from "./mail.ts";
import { domainOf, type MailSender } from "./sender.ts";
import { readSmtpUrl, type SmtpServer } from "./smtp-url.ts";

export type SmtpOptions = {
  /** The time limits for the connection with its TLS, and for the whole delivery. */
  connectTimeoutMs?: number;
  timeoutMs?: number;
  /** Certificates to trust instead of Node's own, as PEM. */
  ca?: string;
};

/**
 * The SMTP server that the environment configures. A URL in Secrets Manager is read as `namedSecret` says.
 */
export function smtpServer({ SMTP_URL_SECRET_NAME: name, SMTP_URL: url }: MailEnvironment): () => Promise<SmtpServer> {
  if (name !== undefined) return namedSecret(name, readSmtpUrl, "an smtp:// or smtps:// URL");
  if (url === undefined) throw new Error("No SMTP server is configured. Set SMTP_URL_SECRET_NAME or SMTP_URL.");
  return async () => readSmtpUrl(url);
}

/** The letter as bytes (RFC 5322): a text part, and the same content as HTML. */
const composed = ({ id, to, subject, text, html }: Letter, sender: MailSender): Promise<Buffer> =>
  new MailComposer({
    from: sender,
    to: { name: "", address: to },
    subject,
    text,
    html,
    messageId: messageIdOf({ id }, sender),
    headers: { ...automatic },
  })
    .compile()
    .build();

/** Turns a callback of the SMTP client into a promise. */
const settled = <T = unknown>(
  work: (done: (error?: Error | null, value?: T) => void) => void,
): Promise<T | undefined> =>
  new Promise((resolve, reject) => work((error, value) => (error ? reject(error) : resolve(value))));

async function talk(connection: SMTPConnection, { login }: SmtpServer, from: string, to: string, message: Buffer) {
  await settled((done) => connection.connect(done));
  if (login) {
    await settled((done) => connection.login({ credentials: { user: login.user, pass: login.password } }, done));
  }
  await settled((done) => connection.send({ from, to: [to], size: message.length }, message, done));
}

/** An error of the SMTP client. */
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

/** A 5yz reply to one of these commands refuses the letter. A 5yz reply to any other command refuses us. */
const aboutLetter = new Set(["RCPT TO", "DATA"]);

/** The error for the caller. It has no text of the server's reply, because that can repeat an address or a name. */
function failureOf(error: unknown): Error {
  const { success, data } = SmtpFailure.safeParse(error);
  if (!success) return error instanceof Error ? error : new Error("The mail could not be sent.");
  const { code, originalCode, responseCode = 0, command, response } = data;
  if (responseCode >= 500 && responseCode !== 503) {
    const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
    const reply = enhanced === undefined ? String(responseCode) : `${responseCode} ${enhanced}`;
    return aboutLetter.has(command)
      ? new MailRefused(`The mail server answered ${reply} to ${command}.`)
      : new Error(`The mail server refuses our mail: it answered ${reply} to ${command}.`);
  }
  const isUntrusted = /CERT|SELF_SIGNED|UNABLE_TO/.test(originalCode ?? "");
  if (isUntrusted) return new Error(`The mail server's certificate is not trusted: ${originalCode}.`);
  if (code === "EAUTH" && responseCode === 0)
    return new Error("The mail server offers no login method that we support.");
  return mailUnavailable();
}

async function submit(server: SmtpServer, letter: Letter, sender: MailSender, options: Required<SmtpOptions>) {
  const { connectTimeoutMs, timeoutMs, ca } = options;
  const message = await composed(letter, sender);
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
    await Promise.race([talk(connection, server, sender.address, letter.to, message), failed]);
    connection.quit();
  } catch (error) {
    connection.close();
    throw error instanceof Problem ? error : failureOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Sends mail by an SMTP server, with a new connection for each letter. */
export function smtpMail(server: () => Promise<SmtpServer>, sender: MailSender, options: SmtpOptions = {}): Mail {
  const given = { connectTimeoutMs: 5_000, timeoutMs: 10_000, ca: "", ...options };
  return { send: async (letter) => submit(await server(), letter, sender, given) };
}
