import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SMTPServer } from "smtp-server";

import { freePort } from "../../infra/local/free-port.ts";

const nginx = "/usr/sbin/nginx";
const mailModule = "/usr/lib/nginx/modules/ngx_mail_module.so";

/** Whether what the tests of the mail proxy take is installed: Debian's nginx and libnginx-mod-mail. */
export const hasNginx = existsSync(nginx) && existsSync(mailModule);

type Mail = { from: string; to: string[]; text: string };

/** A real SMTP server that takes all mail, as a relay behind the proxy does. */
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

const configuration = (folder: string, ports: { smtp: number; http: number }, key: string): string => `
load_module ${mailModule};
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log info;
events { worker_connections 64; }
mail {
  server_name proxy.example;
  auth_http 127.0.0.1:${ports.http}/internal/mail/auth;
  auth_http_header X-Mail-Key "${key}";
  proxy_pass_error_message on;
  server { listen 127.0.0.1:${ports.smtp}; protocol smtp; smtp_auth plain login; xclient off; }
}
`;

/** Resolves once somebody listens. */
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

/** nginx's mail proxy, which asks a gateway who may log in. */
export async function startProxy(httpPort: number, key: string): Promise<{ smtp: number; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "nginx-"));
  const ports = { smtp: await freePort(), http: httpPort };
  const file = join(folder, "nginx.conf");
  await writeFile(file, configuration(folder, ports, key), { mode: 0o600 });
  const child = spawn(nginx, ["-c", file, "-p", folder], { stdio: "ignore" });
  let hasEnded = false;
  const ended = once(child, "exit").then(() => (hasEnded = true));
  await listens(ports.smtp, () => hasEnded);
  return {
    ...ports,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
