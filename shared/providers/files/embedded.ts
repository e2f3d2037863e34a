import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Files } from "./files.ts";

/** A signed permission to download; `expires` is in seconds since 1970. */
export type Ticket = { key: string; filename: string; expires: number; signature: string };

const signTicket = (secret: Buffer, { key, filename, expires }: Omit<Ticket, "signature">): Buffer =>
  createHmac("sha256", secret)
    .update(JSON.stringify([key, filename, expires]))
    .digest();

/** Whether a ticket is unchanged and was signed with this secret. */
export function isGenuine(secret: Buffer, ticket: Ticket): boolean {
  const [actual, expected] = [Buffer.from(ticket.signature, "base64url"), signTicket(secret, ticket)];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");

/** The content of the file with this key in a folder; undefined when there is no such file. */
export async function readEmbedded(folder: string, key: string): Promise<Buffer | undefined> {
  try {
    return await readFile(join(folder, key));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function put(folder: string, key: string, content: Buffer | AsyncIterable<Buffer>): Promise<void> {
  const file = join(folder, key);
  // No name in a key begins with a dot, so no key names an unfinished file.
  const unfinished = join(dirname(file), `.${randomUUID()}`);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(unfinished, content, { mode: 0o600, flush: true });
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function exists(folder: string, key: string): Promise<boolean> {
  try {
    return (await stat(join(folder, key))).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Keeps files in a folder of this machine. infra/local/pages/files.ts serves them at URLs signed with HMAC-SHA256. */
export const embeddedFiles = (place: { folder: string; secret: Buffer; baseUrl: string }): Files => ({
  put: (key, content) => put(place.folder, key, content),
  putStream: (key, content) => put(place.folder, key, content),
  exists: (key) => exists(place.folder, key),
  downloadUrl: async (key, { filename, expiresInSeconds, now }) => {
    const expires = Math.floor(now.getTime() / 1000) + expiresInSeconds;
    const named = filename.toWellFormed();
    const signature = signTicket(place.secret, { key, filename: named, expires }).toString("base64url");
    const query = new URLSearchParams({ expires: String(expires), filename: named, signature });
    return `${place.baseUrl.replace(/\/$/, "")}/_local/files/${key}?${query.toString()}`;
  },
});
