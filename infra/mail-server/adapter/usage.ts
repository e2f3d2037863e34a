import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import type { Journal } from "./journal.ts";
import { readUser } from "./maps.ts";

/** Reads a file `maildirsize` (Maildir++): after the first line, each line adds bytes and messages. */
function sizesIn(text: string): { bytes: number; messages: number } {
  const lines = text.split("\n").slice(1).filter(Boolean);
  const numbers = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const sum = (at: number): number =>
    Math.max(
      0,
      numbers.reduce((total, row) => total + (row[at] ?? 0), 0),
    );
  return { bytes: sum(0), messages: sum(1) };
}

/** The file in which Dovecot counts the size of a mailbox. */
const sizeFile = (store: string, account: string, mailbox: string): string =>
  join(store, account, mailbox, "Maildir", "maildirsize");

/** The size of a mailbox in bytes; 0 if the store of this machine does not have it. */
export async function sizeOf(store: string, account: string, mailbox: string): Promise<number> {
  const text = await readFile(sizeFile(store, account, mailbox), "utf8").catch(() => "");
  return sizesIn(text).bytes;
}

const foldersIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/**
 * Looks for the mailboxes in the store whose size has changed since the last look, and adds their sizes to the journal.
 * After a start it looks at all of them.
 */
export function openUsage(store: string, journal: Journal) {
  const seen = new Map<string, number>();
  return async (): Promise<void> => {
    for (const account of await foldersIn(store)) {
      for (const mailbox of await foldersIn(join(store, account))) {
        const file = sizeFile(store, account, mailbox);
        const changedAt = (await stat(file).catch(() => undefined))?.mtimeMs;
        if (!readUser(`${mailbox}@${account}`) || changedAt === undefined || seen.get(file) === changedAt) continue;
        const sizes = sizesIn(await readFile(file, "utf8"));
        const entry = { mailbox_id: mailbox, account_id: account, ...sizes, at: new Date().toISOString() };
        journal.add("usage", { list: "mailboxes", entry });
        seen.set(file, changedAt);
      }
    }
  };
}
