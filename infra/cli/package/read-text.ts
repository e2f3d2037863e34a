import { readFileSync } from "node:fs";
import { basename } from "node:path";

import { Failure } from "./failures.ts";

/**
 * The text of a file, without a byte order mark, or of the standard input if `file` is `-`. Throws a `Failure` if the
 * file cannot be read, or if it is not UTF-8.
 */
export function readText(file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file === "-" ? 0 : file));
  } catch (error) {
    if (error instanceof TypeError)
      throw new Failure(`${basename(file)} is not UTF-8. Save it as UTF-8 and try again.`);
    throw new Failure(`${basename(file)} cannot be read: ${(error as Error).message}`);
  }
}
