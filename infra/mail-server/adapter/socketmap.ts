import type { Server } from "node:net";

import { startLineServer } from "./lines.ts";
import type { Table } from "./maps.ts";

/** The longest question, in bytes. Postfix has the same limit. */
const longest = 100_000;

/**
 * Reads the first netstring in some bytes, such as `5:hello,` (cr.yp.to/proto/netstrings.txt). Undefined while it is
 * not complete.
 */
function takeNetstring(bytes: Buffer): { question: string; rest: Buffer } | undefined {
  // The size of the longest question has six digits, so the colon is among the first seven bytes.
  const colon = bytes.indexOf(":");
  if (colon < 0 && bytes.length < 8) return undefined;
  const size = Number(bytes.subarray(0, colon).toString());
  if (colon < 0 || !Number.isInteger(size) || size > longest) throw new Error("The question is not a netstring.");
  const end = colon + 1 + size;
  if (bytes.length <= end) return undefined;
  return { question: bytes.subarray(colon + 1, end).toString(), rest: bytes.subarray(end + 1) };
}

/** The answer of a table, in the form of socketmap_table(5). A failed look-up answers TEMP, not NOTFOUND. */
async function answerOf(tables: Record<string, Table>, question: string): Promise<string> {
  const [name = "", ...words] = question.split(" ");
  const table = Object.hasOwn(tables, name) ? tables[name] : undefined;
  if (!table) return "PERM There is no such table.";
  try {
    const value = await table(words.join(" ").toLowerCase());
    return value === undefined ? "NOTFOUND " : `OK ${value}`;
  } catch (error) {
    return `TEMP ${error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : "failed"}`;
  }
}

/** Starts the server from which Postfix reads its tables (socketmap_table(5)). */
export const startSocketmap = (port: number, tables: Record<string, Table>): Promise<Server> =>
  startLineServer(port, takeNetstring, async (question) => {
    const answer = Buffer.from(await answerOf(tables, question));
    return Buffer.concat([Buffer.from(`${answer.length}:`), answer, Buffer.from(",")]);
  });
