import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";

import * as z from "zod";

import type { Claim } from "../../../shared/changes/recorder.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { claimKey, findAnswer } from "../../../shared/http/idempotency.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { CodeResponse } from "../envelope.ts";
import { RequestCharges, unitsToRead, unitsToWrite } from "../sessions/charges.ts";
import { type ProgramResult, type Run, prepare } from "./execute.ts";
import { Held, heldOf, stillHolds } from "./held-permissions.ts";

/** A stored text: plain, or compressed with Brotli (RFC 7932) and encoded in base64. */
const StoredText = z.union([z.object({ text: z.string() }), z.object({ brotli: z.string() })]);
type StoredText = z.output<typeof StoredText>;

const brotli = promisify(brotliCompress);
const unbrotli = promisify(brotliDecompress);

/** Texts up to this length are stored uncompressed, in characters. */
const plainChars = 700;
/** An item of the table holds at most 400 KB. */
const packedLimitChars = 380_000;

/** Envelopes repeat long parts far apart, so the compression window spans both. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 } };

/** Compresses a text for one item of the table; undefined if it does not fit into one. */
export async function compressText(text: string): Promise<StoredText | undefined> {
  if (text.length <= plainChars) return { text };
  const encoded = (await brotli(text, options)).toString("base64");
  return encoded.length <= packedLimitChars ? { brotli: encoded } : undefined;
}

/** Restores a compressed text. */
export async function restoreText(stored: unknown): Promise<string> {
  const packed = StoredText.parse(stored);
  return "text" in packed ? packed.text : (await unbrotli(Buffer.from(packed.brotli, "base64"))).toString();
}

/** An answer, and whether it is the replayed answer of an earlier request. */
type Answered = { envelope: CodeResponse; replayed: boolean };

const hourMs = 3_600_000;

/** A stored envelope, with the caller's permissions in the accounts it concerns. */
const Stored = z.object({ envelope: CodeResponse, held: z.array(Held) });
type Stored = z.output<typeof Stored>;

/**
 * Runs a program at most once per `requestId`.
 * - The same id, program, session and principal within an hour: the stored envelope, if the caller still holds the
 *   permissions of the first run.
 * - A program that failed, was cut off before its envelope was stored, or whose envelope must not be stored: runs
 *   again. Finished writes are replayed, the remaining ones are made.
 * - An `idempotencyKey` replaces the id: it counts for a day and for one program; another program that is sent with it
 *   after the first began to run gets 422.
 * - The first run has not ended: 409 `idempotency_in_flight`.
 * - Dry runs have no effect and are never replayed.
 */
export async function executeIdempotently(
  run: Omit<Run, "key">,
  door: InvocationContext,
  idempotencyKey?: string,
): Promise<Answered> {
  const named = idempotencyKey === undefined ? byRequestId(run) : byHeader(run, idempotencyKey);
  const purse = new RequestCharges(door);
  const weigh = (chars: number): Promise<void> => purse.pay(unitsToRead(chars));
  const keyed = { ...named, principal: await door.authenticate(), now: door.now(), weigh };
  const found = run.dryRun ? undefined : await findAnswer(door.table, keyed);
  const known = found && (await readStored(found.replay));
  if (known && (await counts(known, door, purse))) return { envelope: known.envelope, replayed: true };
  // The program is checked and charged before anything is written.
  const prepared = await prepare({ ...run, key: named.callKey }, door, purse);
  if ("envelope" in prepared) return answered(prepared);
  const claimed = await claimKey(door.table, {
    ...keyed,
    counts: async (answer) => counts(await readStored(answer), door, purse),
  });
  if ("replay" in claimed) return { envelope: (await readStored(claimed.replay)).envelope, replayed: true };
  const letGo = idempotencyKey === undefined ? claimed.release : claimed.lapse;
  try {
    const ran = await prepared.run();
    await keep(ran, { ...claimed, letGo }, { ...door, purse, tellsSecret: idempotencyKey !== undefined });
    return answered(ran);
  } catch (error) {
    await letGo();
    throw error;
  }
}

const answered = ({ envelope }: Pick<ProgramResult, "envelope">): Answered => ({
  envelope: CodeResponse.parse(envelope),
  replayed: false,
});

const readStored = async (answer: unknown): Promise<Stored> => Stored.parse(JSON.parse(await restoreText(answer)));

/** Tells whether the caller may see a stored envelope. Looks up its accounts and charges 1 for each but the first. */
async function counts({ held }: Stored, door: InvocationContext, purse: RequestCharges): Promise<boolean> {
  await purse.pay(held.length - 1);
  return stillHolds(held, door);
}

const door = { method: "POST" as const, shownOnce: [], kept: true, output: CodeResponse };

/** Identifies a program by its text, session and mode. The idempotency keys of its calls are derived from this. */
const programOf = ({ code, sessionId, readOnly }: Run): string =>
  createHash("sha256")
    .update(JSON.stringify([sessionId, readOnly === true, code]))
    .digest("base64url");

/** The program is part of the key, since a model may fix its program and send it again under the same id. */
function byRequestId(run: Run) {
  const key = `${programOf(run)}/${run.requestId}`;
  const input = { params: {}, query: {}, body: {} };
  const route = { ...door, name: "code.request" };
  return { route, key, callKey: `${route.name}/${key}`, input, keptMs: hourMs };
}

function byHeader(run: Run, key: string) {
  const { code, requestId, sessionId, readOnly } = run;
  const input = { params: {}, query: {}, body: { code, requestId, sessionId, readOnly: readOnly === true } };
  const route = { ...door, name: "code.a2a" };
  return { route, key, callKey: `${route.name}/${key}/${programOf(run)}`, input };
}

type Keeping = Pick<InvocationContext, "table" | "log"> & { purse: RequestCharges; tellsSecret: boolean };

/**
 * Stores the envelope of a completed program, or releases the claim if the program failed or its envelope must not be
 * stored.
 * - An envelope with a secret is never stored. With an idempotency key a repeated request gets 409; without one the
 *   program runs again.
 * - Short-lived addresses, and answers that the caller may lose sight of, are made anew by running again.
 * - Errors here are logged and never make the program fail.
 */
async function keep(
  ran: ProgramResult,
  claim: Claim & { letGo: () => Promise<void> },
  keeping: Keeping,
): Promise<void> {
  const isSecret = [...ran.withheld.values()].includes("secret");
  const isTold = ran.envelope.status === "completed" && keeping.tellsSecret && isSecret;
  try {
    const packed = await storedTextOf(ran, keeping);
    if (!packed && !isTold) return await claim.letGo();
    await keeping.table.attempt(claim.settleWith(packed));
  } catch (error) {
    keeping.log.error("envelope not kept", { error: String(error) });
    await claim.letGo();
  }
}

/**
 * Compresses an envelope and pays for storing it; undefined if it must not be stored or the rate limit has no room for
 * the cost.
 */
async function storedTextOf(
  { envelope, holdings, withheld }: ProgramResult,
  { purse }: Keeping,
): Promise<StoredText | undefined> {
  const held = heldOf(holdings);
  const isStored = envelope.status === "completed" && envelope.responses.length > 0 && withheld.size === 0;
  if (!isStored || !held) return undefined;
  const packed = await compressText(JSON.stringify({ envelope: CodeResponse.parse(envelope), held }));
  try {
    if (packed) await purse.pay(unitsToWrite(JSON.stringify(packed).length));
    return packed;
  } catch (error) {
    if (error instanceof Problem && error.code === "rate_limited") return undefined;
    throw error;
  }
}
