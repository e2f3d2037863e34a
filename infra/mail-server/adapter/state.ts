import { renameSync, writeFileSync } from "node:fs";

/**
 * Replaces the text of a file as a whole. If the process dies, the disk is full or the power fails, the file has the
 * former text or the new text.
 */
export function replaceFile(file: string, text: string): void {
  const next = `${file}.next`;
  writeFileSync(next, text, { flush: true });
  renameSync(next, file);
}
