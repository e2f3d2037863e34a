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

/**
 * Returns a function that reads one line of the outgoing Postfix's log, and returns its event. Each line about a
 * recipient is an event. The sender of a letter is in an earlier line, which Postfix writes before every try.
 */
function readDeliveries() {
  const senders = new Map<string, string>();
  return (line: string, now: Date): object | undefined => {
    const from = fromLine.exec(line)?.groups;
    if (from?.["queue"] !== undefined) senders.set(from["queue"], from["sender"] ?? "");
    const removed = removedLine.exec(line)?.groups?.["queue"];
    if (removed !== undefined) senders.delete(removed);
    const { service = "", queue = "", recipient, status, word = "", diagnostic = "" } = toLine.exec(line)?.groups ?? {};
    const [sender, type] = [senders.get(queue), typesByWord[word]];
    // A letter without a sender is a bounce. The service `relay` passes a letter to this system's own MX. Such a letter
    // has not left the system yet, so the line is no event.
    if (!sender || type === undefined || recipient === undefined || service.endsWith("relay/smtp")) return undefined;
    const source_ip = sourceOf(service);
    return {
      type,
      at: now.toISOString(),
      sender,
      recipient,
      status,
      diagnostic: diagnostic.slice(0, 500),
      ...(source_ip === undefined ? {} : { source_ip }),
    };
  };
}

type Position = { inode: number; offset: number };

/** The stored position. If the file cannot be read, the log is read from its beginning. */
function readPosition(file: string): Position {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Position;
  } catch {
    return { inode: 0, offset: 0 };
  }
}

/**
 * Follows a log and adds its deliveries to the journal. Stores the position after the entries. So after a crash between
 * these two steps, some deliveries are reported twice, but no delivery is lost. Reads a replaced log (logrotate) from
 * its beginning. Does not read the lines that the former log got after the last call.
 */
export function openPostfixLog(log: string, positionFile: string, journal: Journal) {
  const read = readDeliveries();
  const buffer = Buffer.alloc(1_048_576);
  let position = readPosition(positionFile);
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
        replaceFile(positionFile, JSON.stringify(position));
      }
    } finally {
      closeSync(file);
    }
  };
}
