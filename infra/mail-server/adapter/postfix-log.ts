import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";

import type { Journal } from "./journal.ts";
import { replaceFile } from "./state.ts";

/** The type of an event, by Postfix's word for the status. `expired` is the status of a letter that waited too long. */
const typesByWord: Record<string, string> = {
  sent: "delivered",
  bounced: "bounced",
  expired: "bounced",
  deferred: "deferred",
};

const fromLine = / postfix[^ ]*\/qmgr\[\d+\]: (?<queue>\w+): from=<(?<sender>[^>]*)>/;
const toLine =
  /^(?<at>\w{3} +\d+ [\d:]+|\S+) \S+ postfix\/(?<service>[^[]+)\[\d+\]: (?<queue>\w+): to=<(?<recipient>[^>]+)>,.* dsn=(?<status>[\d.]+), status=(?<word>\w+) \((?<diagnostic>.*)\)$/;
const removedLine = / postfix[^ ]*\/qmgr\[\d+\]: (?<queue>\w+): removed$/;

/** The dedicated IP address in the name of a service. Undefined for other services. */
const sourceOf = (service: string): string | undefined => {
  const text = /^ip-([^/]+)/.exec(service)?.[1];
  return text?.includes(".") === true ? text : text?.replaceAll("-", ":");
};

const dayMs = 86_400_000;

/**
 * The time of a line. Postfix writes the local time without a year. So this is the latest such time that is at most a day
 * after `now`, and at the latest `now`. A text that is no time counts as `now`.
 */
function lineTime(text: string, now: Date): Date {
  const year = now.getFullYear();
  const times = /^\d/.test(text) ? [text] : [`${text} ${year + 1}`, `${text} ${year}`, `${text} ${year - 1}`];
  const ms = times.map((time) => Date.parse(time)).find((time) => time <= now.getTime() + dayMs) ?? now.getTime();
  return new Date(Math.min(ms, now.getTime()));
}

/** The most senders that are remembered: as many letters as Postfix delivers at once (`qmgr_message_active_limit`). */
const mostSenders = 20_000;

/**
 * Returns a function that reads one line of the outgoing Postfix's log, and returns its event. Each line about a
 * recipient is an event. The sender of a letter is in an earlier line, which Postfix writes before every try. The
 * function keeps the senders of the letters that are being delivered in `senders`, by their queue id.
 */
function readDeliveries(senders: Map<string, string>) {
  return (line: string, now: Date): object | undefined => {
    const from = fromLine.exec(line)?.groups;
    if (from?.["queue"] !== undefined) {
      senders.delete(from["queue"]);
      senders.set(from["queue"], from["sender"] ?? "");
      const [oldest] = senders.keys();
      if (senders.size > mostSenders && oldest !== undefined) senders.delete(oldest);
    }
    const removed = removedLine.exec(line)?.groups?.["queue"];
    if (removed !== undefined) senders.delete(removed);
    const groups = toLine.exec(line)?.groups ?? {};
    const { at = "", service = "", queue = "", recipient, status, word = "", diagnostic = "" } = groups;
    const [sender, type] = [senders.get(queue), typesByWord[word]];
    // A letter without a sender is a bounce. The service `relay` passes a letter to this system's own MX. Such a letter
    // has not left the system yet, so the line is no event.
    if (!sender || type === undefined || recipient === undefined || service.endsWith("relay/smtp")) return undefined;
    const source_ip = sourceOf(service);
    return {
      type,
      at: lineTime(at, now).toISOString(),
      sender,
      recipient,
      status,
      diagnostic: diagnostic.slice(0, 500),
      ...(source_ip === undefined ? {} : { source_ip }),
    };
  };
}

/** A place in a log, and the senders of the letters that were being delivered there. */
type Position = { inode: number; offset: number; senders?: [queue: string, sender: string][] };

/** The stored position. If the file cannot be read, the log is read from its beginning. */
function readPosition(file: string): Position {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Position;
  } catch {
    return { inode: 0, offset: 0 };
  }
}

/**
 * Follows a log and adds its deliveries to the journal. Stores the position and the senders after the entries. So after
 * a crash between these two steps, some deliveries are reported twice, but no delivery is lost. Reads a replaced log
 * (logrotate) from its beginning. Does not read the lines that the former log got after the last call.
 */
export function openPostfixLog(log: string, positionFile: string, journal: Journal) {
  const stored = readPosition(positionFile);
  const senders = new Map(stored.senders);
  const read = readDeliveries(senders);
  const buffer = Buffer.alloc(1_048_576);
  let position: Position = stored;
  return (): void => {
    if (!existsSync(log)) return;
    const { ino: inode, size } = statSync(log);
    if (inode !== position.inode || size < position.offset) position = { inode, offset: 0 };
    const file = openSync(log, "r");
    try {
      while (fstatSync(file).size > position.offset) {
        const count = readSync(file, buffer, 0, buffer.length, position.offset);
        const end = buffer.subarray(0, count).lastIndexOf("\n") + 1;
        if (end === 0) return;
        const lines = buffer.subarray(0, end).toString().split("\n");
        const entries = lines.flatMap((line) => read(line, new Date()) ?? []);
        journal.add("events", ...entries.map((entry) => ({ list: "events", entry })));
        position = { inode, offset: position.offset + end };
        replaceFile(positionFile, JSON.stringify({ ...position, senders: [...senders] }));
      }
    } finally {
      closeSync(file);
    }
  };
}
