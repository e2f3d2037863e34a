import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

import { openApi } from "./adapter/api.ts";

const here = import.meta.dirname;

/** The programs of the mail server. Each program has the Debian packages that it needs. */
const programs = {
  nginx: "nginx libnginx-mod-mail",
  postfix: "postfix",
  dovecot: "dovecot-core dovecot-imapd dovecot-pop3d dovecot-lmtpd dovecot-auth-lua",
  rspamd: "rspamd",
  postsrsd: "postsrsd",
  openssl: "openssl",
} as const;
/** Further files that the mail server needs, and the Debian package of each file. */
const modules = {
  "/usr/lib/nginx/modules/ngx_mail_module.so": "libnginx-mod-mail",
  "/usr/lib/dovecot/modules/auth/libauthdb_lua.so": "dovecot-auth-lua",
  "/usr/lib/dovecot/lmtp": "dovecot-lmtpd",
  "/usr/lib/dovecot/imap": "dovecot-imapd",
  "/usr/lib/dovecot/pop3": "dovecot-pop3d",
} as const;

const searched = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin", "/usr/local/sbin"];
const pathOf = (program: string): string | undefined =>
  searched.map((folder) => join(folder, program)).find((file) => existsSync(file));

/** The Debian packages that the mail server needs but this machine does not have. */
export function missingPackages(): string[] {
  const lacking = [
    ...Object.entries(programs).flatMap(([program, packages]) => (pathOf(program) ? [] : packages.split(" "))),
    ...Object.entries(modules).flatMap(([file, name]) => (existsSync(file) ? [] : [name])),
  ];
  return [...new Set(lacking)];
}

/** The settings in conf/settings.json, by name. */
export type Values = Record<string, string>;

/** The settings with their default values. */
export const defaults = JSON.parse(readFileSync(join(here, "conf/settings.json"), "utf8")) as Values;

/**
 * The settings without a default: the folder of the mail server's files, the API's address, and the API's key for mail
 * servers.
 */
export type Needed = { DIR: string; API: string; MAIL_KEY: string };

const systemId = (option: "-u" | "-g", name: string): number => Number(execFileSync("id", [option, name]).toString());

/** Replaces each `@NAME@` in a text with the value of the setting. Throws if a setting has no value. */
function fill(text: string, values: Values): string {
  return text.replaceAll(/@([A-Z][A-Z0-9_]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`conf/settings.json has no ${name}.`);
    return value;
  });
}

/**
 * Reads the secret in a file that only root can read. Creates a missing file with a new secret, so all starts in a
 * folder use the same secret.
 */
function keptSecret(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString("base64url"), { mode: 0o600 });
  return readFileSync(file, "utf8").trim();
}

/** Writes the folders and the configuration. Only the users of the daemons can read files with passwords. */
function prepare(values: Values & Needed): void {
  const { DIR: dir } = values;
  const inDir = (path: string): string => join(dir, path);
  chmodSync(dir, 0o711);
  for (const folder of ["run", "log", "spool/mx", "spool/mx-data", "spool/out", "spool/out-data", "tls", "store"]) {
    mkdirSync(inDir(folder), { recursive: true, mode: 0o755 });
  }
  cpSync(join(here, "conf"), inDir("conf"), { recursive: true });
  for (const file of globSync("**/*.*", { cwd: inDir("conf") })) {
    if (statSync(inDir(`conf/${file}`)).isDirectory()) continue;
    writeFileSync(inDir(`conf/${file}`), fill(readFileSync(inDir(`conf/${file}`), "utf8"), values));
    chmodSync(inDir(`conf/${file}`), file.startsWith("postfix") ? 0o644 : 0o600);
  }
  for (const file of ["conf/rspamd", "conf/rspamd/rspamd.conf", "conf/rspamd/sign.lua", "conf/rspamd/suffixes.dat"])
    chownSync(inDir(file), systemId("-u", "_rspamd"), systemId("-g", "_rspamd"));
  chownSync(inDir("conf/dovecot/userdb.lua"), systemId("-u", "dovecot"), systemId("-g", "dovecot"));
  for (const folder of ["spool/mx-data", "spool/out-data"]) chownSync(inDir(folder), systemId("-u", "postfix"), 0);
  chownSync(inDir("store"), systemId("-u", values["STORE_USER"] ?? ""), systemId("-g", values["STORE_GROUP"] ?? ""));
  // rspamd and nginx write their logs and process ids under users of their own.
  for (const folder of ["run", "log"]) chmodSync(inDir(folder), 0o1777);
  // With this secret, postsrsd signs the senders of forwarded copies, and checks the signatures of the bounces that
  // come back. Bounces come back for weeks, so postsrsd needs the same secret after a restart.
  keptSecret(inDir("srs.secret"));
  if (!existsSync(inDir("tls/key.pem"))) makeCertificate(inDir("tls"), values["HOSTNAME"] ?? "");
}

/** Makes a self-signed certificate. The certificate is only an example for one machine. */
function makeCertificate(folder: string, name: string): void {
  const options = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=${name}`.split(" ");
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  execFileSync("openssl", [...options, "-addext", `subjectAltName=DNS:${name}`, ...files], { stdio: "ignore" });
}

/** The path of Postfix's daemon in Debian. `postfix start` would start the daemon in the background. */
const postfixMaster = "/usr/lib/postfix/sbin/master";

/** Makes the folders of the queues of both Postfix instances. */
const prepareQueues = (dir: string): Promise<unknown> =>
  Promise.all(
    ["postfix-mx", "postfix-out"].map((name) =>
      promisify(execFile)(pathOf("postfix") ?? "postfix", ["-c", join(dir, "conf", name), "check"]),
    ),
  );

/** The command of each daemon. All daemons run in the foreground. */
const commandsOf = (v: Values & Needed): Record<string, [program: string, ...args: string[]]> => ({
  adapter: [process.execPath, join(here, "adapter.ts"), `${v.DIR}/conf/adapter.json`],
  postsrsd: [
    "postsrsd",
    ...`-f${v["PORT_SRS"]} -r${v["PORT_SRS_BACK"]} -l127.0.0.1 -d${v["SRS_DOMAIN"]}`.split(" "),
    `-s${v.DIR}/srs.secret`,
    "-unobody",
  ],
  rspamd: ["rspamd", "-f", "-u", "_rspamd", "-g", "_rspamd", "-c", `${v.DIR}/conf/rspamd/rspamd.conf`],
  dovecot: ["dovecot", "-F", "-c", `${v.DIR}/conf/dovecot/dovecot.conf`],
  "postfix-mx": [postfixMaster, "-d", "-c", `${v.DIR}/conf/postfix-mx`],
  "postfix-out": [postfixMaster, "-d", "-c", `${v.DIR}/conf/postfix-out`],
  nginx: ["nginx", "-c", `${v.DIR}/conf/nginx/nginx.conf`, "-p", v.DIR, "-e", `${v.DIR}/log/nginx.log`],
});

/** The names of the ports on which the running daemons listen. */
const listening =
  "ADAPTER SOCKETMAP POLICY SRS SRS_BACK RSPAMD LMTP IMAP POP3 DOVEADM RELAY COPIES MX SUBMISSION SMTPS IMAPS POP3S".split(
    " ",
  );

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  const isOpen = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

export type MailServer = {
  /** All settings. A setting that was not given has its default. */
  values: Values & Needed;
  /** Resolves with the name of the first daemon that ends, also if `stop` ends it. */
  ended: Promise<string>;
  /** Stops all daemons by their process ids. Does not delete the folder. */
  stop: () => Promise<void>;
};

const startTimeoutMs = 60_000;
const stopTimeoutMs = 10_000;

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  const late = pause(stopTimeoutMs, "late", { ref: false });
  if ((await Promise.race([exit, late])) === "late") child.kill("SIGKILL");
  await exit;
}

/**
 * Throws if the API refuses the key. Does not throw if the API gives no answer. Mail then waits until the API answers.
 */
async function requireKey({ API, MAIL_KEY }: Needed): Promise<void> {
  const answer = await openApi({ api: API, mail_key: MAIL_KEY })
    .revocations({})
    .catch(() => undefined);
  if (answer?.status !== 401) return;
  throw new Error(`The API refuses the key (401). Set MAIL_SECRET to the key for mail servers of the API at ${API}.`);
}

/**
 * Starts the mail server on 127.0.0.1 in the folder `DIR`. Settings that are missing in `given` come from
 * conf/settings.json. Resolves when every daemon accepts connections. Needs root, because Postfix and Dovecot need
 * root. Stops all daemons and rejects if:
 * - a daemon ends during the start,
 * - the start takes more than a minute,
 * - the API refuses the key.
 */
export async function startMailServer(given: Partial<Values> & Needed): Promise<MailServer> {
  const DIR = resolve(given.DIR);
  mkdirSync(DIR, { recursive: true, mode: 0o711 });
  const LOCAL_KEY = keptSecret(join(DIR, "local.key"));
  const values = { ...defaults, LOCAL_KEY, ...given, DIR } as Values & Needed;
  prepare(values);
  await prepareQueues(values.DIR);
  const children = Object.entries(commandsOf(values)).map(([name, [program, ...args]]) => {
    const output = openSync(join(values.DIR, `log/${name}.out`), "a");
    // Each daemon has a process group of its own. So Ctrl-C reaches only this process, and this process stops the
    // daemons.
    const child = spawn(pathOf(program) ?? program, args, { stdio: ["ignore", output, output], detached: true });
    return { name, child };
  });
  const ended = Promise.race(
    children.map(async ({ name, child }) => {
      await once(child, "exit").catch(() => undefined);
      return name;
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(({ child }) => stopChild(child)));
  };
  const ready = async (): Promise<undefined> => {
    for (const name of listening) {
      while (!(await accepts(Number(values[`PORT_${name}`])))) await pause(20);
    }
  };
  try {
    const failed = await Promise.race([ready(), ended, pause(startTimeoutMs, "the start", { ref: false })]);
    if (failed !== undefined) throw new Error(`${failed} failed. The logs in ${DIR}/log show the reason.`);
    await requireKey(values);
    return { values, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
