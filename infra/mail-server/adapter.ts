/*
 * The adapter between the mail servers of one machine and the API: `node adapter.ts <conf/adapter.json>`.
 * See README.md.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { openApi } from "./adapter/api.ts";
import { startHttp } from "./adapter/http.ts";
import { openJournal } from "./adapter/journal.ts";
import { tablesOf } from "./adapter/maps.ts";
import { startPolicy } from "./adapter/policy.ts";
import { openPostfixLog } from "./adapter/postfix-log.ts";
import { openRevocations } from "./adapter/revocations.ts";
import { openSessions } from "./adapter/sessions.ts";
import { readSettings } from "./adapter/settings.ts";
import { startSocketmap } from "./adapter/socketmap.ts";
import { tryAll } from "./adapter/try-all.ts";
import { openUsage } from "./adapter/usage.ts";

const log = (text: string): void => void process.stdout.write(`${new Date().toISOString()} ${text}\n`);

/** Repeats some work for ever, with a pause of `seconds` after each run. Logs a failure and continues. */
async function repeat(name: string, seconds: number, work: () => Promise<void> | void): Promise<never> {
  for (;;) {
    try {
      await work();
    } catch (error) {
      log(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    await pause(seconds * 1_000);
  }
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("Give the path of the settings file: node adapter.ts conf/adapter.json");
const settings = readSettings(file);
mkdirSync(settings.state, { recursive: true, mode: 0o700 });

const api = openApi(settings, log);
const sessions = openSessions();
const journal = openJournal(settings.state, api, log);

await startHttp({ api, journal, settings });
await startPolicy(settings.policy_port, { api, sessions, store: settings.store });
await startSocketmap(settings.socketmap_port, tablesOf(api, settings.own_domains));
log("The adapter is ready.");

const readLog = openPostfixLog(settings.postfix_log, join(settings.state, "postfix-log"), journal);
const readUsage = openUsage(settings.store, journal);
const { report_seconds: reportSeconds, revocation_seconds: revocationSeconds } = settings;
void repeat("reports of usage and events", reportSeconds, () => tryAll([readLog, readUsage, journal.flush]));
void repeat("revocations", revocationSeconds, openRevocations(settings, api, sessions));
