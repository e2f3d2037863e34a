import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as forward } from "node:http";
import { createServer } from "node:https";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { SMTPServer } from "smtp-server";

import { startDnsServer } from "../../infra/local/dns/server.ts";
import { certificateFor } from "../shared/webhooks/certificate.ts";
import { a, serving } from "../support/dns-network.ts";
import { freePorts, portOf } from "../support/listen.ts";

const nginx = "/usr/sbin/nginx";
const mailModule = "/usr/lib/nginx/modules/ngx_mail_module.so";

/** Whether the packages for the tests of the mail proxy are installed: Debian's nginx and libnginx-mod-mail. */
export const hasNginx = existsSync(nginx) && existsSync(mailModule);

const apiName = "api.example.com";
/** The name to which mail programs connect. */
export const proxyName = "mail.example.com";

type Mail = { from: string; to: string[]; text: string };

/** A real SMTP server that accepts all mail, as a relay behind the proxy does. */
export async function startRelay(): Promise<{ port: number; mails: Mail[]; stop: () => Promise<void> }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH", "STARTTLS"],
    logger: false,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
        });
        done();
      });
    },
  });
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  return { port, mails, stop: () => new Promise((settle) => server.close(() => settle())) };
}

/** The code blocks for nginx in docs/mail-servers.md: its configuration, and the file with the secret. */
function documented(): [configuration: string, secret: string] {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/mail-servers.md"), "utf8");
  const [configuration, secret] = [...page.matchAll(/^```nginx\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  if (configuration === undefined || secret === undefined) throw new Error("docs/mail-servers.md lacks nginx's files");
  return [configuration, secret];
}

/** Replaces each of the words in a text. Throws if a word is missing in the text. */
function replaced(text: string, words: Record<string, string>): string {
  return Object.entries(words).reduce((left, [word, instead]) => {
    if (!left.includes(word)) throw new Error(`docs/mail-servers.md does not say ${word}`);
    return left.replaceAll(word, instead);
  }, text);
}

/** Resolves once nginx listens on a port. Throws if `isOver` says that nginx has ended. */
async function listens(port: number, isOver: () => boolean): Promise<void> {
  for (;;) {
    const socket = connect({ host: "127.0.0.1", port });
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    if (isOver()) throw new Error("nginx has ended");
    await new Promise((settle) => setImmediate(settle));
  }
}

/** Starts TLS under the API's name in front of a gateway, and a name server that knows the name. */
async function startApi(gatewayPort: number) {
  const { key, cert } = certificateFor(apiName);
  const server = createServer({ key, cert }, (request, response) => {
    const { method, url, headers } = request;
    // The gateway on this machine answers only to the names of this machine.
    const host = headers.host === apiName ? "127.0.0.1" : "";
    const onwards = forward({ port: gatewayPort, method, path: url, headers: { ...headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onwards.on("error", () => response.destroy());
    request.pipe(onwards);
  });
  const port = await portOf(server);
  const dns = await startDnsServer({
    port: 0,
    answer: serving({ name: "example.com", rrsets: [a(apiName, "127.0.0.1")] }),
  });
  return {
    port,
    cert,
    dnsPort: dns.port,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await dns.stop();
    },
  };
}

export type MailProxy = {
  /** The ports of SMTP with STARTTLS, SMTP, IMAP and POP3 by TLS, and of the server that asks the API. */
  ports: { submission: number; smtps: number; imaps: number; pop3s: number; hop: number };
  /** The certificate that a mail program must trust to connect to `mail.example.com`. */
  ca: string;
  stop: () => Promise<void>;
};

/**
 * Starts nginx's mail proxy with the files in docs/mail-servers.md, but with other addresses, ports and paths. The
 * proxy asks a gateway about logins. `trusted` is a certificate to trust instead of the API's.
 */
export async function startProxy(gatewayPort: number, key: string, trusted?: string): Promise<MailProxy> {
  const folder = await mkdtemp(join(tmpdir(), "nginx-"));
  const api = await startApi(gatewayPort);
  const own = certificateFor(proxyName);
  const [submission = 0, smtps = 0, imaps = 0, pop3s = 0, hop = 0] = await freePorts(5);
  const ports = { submission, smtps, imaps, pop3s, hop };
  const [configuration, secret] = documented();
  const at = (name: string): string => join(folder, name);
  const files = {
    "api.pem": trusted ?? api.cert,
    "own.pem": own.cert,
    "own.key": own.key,
    "mail-key.conf": replaced(secret, { "the shared secret": key }),
    "nginx.conf": replaced(configuration, {
      "modules/ngx_mail_module.so": mailModule,
      "127.0.0.53": `127.0.0.1:${api.dnsPort}`,
      "127.0.0.1:8025": `127.0.0.1:${ports.hop}`,
      "api.example.com:443": `${apiName}:${api.port}`,
      "/etc/ssl/certs/ca-certificates.crt": at("api.pem"),
      "/etc/nginx/mail-key.conf": at("mail-key.conf"),
      "/etc/letsencrypt/live/mail.example.com/fullchain.pem": at("own.pem"),
      "/etc/letsencrypt/live/mail.example.com/privkey.pem": at("own.key"),
      "listen 465 ": `listen 127.0.0.1:${ports.smtps} `,
      "listen 587;": `listen 127.0.0.1:${ports.submission};`,
      "listen 993 ": `listen 127.0.0.1:${ports.imaps} `,
      "listen 995 ": `listen 127.0.0.1:${ports.pop3s} `,
    }),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(at(name), content, { mode: 0o600 });
  const globals = `daemon off; master_process off; pid ${at("nginx.pid")}; error_log ${at("error.log")} info;`;
  const child = spawn(nginx, ["-c", at("nginx.conf"), "-p", folder, "-g", globals], { stdio: "ignore" });
  let hasEnded = false;
  const ended = once(child, "exit").then(() => (hasEnded = true));
  await listens(ports.imaps, () => hasEnded);
  return {
    ports,
    ca: own.cert,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      await api.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
