import { expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { MailEnvironment, MailRefused, type Letter } from "../../../../shared/providers/mail/mail.ts";
import { readSmtpUrl } from "../../../../shared/providers/mail/smtp-url.ts";
import { smtpMail, smtpServer, type SmtpOptions } from "../../../../shared/providers/mail/smtp.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { certificateFor } from "../../webhooks/certificate.ts";
import { headerOf, partsOf, readEntity, textOf, wordsOf } from "../mail-message.ts";
import { reply, startRaw, startSmtp, type Received } from "../mail-services.ts";

const sender = { name: "Hosted Mail", address: "no-reply@mail.example" };
const letter: Letter = {
  id: "0198c2f0-0000-7000-8000-000000000001",
  to: "ada@example.net",
  subject:
    "Dürfen Kopien zu Ihnen kommen? – ✉ a subject that is longer than a line of a header may be, so it is folded",
  text: "Grüße,\n.\n.. a line that begins with dots\nFrom here\n" + "x".repeat(1_200) + "\n",
  html: "<!doctype html><p>Grüße ✉</p>\n.\n<p>end</p>",
};
const tls = certificateFor("localhost");

const mailTo = (url: string, options: SmtpOptions = {}) => smtpMail(async () => readSmtpUrl(url), sender, options);
const unavailable = { code: "upstream_unavailable", status: 503, extras: { retry_after: 30 } };

const only = (received: Received[]): Received => {
  const [first, ...more] = received;
  if (!first || more.length > 0) throw new Error(`${received.length} mails`);
  return first;
};

test("a letter arrives unchanged, as text and as HTML, at its one recipient", async () => {
  const { port, received } = await startSmtp();
  await mailTo(`smtp://127.0.0.1:${port}`).send(letter);
  const { raw, from, to } = only(received);
  expect([from, to]).toEqual([sender.address, [letter.to]]);
  const mail = readEntity(raw);
  expect(headerOf(mail, "from")).toBe("Hosted Mail <no-reply@mail.example>");
  expect(headerOf(mail, "to")).toBe("ada@example.net");
  expect(wordsOf(headerOf(mail, "subject"))).toBe(letter.subject);
  expect(headerOf(mail, "mime-version")).toBe("1.0");
  expect(headerOf(mail, "content-type")).toMatch(/^multipart\/alternative;/);
  const [plain, html, ...more] = partsOf(mail);
  if (!plain || !html) throw new Error("parts are missing");
  expect(more).toEqual([]);
  expect(headerOf(plain, "content-type")).toBe("text/plain; charset=utf-8");
  expect(textOf(plain).replaceAll("\r\n", "\n").trimEnd()).toBe(letter.text.trimEnd());
  expect(headerOf(html, "content-type")).toBe("text/html; charset=utf-8");
  expect(textOf(html).replaceAll("\r\n", "\n")).toBe(letter.html);
  expect(Math.max(...raw.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(998);
});

test("a letter is marked as automatic, and has the same Message-ID each time it is sent", async () => {
  const { port, received } = await startSmtp();
  const mail = mailTo(`smtp://127.0.0.1:${port}`);
  await mail.send(letter);
  await mail.send(letter);
  const headers = received.map(({ raw }) => readEntity(raw));
  expect(headers.map((one) => headerOf(one, "message-id"))).toEqual([
    `<${letter.id}@mail.example>`,
    `<${letter.id}@mail.example>`,
  ]);
  for (const one of headers) {
    expect(headerOf(one, "auto-submitted")).toBe("auto-generated");
    expect(headerOf(one, "precedence")).toBe("bulk");
    expect(Date.parse(headerOf(one, "date"))).toBeGreaterThan(Date.now() - 60_000);
  }
});

test.each([
  [
    "RCPT",
    { onRcptTo: (_, __, done) => done(reply(550, "5.1.1 <ada@example.net> has no mailbox")) },
    "550 5.1.1 to RCPT TO",
  ],
  ["RCPT, without an enhanced code", { onRcptTo: (_, __, done) => done(reply(553, "No")) }, "553 to RCPT TO"],
  [
    "DATA",
    { onData: (stream, _, done) => stream.resume().on("end", () => done(reply(554, "5.7.1 spam"))) },
    "554 5.7.1 to DATA",
  ],
] as [string, Parameters<typeof startSmtp>[0], string][])(
  "a 5yz answer to %s refuses the letter for good, and the error does not show the recipient",
  async (_, options, reason) => {
    const { port } = await startSmtp(options);
    const error = await thrownBy(mailTo(`smtp://127.0.0.1:${port}`).send(letter));
    expect(error).toBeInstanceOf(MailRefused);
    expect(error).toMatchObject({ message: `The mail server answered ${reason}.` });
  },
);

test.each([
  ["a greeting of 421", { onConnect: (_, done) => done(reply(421, "4.3.2 later")) }],
  ["a 4yz answer to MAIL FROM", { onMailFrom: (_, __, done) => done(reply(451, "4.3.0 later")) }],
  ["a 4yz answer to RCPT TO", { onRcptTo: (_, __, done) => done(reply(450, "4.2.1 greylisted")) }],
  [
    "a 4yz answer to DATA",
    { onData: (stream, _, done) => stream.resume().on("end", () => done(reply(452, "4.3.1 full"))) },
  ],
] as [string, Parameters<typeof startSmtp>[0]][])("%s causes a 503", async (_, options) => {
  const { port } = await startSmtp(options);
  const error = await thrownBy(mailTo(`smtp://127.0.0.1:${port}`).send(letter));
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject(unavailable);
});

test("a server that does not accept mail from us is our own mistake, and not a refusal of the letter", async () => {
  const { port } = await startSmtp({ onMailFrom: (_, __, done) => done(reply(553, "5.7.1 not yours")) });
  const error = await thrownBy(mailTo(`smtp://127.0.0.1:${port}`).send(letter));
  expect(error).not.toBeInstanceOf(MailRefused);
  expect(error).not.toBeInstanceOf(Problem);
  expect(error).toMatchObject({ message: "The mail server refuses our mail: it answered 553 5.7.1 to MAIL FROM." });
});

test.each([
  ["no server listens", async () => ({ port: 1 })],
  ["it says nothing", () => startRaw()],
  ["it hangs up", () => startRaw("")],
  ["it speaks something else", () => startRaw("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["it stops in the middle of the mail", () => startSmtp({ onData: (stream) => void stream.resume() })],
] as [string, () => Promise<{ port: number }>][])("the mail server is unavailable if %s", async (_, start) => {
  const { port } = await start();
  const options = { connectTimeoutMs: 150, timeoutMs: 300 };
  expect(await thrownBy(mailTo(`smtp://127.0.0.1:${port}`, options).send(letter))).toMatchObject(unavailable);
});

const login = { authOptional: false, disabledCommands: [], ...tls };

test("the login in the URL is sent only after STARTTLS", async () => {
  const { port, received } = await startSmtp({
    ...login,
    allowInsecureAuth: false,
    onAuth: ({ username, password }, _, done) =>
      password === "p@ss/wörd" ? done(null, { user: username }) : done(new Error("Invalid login")),
  });
  const url = `smtp://re%3Alay:p%40ss%2Fw%C3%B6rd@localhost:${port}?tls=required`;
  await mailTo(url, { ca: tls.cert }).send(letter);
  expect(only(received)).toMatchObject({ user: "re:lay", isSecure: true });
});

test("a wrong password is our own mistake, and the error does not show the password", async () => {
  const { port } = await startSmtp({ ...login, onAuth: (_, __, done) => done(reply(535, "5.7.8 relay:hunter2?")) });
  const url = `smtp://relay:hunter2@localhost:${port}?tls=required`;
  const error = await thrownBy(mailTo(url, { ca: tls.cert }).send(letter));
  expect(error).not.toBeInstanceOf(MailRefused);
  expect(error).toMatchObject({ message: "The mail server refuses our mail: it answered 535 5.7.8 to AUTH PLAIN." });
  expect(error instanceof Error ? error.stack : "").not.toContain("hunter2");
});

test("nothing is sent to a server that offers no STARTTLS, unless the URL says so", async () => {
  let logins = 0;
  const onAuth: NonNullable<Parameters<typeof startSmtp>[0]>["onAuth"] = ({ username }, _, done) => {
    logins += 1;
    done(null, { user: username });
  };
  const { port, received } = await startSmtp({ onAuth, authOptional: false, allowInsecureAuth: true });
  const error = await thrownBy(mailTo(`smtp://a:b@127.0.0.1:${port}?tls=required`).send(letter));
  expect(error).toMatchObject({ message: "The mail server refuses our mail: it answered 500 to STARTTLS." });
  expect([logins, received]).toEqual([0, []]);
  await mailTo(`smtp://a:b@127.0.0.1:${port}?tls=off`).send(letter);
  expect(only(received)).toMatchObject({ user: "a", isSecure: false });
});

test.each(["required", "implicit"])(
  "a letter is not sent to a server with an untrusted certificate, if TLS is %s",
  async (kind) => {
    const isImplicit = kind === "implicit";
    const { port, received } = await startSmtp({ ...tls, secure: isImplicit, disabledCommands: [] });
    const url = isImplicit ? `smtps://localhost:${port}` : `smtp://localhost:${port}?tls=required`;
    expect(await thrownBy(mailTo(url).send(letter))).toMatchObject({
      message: "The mail server's certificate is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT.",
    });
    await mailTo(url, { ca: tls.cert }).send(letter);
    expect(only(received).isSecure).toBe(true);
  },
);

test.each([
  ["smtp://mx.example.net", { host: "mx.example.net", port: 587, tls: "required" }],
  ["smtp://mx.example.net?tls=off", { host: "mx.example.net", port: 587, tls: "off" }],
  ["smtps://MX.example.net/", { host: "mx.example.net", port: 465, tls: "implicit" }],
  ["smtp://127.0.0.1:1025", { host: "127.0.0.1", port: 1025, tls: "off" }],
  ["smtp://[::1]:1025?tls=required\n", { host: "::1", port: 1025, tls: "required" }],
  ["smtp://localhost", { host: "localhost", port: 587, tls: "off" }],
  ["smtp://127.0.0.1.example.net", { host: "127.0.0.1.example.net", port: 587, tls: "required" }],
  [
    "smtps://user%40example.net:a%3Ab%2Fc@mx.example.net:2465",
    { host: "mx.example.net", port: 2465, tls: "implicit", login: { user: "user@example.net", password: "a:b/c" } },
  ],
])("the URL %s is read", (url, server) => {
  expect(readSmtpUrl(url)).toEqual(server);
});

test.each([
  "",
  "mx.example.net",
  "http://mx.example.net",
  "smtp://",
  "smtp://user:pa#ss@mx.example.net",
  "smtp://mx.example.net/path",
  "smtp://mx.example.net?tls=maybe",
  "smtp://mx.example.net?pool=true",
  "smtps://mx.example.net?tls=off",
])("%j is not the URL of a server, and the error does not repeat it", (url) => {
  expect(() => readSmtpUrl(url)).toThrow(
    /^The URL is not of the form smtp:\/\/user:password@host:port or smtps:\/\/…\.$/,
  );
});

test("the server is in SMTP_URL or in a secret, and not in both; without it the error names the missing setting", async () => {
  const env = MailEnvironment.parse({ MAIL_PROVIDER: "smtp", SMTP_URL: "smtp://127.0.0.1:1025" });
  expect(await smtpServer(env)()).toMatchObject({ port: 1025 });
  expect(() => smtpServer(MailEnvironment.parse({ MAIL_PROVIDER: "smtp" }))).toThrow("SMTP_URL");
  const both = { SMTP_URL: "smtp://127.0.0.1", SMTP_URL_SECRET_NAME: "smtp" };
  expect(MailEnvironment.safeParse(both).success).toBe(false);
});
