import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";

import type { Journal } from "./journal.ts";
import { replaceFile } from "./state.ts";

/** The type of an event, by Postfix's word for the status. */
const typesByWord: Record<string, string> = {
  sent: "delivered",
  bounced: "bounced",
  deferred: "deferred",
};

// The end of a line has the text of the receiving server. This text can look like a part of a log line, such as
// `status=sent`. So each pattern begins at the beginning of the line, and reads the first status in the line.
const fromLine = /^(?:\w{3} +\d+ [\d:]+|\S+) \S+ postfix[^ ]*\/qmgr\[\d+\]: (?<queue>\w+): from=<(?<sender>[^>]*)>/;
const toLine =
  /^(?<at>\w{3} +\d+ [\d:]+|\S+) \S+ postfix\/(?<service>[^[]+)\[\d+\]: (?<queue>\w+): to=<(?<recipient>[^>]+)>,.*? dsn=(?<status>[\d.]+), status=(?<word>\w+) \((?<diagnostic>.*)\)$/;
const expiredLine =
  /^(?<at>\w{3} +\d+ [\d:]+|\S+) \S+ postfix[^ ]*\/qmgr\[\d+\]: (?<queue>\w+): from=<[^>]*>, status=(?:force-)?expired,/;
const removedLine = /^(?:\w{3} +\d+ [\d:]+|\S+) \S+ postfix[^ ]*\/qmgr\[\d+\]: (?<queue>\w+): removed$/;

/**
 * The status code of a try. Undefined if the other server refused without an enhanced code (RFC 3463). Postfix then
 * writes `5.0.0` itself. If the API got this code, the API would suppress the recipient, although
 * the cause of the refusal can be the content or the sender.
 */
const givenStatus = ({ status = "", diagnostic = "" }: Record<string, string | undefined>): string | undefined =>
  status !== "5.0.0" || /^host \S+ said: \d{3}[- ]5\.0\.0\b/.test(diagnostic) ? status : undefined;

/**
 * The dedicated IP address in the name of a service: `ip-` and the address, with `-` in place of `:` (IPv6). Undefined
 * for a service with another name.
 */
const sourceOf = (service: string): string | undefined => {
  const text = /^ip-([^/]+)/.exec(service)?.[1];
  return text?.includes(".") === true ? text : text?.replaceAll("-", ":");
};

const dayMs = 86_400_000;

/**
 * The time of a line. A time without a year is a local time. Its year is the latest year in which the time is at most a
 * day after `now`. A time after `now` counts as `now`, and so does a text that is no time.
 */
function lineTime(text: string, now: Date): Date {
  const year = now.getFullYear();
  const times = /^\d/.test(text) ? [text] : [`${text} ${year + 1}`, `${text} ${year}`, `${text} ${year - 1}`];
  const ms = times.map((time) => Date.parse(time)).find((time) => time <= now.getTime() + dayMs) ?? now.getTime();
  return new Date(Math.min(ms, now.getTime()));
}

/** The most letters that are remembered: as many as Postfix delivers at once (`qmgr_message_active_limit`). */
const mostLetters = 20_000;

/** A letter that is being delivered, and the recipients to whom the present try did not deliver it. */
type Letter = { sender: string; deferred: Set<string> };

/**
 * Returns a function that reads one line of the outgoing Postfix's log, and returns its events. A line about a
 * recipient is an event. A line that says that a letter waited too long is an event for each recipient to whom the last
 * try did not deliver. The sender of a letter is in an earlier line, which Postfix writes before every try. In
 * `letters`, the function keeps the letters that are being delivered, by their queue id.
 */
function readDeliveries(letters: Map<string, Letter>) {
  const begin = (queue: string, sender: string): void => {
    letters.delete(queue);
    letters.set(queue, { sender, deferred: new Set() });
    const [oldest] = letters.keys();
    if (letters.size > mostLetters && oldest !== undefined) letters.delete(oldest);
  };
  return (line: string, now: Date): object[] => {
    const expired = expiredLine.exec(line)?.groups;
    if (expired) {
      const { sender = "", deferred = [] } = letters.get(expired["queue"] ?? "") ?? {};
      const at = lineTime(expired["at"] ?? "", now).toISOString();
      const event = { type: "bounced", at, sender, diagnostic: "The letter waited too long." };
      return sender === "" ? [] : [...deferred].map((recipient) => ({ ...event, recipient }));
    }
    const from = fromLine.exec(line)?.groups;
    if (from?.["queue"] !== undefined) begin(from["queue"], from["sender"] ?? "");
    const removed = removedLine.exec(line)?.groups?.["queue"];
    if (removed !== undefined) letters.delete(removed);
    const groups = toLine.exec(line)?.groups ?? {};
    const { at = "", service = "", queue = "", recipient, word = "", diagnostic = "" } = groups;
    const [letter, type] = [letters.get(queue), typesByWord[word]];
    // A letter without a sender is a bounce. The service `relay` passes a letter to this system's own MX. The letter
    // has then not left the system yet, so the line is no event.
    if (!letter?.sender || type === undefined || recipient === undefined || service.endsWith("relay/smtp")) return [];
    if (type === "deferred") letter.deferred.add(recipient);
    const source_ip = sourceOf(service);
    const event = {
      type,
      at: lineTime(at, now).toISOString(),
      sender: letter.sender,
      recipient,
      status: givenStatus(groups),
      diagnostic: diagnostic.slice(0, 500),
      ...(source_ip === undefined ? {} : { source_ip }),
    };
    return [event];
  };
}

/** A place in a log, and the letters that were being delivered there. */
type Position = { inode: number; offset: number; letters?: [queue: string, sender: string, ...deferred: string[]][] };

/** The stored position. If the file cannot be read, the log is read from its beginning. */
function readPosition(file: string): Position {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Position;
  } catch {
    return { inode: 0, offset: 0 };
  }
}

/**
 * Follows a log and adds its deliveries to the journal. Stores the position and the letters after the entries. So after
 * a crash between these two steps, some deliveries are reported twice, but no delivery is lost. Reads a replaced log
 * (logrotate) from its beginning. Does not read the lines that the former log got after the last call.
 */
export function openPostfixLog(log: string, positionFile: string, journal: Journal) {
  const buffer = Buffer.alloc(1_048_576);
  let position = readPosition(positionFile);
  return (): void => {
    if (!existsSync(log)) return;
    const { ino: inode, size } = statSync(log);
    if (inode !== position.inode || size < position.offset) position = { ...position, inode, offset: 0 };
    const file = openSync(log, "r");
    try {
      while (fstatSync(file).size > position.offset) {
        const count = readSync(file, buffer, 0, buffer.length, position.offset);
        const end = buffer.subarray(0, count).lastIndexOf("\n") + 1;
        if (end === 0) return;
        const letters = new Map(
          position.letters?.map(([queue, sender, ...deferred]) => [queue, { sender, deferred: new Set(deferred) }]),
        );
        const read = readDeliveries(letters);
        const lines = buffer.subarray(0, end).toString().split("\n");
        const entries = lines.flatMap((line) => read(line, new Date()));
        journal.add("events", ...entries.map((entry) => ({ list: "events", entry })));
        position = {
          inode,
          offset: position.offset + end,
          letters: [...letters].map(([queue, { sender, deferred }]) => [queue, sender, ...deferred]),
        };
        replaceFile(positionFile, JSON.stringify(position));
      }
    } finally {
      closeSync(file);
    }
  };
}
