/*
 * Starts the whole mail server on this machine: `npm run mail-server`. See README.md.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { defaults, missingPackages, startMailServer } from "./launch.ts";

const helpText = `MAIL_SECRET=<key> npm run mail-server -- [--api http://127.0.0.1:8080] [--dir <folder>] [--set NAME=value]...

Starts Postfix, Dovecot, nginx, rspamd, postsrsd and the adapter on 127.0.0.1. Needs root. Ctrl-C stops all of them.
MAIL_SECRET is the API's key for mail servers. --set replaces a default in
infra/mail-server/conf/settings.json for this start.`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const fail = (text: string, code = 1): never => {
  process.stderr.write(`${text}\n`);
  process.exit(code);
};

/** Reads the options. Ends the process with the exit code 2 if the command line is not valid. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        api: { type: "string", default: "http://127.0.0.1:8080" },
        dir: { type: "string" },
        set: { type: "string", multiple: true, default: [] },
        help: { type: "boolean", default: false },
      },
    });
    const changed = Object.fromEntries(values.set.map(settingIn));
    return { ...values, changed };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${helpText}`, 2);
  }
}

/** The name and the value in `NAME=value`. Throws if there is no such setting. */
function settingIn(text: string): [name: string, value: string] {
  const [name = ""] = text.split("=", 1);
  if (!Object.hasOwn(defaults, name)) throw new Error(`There is no setting ${name} in conf/settings.json.`);
  if (name === text) throw new Error(`--set ${name} has no value. Write --set ${name}=value.`);
  return [name, text.slice(name.length + 1)];
}

const given = readOptions();

if (given.help) {
  say(helpText);
  process.exit(0);
}
const key = process.env["MAIL_SECRET"] ?? "";
if (key === "") fail(helpText);
if (process.getuid?.() !== 0) fail("Run this command as root. Postfix and Dovecot can start only as root.");
const missing = missingPackages();
if (missing.length > 0) fail(`Install these Debian packages first: apt-get install ${missing.join(" ")}`);

const dir = given.dir ?? mkdtempSync(join(tmpdir(), "mail-server-"));
const starting = startMailServer({ ...given.changed, DIR: dir, API: given.api, MAIL_KEY: key });
let isStopping = false;
/** Stops all daemons, and then this process. During the start, waits for the end of the start first. */
const stop = (): void => {
  if (isStopping) return;
  isStopping = true;
  say("Stopping.");
  void starting.then((started) => started.stop()).finally(() => process.exit(0));
};
process.on("SIGINT", stop);
process.on("SIGTERM", stop);
const server = await starting.catch((error: Error) => fail(error.message));
const port = (name: string): string => `127.0.0.1:${server.values[`PORT_${name}`]}`;
say(`The mail server runs. Everything is in ${server.values.DIR}.

Start the API with these settings. nginx then connects logins to this mail server:
  MAIL_SMTP_RELAY=${port("RELAY")} MAIL_IMAP_SERVER=${port("IMAP")} MAIL_POP_SERVER=${port("POP3")} npm start

Incoming mail      ${port("MX")}
Submission         ${port("SUBMISSION")} (STARTTLS), ${port("SMTPS")} (TLS)
IMAP, POP3         ${port("IMAPS")}, ${port("POP3S")} (TLS)
Its certificate    ${server.values.DIR}/tls/cert.pem`);

const name = await server.ended;
if (!isStopping) {
  await server.stop();
  fail(`${name} has ended. The logs in ${server.values.DIR}/log show the reason.`);
}
