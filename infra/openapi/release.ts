import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { readWords } from "./command-line.ts";
import { openApiDocument } from "./document.ts";

/**
 * The file with the document of the latest release, without descriptions and examples. Later documents must be
 * compatible with this document.
 */
export const releaseFile = join(import.meta.dirname, "release.json.gz");

/** The members that only explain. Changes of these members do not break a client. */
const wordMembers: ReadonlySet<string> = new Set(["description", "summary", "example", "examples"]);

/**
 * Returns a document without descriptions and examples. Keeps all members of `properties`, because a property can have
 * any name, such as `description`. `isNames` is true if `node` is the object in `properties`.
 */
export function contractOf(node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((item) => contractOf(item));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([name]) => isNames || !wordMembers.has(name))
      .map(([name, value]) => [name, contractOf(value, name === "properties" && !isNames)]),
  );
}

if (import.meta.main) {
  readWords(
    "Usage: npm run openapi:release\n\nStores the present OpenAPI document as the document of the latest release.",
  );
  await writeFile(releaseFile, gzipSync(JSON.stringify(contractOf(openApiDocument()), null, 1)));
  process.stdout.write(`${releaseFile}\n`);
}
