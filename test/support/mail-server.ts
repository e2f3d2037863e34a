import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { ImapFlow } from "imapflow";
import { createTransport, type SendMailOptions } from "nodemailer";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect } from "vitest";

import { lambdas } from "../../infra/entry-points.ts";
import { startGateway, type Gateway } from "../../infra/local/server/gateway.ts";
import { startMailServer, type MailServer, type Values } from "../../infra/mail-server/launch.ts";
import { freePorts } from "./listen.ts";
import { handlerOf } from "./request.ts";

/**
 * A letter that a server got: its envelope, its text, and the address of the sending host with the name in its EHLO.
 */
export type Letter = {
  from: string;
  to: string[];
  raw: Buffer;
  source: string;
  helo: string;
  user: string | undefined;
};

/** Starts an SMTP server that takes all letters, except letters for the local part `bounce`. */
export async function startSink(
  options: SMTPServerOptions = { authOptional: true, disabledCommands: ["AUTH", "STARTTLS"] },
): Promise<{ port: number; letters: Letter[]; stop: () => Promise<void> }> {
  const letters: Letter[] = [];
  const server = new SMTPServer({
    logger: false,
    ...options,
    onRcptTo: ({ address }, _, done) => {
      if (!address.startsWith("bounce@")) return done();
      done(Object.assign(new Error("5.1.1 No such user"), { responseCode: 550 }));
    },
    onData: (stream, { envelope, remoteAddress, hostNameAppearsAs: helo, user }, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = envelope;
        letters.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks),
          source: remoteAddress,
          helo,
          user: user as string | undefined,
        });
        done();
      });
    },
  });
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  return { port, letters, stop: () => new Promise((settle) => server.close(() => settle())) };
}

/** Serves the mail servers' routes by a gateway. The gateway can be stopped and started again at the same port. */
export async function serveMailRoutes(): Promise<{
  base: string;
  start: () => Promise<void>;
  stop: () => Promise<void>;
}> {
  const [port = 0] = await freePorts(1);
  const wanted = lambdas.filter(({ name }) => name.startsWith("mail.") || name === "fallback");
  const functions = await Promise.all(wanted.map(async (spec) => ({ ...spec, handler: await handlerOf(spec) })));
  let gateway: Gateway | undefined;
  const start = async (): Promise<void> => {
    gateway = await startGateway({ functions, port });
  };
  await start();
  return { base: `http://127.0.0.1:${port}`, start, stop: async () => gateway?.stop() };
}

type Login = { user: string; pass: string };

export type Post = MailServer & {
  /** Sends a letter as another provider does. Resolves with the reply; rejects with `responseCode`. */
  deliver: (letter: SendMailOptions) => Promise<string>;
  /** Names a recipient to the MX, and sends no letter. Ignores the replies. */
  asks: (address: string) => Promise<void>;
  /** The log of a server so far. */
  log: (server: string) => string;
  /** Sends a letter as a mail program does, after a login. */
  submit: (login: Login, letter: SendMailOptions) => Promise<string>;
  /** A mail program that stays connected after its first letter. */
  session: (login: Login) => { send: (letter: SendMailOptions) => Promise<string>; close: () => void };
  /** A connection of a mail program to read mail. */
  reader: (login: Login) => Promise<ImapFlow>;
  /**
   * The subjects in the inbox of a mailbox, the oldest first. If `awaited` is given, waits until it is one of them, and
   * logs in again if the connection ends.
   */
  subjects: (login: Login, awaited?: string) => Promise<string[]>;
  /** Where a server with TLS listens: `IMAPS` or `POP3S`. */
  tlsAt: (name: string) => { port: number; ca: string; servername: string };
  remove: () => Promise<void>;
};

const portNames =
  "MX SUBMISSION SMTPS IMAPS POP3S RELAY COPIES LMTP IMAP POP3 DOVEADM ADAPTER SOCKETMAP POLICY RSPAMD SRS SRS_BACK";

/** The longest wait for a condition on a slow machine, in milliseconds. */
export const slowly = 40_000;

/** The subjects in the inbox, the oldest first. Throws if the connection has ended. */
async function subjectsIn(client: ImapFlow): Promise<string[]> {
  const { exists } = await client.mailboxOpen("INBOX");
  const found: string[] = [];
  if (exists === 0) return found;
  for await (const { envelope } of client.fetch("1:*", { envelope: true })) found.push(envelope?.subject ?? "");
  return found;
}

/** Starts the mail server of infra/mail-server at free ports, in a new folder by default. It calls the API at `api`. */
export async function startPost(api: string, more: Values, given?: string): Promise<Post> {
  const folder = given ?? (await mkdtemp(join(tmpdir(), "mail-server-")));
  const ports: Values = {};
  const names = portNames.split(" ");
  const free = await freePorts(names.length);
  for (const [index, name] of names.entries()) ports[`PORT_${name}`] = more[`PORT_${name}`] ?? String(free[index]);
  // The product connects logins to these servers.
  process.env["MAIL_SMTP_RELAY"] = `127.0.0.1:${ports["PORT_RELAY"]}`;
  process.env["MAIL_IMAP_SERVER"] = `127.0.0.1:${ports["PORT_IMAP"]}`;
  process.env["MAIL_POP_SERVER"] = `127.0.0.1:${ports["PORT_POP3"]}`;
  const server = await startMailServer({
    ...ports,
    REPORT_SECONDS: "1",
    REVOCATION_SECONDS: "1",
    RETRY_SECONDS: "1",
    MAIL_KEY: process.env["MAIL_SECRET"] ?? "",
    ...more,
    DIR: folder,
    API: api,
  });
  const tls = { ca: readFileSync(join(folder, "tls/cert.pem")), servername: server.values["HOSTNAME"] };
  const port = (name: string): number => Number(ports[`PORT_${name}`]);

  const send = async (options: object, letter: SendMailOptions): Promise<string> => {
    const transport = createTransport({ host: "127.0.0.1", name: "client.example.net", ...options });
    try {
      return (await transport.sendMail(letter)).response;
    } finally {
      transport.close();
    }
  };

  const reader = async (auth: Login): Promise<ImapFlow> => {
    const client = new ImapFlow({ host: "127.0.0.1", port: port("IMAPS"), secure: true, tls, auth, logger: false });
    client.on("error", () => {});
    await client.connect();
    return client;
  };

  return {
    ...server,
    deliver: (letter) => send({ port: port("MX"), tls }, letter),
    asks: async (address) => {
      const socket = connect({ host: "127.0.0.1", port: port("MX") });
      socket.end(`EHLO client.example.net\r\nMAIL FROM:<bob@example.net>\r\nRCPT TO:<${address}>\r\nQUIT\r\n`);
      socket.resume();
      await once(socket, "close");
    },
    log: (name) => readFileSync(join(folder, `log/${name}.log`), "utf8"),
    submit: (auth, letter) => send({ port: port("SUBMISSION"), requireTLS: true, tls, auth }, letter),
    session: (auth) => {
      const options = { host: "127.0.0.1", port: port("SUBMISSION"), requireTLS: true, tls, auth };
      const transport = createTransport({ ...options, pool: true, maxConnections: 1 });
      return { send: async (one) => (await transport.sendMail(one)).response, close: () => transport.close() };
    },
    reader,
    subjects: async (login, awaited) => {
      let client: ImapFlow | undefined;
      // A mail program whose connection has ended connects again.
      const subjects = async (): Promise<string[]> => {
        if (!client?.usable) client = await reader(login);
        return subjectsIn(client);
      };
      try {
        if (awaited !== undefined) await expect.poll(subjects, { timeout: slowly, interval: 100 }).toContain(awaited);
        return await subjects();
      } finally {
        await client?.logout().catch(() => client?.close());
      }
    },
    tlsAt: (name) => ({
      port: port(name),
      ca: tls.ca.toString(),
      servername: tls.servername ?? "",
    }),
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type OwnHost = { name: string; login: { user: string; password: string }; key: string; cert: string; nextHop: string };

/**
 * The files for a customer's own host in docs/dedicated-ips.md, with some words replaced. Throws if a word is missing.
 */
function documentedHost(words: Record<string, string>): [postfix: string, dovecot: string] {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/dedicated-ips.md"), "utf8");
  const text = Object.entries(words).reduce((left, [word, instead]) => {
    if (!left.includes(word)) throw new Error(`docs/dedicated-ips.md does not say ${word}`);
    return left.replaceAll(word, instead);
  }, page);
  const [postfix, dovecot] = [...text.matchAll(/^```text\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  if (postfix === undefined || dovecot === undefined)
    throw new Error("docs/dedicated-ips.md lacks the files of a host");
  return [postfix, dovecot];
}

const ids = (user: string): [number, number] => [
  Number(execFileSync("id", ["-u", user]).toString()),
  Number(execFileSync("id", ["-g", user]).toString()),
];

/**
 * Starts a customer's own host with the files in docs/dedicated-ips.md, but with other paths, another port and a next
 * hop.
 */
export async function startOwnHost({ name, login, key, cert, nextHop }: OwnHost) {
  const folder = await mkdtemp(join(tmpdir(), "own-host-"));
  await chmod(folder, 0o711);
  const at = (file: string): string => join(folder, file);
  const [port = 0] = await freePorts(1);
  const [main, dovecot] = documentedHost({
    "inet_interfaces = all": "inet_interfaces = 127.0.0.1\ninet_protocols = ipv4",
    "/etc/letsencrypt/live/mail.example.com/fullchain.pem": at("cert.pem"),
    "/etc/letsencrypt/live/mail.example.com/privkey.pem": at("key.pem"),
    "mail.example.com": name,
    "/run/relay-auth": at("relay-auth"),
    "/etc/dovecot/relay-login": at("relay-login"),
    "submission inet": `127.0.0.1:${port} inet`,
  });
  const here = {
    queue_directory: at("spool"),
    data_directory: at("data"),
    maillog_file: at("host.log"),
    maillog_file_prefixes: folder,
    relayhost: nextHop,
    smtp_dns_support_level: "disabled",
  };
  for (const one of ["conf", "spool", "data"]) await mkdir(at(one));
  await writeFile(at("cert.pem"), cert);
  await writeFile(at("key.pem"), key, { mode: 0o600 });
  await writeFile(
    at("conf/main.cf"),
    main +
      Object.entries(here)
        .map(([one, value]) => `${one} = ${value}\n`)
        .join(""),
  );
  const services = readFileSync(
    resolve(import.meta.dirname, "../../infra/mail-server/conf/postfix-mx/master.cf"),
    "utf8",
  );
  await writeFile(at("conf/master.cf"), services.replace("127.0.0.1:@PORT_MX@", `127.0.0.1:${port}`));
  await writeFile(at("dovecot.conf"), `${dovecot}base_dir = ${at("run")}\nlog_path = ${at("dovecot.log")}\n`);
  const hash = execFileSync("doveadm", ["-c", at("dovecot.conf"), "pw", "-s", "SHA512-CRYPT", "-p", login.password]);
  await writeFile(at("relay-login"), `${login.user}:${hash.toString().trim()}\n`, { mode: 0o600 });
  await chown(at("relay-login"), ...ids("dovecot"));
  await chown(at("data"), ...ids("postfix"));
  execFileSync("postfix", ["-c", at("conf"), "check"], { stdio: "ignore" });
  const children = [
    spawn("dovecot", ["-F", "-c", at("dovecot.conf")], { stdio: "ignore", detached: true }),
    spawn("/usr/lib/postfix/sbin/master", ["-d", "-c", at("conf")], { stdio: "ignore", detached: true }),
  ];
  return {
    port,
    stop: async () => {
      for (const child of children) {
        const exit = once(child, "exit");
        child.kill("SIGTERM");
        await exit;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
