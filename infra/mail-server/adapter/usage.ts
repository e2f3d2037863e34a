import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import type { Journal } from "./journal.ts";
import { readUser } from "./maps.ts";

/**
 * Reads the text of a file `maildirsize` (Maildir++). After the first line, each line adds a number of bytes and a
 * number of messages. A negative sum counts as 0.
 */
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

/** The size of a mailbox, in bytes. 0 if the store of this machine does not have the mailbox. */
export async function sizeOf(store: string, account: string, mailbox: string): Promise<number> {
  const text = await readFile(sizeFile(store, account, mailbox), "utf8").catch(() => "");
  return sizesIn(text).bytes;
}

const foldersIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/**
 * Returns a function that adds the sizes of changed mailboxes to the journal. A mailbox is changed if its size file has
 * changed since the last call. The first call adds the sizes of all mailboxes.
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
