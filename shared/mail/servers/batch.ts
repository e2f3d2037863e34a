import { hash } from "node:crypto";

import * as z from "zod";

import { mapConcurrently, allFulfilled } from "../../core/concurrency.ts";
import { invalidAt, InvalidInput, Problem, type ValidationError } from "../../core/errors.ts";
import { dayMs } from "../../core/time.ts";
import { addErrors } from "../../http/input.ts";
import { bodyText, checkFit } from "../../http/json-body.ts";
import { inWords } from "../../http/validation-messages.ts";
import type { Table } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import type { MailRequest } from "./handler.ts";

/*
 * Mail servers send their reports in batches. A batch is done in pieces. Each piece is one transaction with a claim: a
 * write that stores that the piece is done. So a batch that was interrupted is completed when it is sent again, and a
 * batch that is sent twice counts once.
 *
 * Access patterns
 *   the pieces of a batch that are done   MAIL_BATCH#<SHA-256 of the batch's id> / PIECE#<number>
 */
const pieceKey = (batchId: string, piece: string): Key => ({
  PK: `MAIL_BATCH#${hash("sha256", batchId)}`,
  SK: `PIECE#${piece}`,
});

/** How long a batch can be sent again, in milliseconds. */
const repeatableMs = 7 * dayMs;

/** The most entries of a batch, in all its lists together. */
const batchLimit = 500;

/** The id of a batch, made by the mail server. The same batch has the same id when it is sent again. */
export const BatchId = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, { error: "Write 1 to 255 visible ASCII characters, such as a UUID" });

const earliestMs = Date.UTC(2000, 0, 1);

/** A time in RFC 3339 from 2000 to 9999 (UTC), with any offset and any precision. The output is a `Timestamp`. */
export const ReportedTime = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => Date.parse(text) >= earliestMs, { error: "Write a time in the year 2000 or later" })
  .refine((text) => new Date(text).getUTCFullYear() <= 9999, { error: "Write a time before the year 10000" })
  .transform((text) => new Date(text).toISOString());

/** A batch as it was read, and a hash of its content. */
export type Batch<T> = { content: T; fingerprint: string };

/**
 * Reads the JSON body of a request. Throws:
 * - 400 for malformed JSON, or bytes that are not UTF-8;
 * - 413 for more than 1 MiB;
 * - 415 for a content coding, or a charset that is not UTF-8;
 * - 422 for a body that the schema refuses, that has more than 500 entries, or that has a number which a double cannot
 *   hold.
 */
export function readBatch<S extends z.ZodObject>(schema: S, request: MailRequest): Batch<z.output<S>> {
  const text = bodyText({ ...request, body: request.body ?? "" });
  const result = schema.safeParse(jsonOf(text), { reportInput: true, error: inWords });
  if (!result.success) {
    const errors: ValidationError[] = [];
    addErrors(errors, "body", result.error.issues);
    throw new InvalidInput(errors);
  }
  const lists = Object.values(result.data).filter((value) => Array.isArray(value));
  if (lists.reduce((sum, { length }) => sum + length, 0) > batchLimit) {
    const msg = `A batch has at most ${batchLimit} entries. Send the rest in another batch`;
    throw invalidAt(["body"], msg, "too_long");
  }
  return { content: result.data, fingerprint: hash("sha256", JSON.stringify(result.data)) };
}

function jsonOf(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem("malformed_json", "The body is not valid JSON.");
  }
  checkFit(text);
  return value;
}

/** An entry of a batch that has no effect: its list, its index in the list, and the reason. */
const Ignored = z.object({ list: z.string(), index: z.int(), reason: z.string() });
export type Ignored = z.output<typeof Ignored>;

const StoredPiece = z.object({ fingerprint: z.string(), ignored: z.array(Ignored) });

/** The most writes of a piece, besides its claim. DynamoDB allows 100 in a transaction. */
const pieceLimit = 99;

/**
 * Cuts units of work into pieces of at most 99 writes. `writesOf` returns the most writes that a unit can take, up to
 * 99. The order of the units is kept.
 */
export function cutIntoPieces<U>(units: readonly U[], writesOf: (unit: U) => number): U[][] {
  const pieces: U[][] = [];
  let left = 0;
  for (const unit of units) {
    const writes = writesOf(unit);
    if (pieces.length === 0 || writes > left) {
      pieces.push([]);
      left = pieceLimit;
    }
    pieces.at(-1)?.push(unit);
    left -= writes;
  }
  return pieces;
}

type Work<U> = {
  batchId: string;
  fingerprint: string;
  /** The pieces. They must follow from the batch's content alone, so that a repeat has the same pieces. */
  pieces: readonly (readonly U[])[];
  /** Plans the writes of a piece. Must have no other effects, because it may run more than once for a piece. */
  plan: (units: readonly U[]) => Promise<{ writes: Write[]; ignored: Ignored[] }>;
};

/** How many pieces are done at the same time. */
const concurrency = 4;

/**
 * Does the pieces of a batch that are not done yet, and returns the entries that have no effect. A repeat of a done
 * batch within 7 days returns the same entries and changes nothing. Throws 422 for another batch with the same id. If
 * pieces fail, the other pieces are still done. Then this function throws the error of the first failed piece.
 */
export async function runBatch<U>(
  { batchId, fingerprint, pieces, plan }: Work<U>,
  { table, now }: { table: Table; now: () => Date },
): Promise<Ignored[]> {
  const { PK, SK } = pieceKey(batchId, "");
  const done = new Map((await table.between(PK, SK, `${SK}~`)).map((item) => [item.SK, StoredPiece.parse(item)]));
  for (const stored of done.values()) requireSame(stored, fingerprint);
  // A batch without work has a claim too, so that no other batch can use its id.
  const claimed = pieces.length === 0 ? [[]] : pieces;
  const results = await mapConcurrently([...claimed.entries()], concurrency, async ([index, units]) => {
    const key = pieceKey(batchId, String(index).padStart(4, "0"));
    return done.get(key.SK)?.ignored ?? runPiece(key, fingerprint, () => plan(units), { table, now });
  });
  return allFulfilled(results).flat();
}

const runPiece = (
  key: Key,
  fingerprint: string,
  plan: () => ReturnType<Work<unknown>["plan"]>,
  { table, now }: { table: Table; now: () => Date },
): Promise<Ignored[]> =>
  table.commit(async () => {
    const stored = await table.get(key, StoredPiece);
    if (stored) {
      requireSame(stored, fingerprint);
      return { value: stored.ignored, writes: [] };
    }
    const { writes, ignored } = await plan();
    const ttl = Math.ceil((now().getTime() + repeatableMs) / 1_000);
    return { value: ignored, writes: [{ put: { ...key, fingerprint, ignored, ttl }, if: "absent" }, ...writes] };
  });

function requireSame(stored: z.output<typeof StoredPiece>, fingerprint: string): void {
  if (stored.fingerprint === fingerprint) return;
  const msg = "Another batch had this id. Give each batch an id of its own";
  throw invalidAt(["body", "batch_id"], msg);
}

/**
 * The answer to a batch: the number of accepted entries, and the ignored entries in the order of the lists. `ignored`
 * must name an entry only once.
 */
export function batchAnswer(
  lists: Record<string, readonly unknown[]>,
  ignored: readonly Ignored[],
): { accepted: number; ignored: Ignored[] } {
  const names = Object.keys(lists);
  const total = Object.values(lists).reduce((sum, { length }) => sum + length, 0);
  const sorted = ignored.toSorted((a, b) => names.indexOf(a.list) - names.indexOf(b.list) || a.index - b.index);
  return { accepted: total - sorted.length, ignored: sorted };
}
