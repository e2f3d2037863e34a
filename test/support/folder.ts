import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

/** Makes a folder, which is deleted at the end of the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hosted-mail-folder-"));
  // A process that ends can still write into the folder meanwhile.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
