import { hash } from "node:crypto";
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
import { HeldPermissions, storedPermissions, stillHolds } from "./held-permissions.ts";

/** A stored text: plain, or compressed with Brotli (RFC 7932) and encoded in base64. */
const StoredText = z.union([z.object({ text: z.string() }), z.object({ brotli: z.string() })]);
type StoredText = z.output<typeof StoredText>;

const brotli = promisify(brotliCompress);
const unbrotli = promisify(brotliDecompress);

/** The longest text that is stored uncompressed, in characters. */
const plainChars = 700;
/** The longest compressed text that is stored, in characters. An item of the table holds 400 KB in all. */
const packedLimitChars = 380_000;

/** A long text can occur twice in an envelope, far apart. The compression finds the repetition in a window of 4 MiB. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 } };

/** Compresses a text for one item of the table. Returns undefined if the compressed text does not fit into one item. */
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
type IdempotentAnswer = { envelope: CodeResponse; replayed: boolean };

const hourMs = 3_600_000;

/** A stored envelope, with the permissions that the caller held in the accounts of the program. */
const Stored = z.object({ envelope: CodeResponse, held: z.array(HeldPermissions) });
type Stored = z.output<typeof Stored>;

/**
 * Runs a program that its sender may send again with the same `requestId`.
 * - A repeat with the same id, program, session and principal within an hour gets the stored envelope. The caller must
 *   still hold the permissions of the first run.
 * - A program runs again if it failed, if it was cut off before its envelope was stored, or if the envelope is not
 *   stored. Finished writes are replayed, and the remaining writes are made.
 * - A cancelled program does not run again.
 * - An `idempotencyKey` replaces the id. The key is valid for a day and for one program. Throws 422 if the key was used
 *   for another program that began to run, and 409 `secret_already_shown` for a repeat whose envelope had a secret.
 * - Throws 409 `idempotency_in_flight` while the first run goes on.
 * - Dry runs have no effect and are never replayed.
 */
export async function executeIdempotently(
  run: Omit<Run, "key">,
  context: InvocationContext,
  idempotencyKey?: string,
): Promise<IdempotentAnswer> {
  const named = idempotencyKey === undefined ? byRequestId(run) : byHeader(run, idempotencyKey);
  const charges = new RequestCharges(context);
  const chargeRead = (chars: number): Promise<void> => charges.charge(unitsToRead(chars));
  const keyed = { ...named, principal: await context.authenticate(), now: context.now(), chargeRead };
  const found = run.dryRun ? undefined : await findAnswer(context.table, keyed);
  const known = found && (await parseStored(found.replay));
  if (known && (await mayReplay(known, context, charges))) return { envelope: known.envelope, replayed: true };
  // The program is checked and charged before its key is claimed.
  const prepared = await prepare({ ...run, key: named.callKey }, context, charges);
  if ("envelope" in prepared) return freshAnswer(prepared);
  const claimed = await claimKey(context.table, {
    ...keyed,
    isStillValid: async (answer) => mayReplay(await parseStored(answer), context, charges),
  }).catch(async (error: unknown) => {
    await prepared.abandon();
    throw error;
  });
  if ("replay" in claimed) {
    await prepared.abandon();
    return { envelope: (await parseStored(claimed.replay)).envelope, replayed: true };
  }
  // A key from the header can also be sent with another program. After this program has begun, the other program must
  // be refused. `release` would free the key for every program, and `lapse` frees it only for a repeat of this program.
  const endClaim = idempotencyKey === undefined ? claimed.release : claimed.lapse;
  try {
    const ran = await prepared.run();
    await storeEnvelope(ran, { ...claimed, endClaim }, { ...context, charges, hasKey: idempotencyKey !== undefined });
    return freshAnswer(ran);
  } catch (error) {
    await endClaim();
    throw error;
  }
}

const freshAnswer = ({ envelope }: Pick<ProgramResult, "envelope">): IdempotentAnswer => ({
  envelope: CodeResponse.parse(envelope),
  replayed: false,
});

const parseStored = async (answer: unknown): Promise<Stored> => Stored.parse(JSON.parse(await restoreText(answer)));

/**
 * Tells whether the caller may see a stored envelope. Looks up the permissions in each account of the envelope, and
 * charges 1 for each account except the first.
 */
async function mayReplay({ held }: Stored, context: InvocationContext, charges: RequestCharges): Promise<boolean> {
  await charges.charge(held.length - 1);
  return stillHolds(held, context);
}

/** The members of a route that `findAnswer` and `claimKey` need, for the answer of a program. */
const programRoute = {
  http: { method: "POST" as const },
  shownOnce: [],
  codeMode: { storesAnswer: true },
  output: CodeResponse,
};

/** Identifies a program by its text, session and mode. The idempotency keys of its calls are derived from this hash. */
const programOf = ({ code, sessionId, readOnly }: Run): string =>
  hash("sha256", JSON.stringify([sessionId, readOnly === true, code]), "base64url");

/** The program is part of the key, because a model may correct a program and send the new program with the same id. */
function byRequestId(run: Run) {
  const key = `${programOf(run)}/${run.requestId}`;
  const input = { params: {}, query: {}, body: {} };
  const route = { ...programRoute, name: "code.request" };
  return { route, key, callKey: `${route.name}/${key}`, input, keptMs: hourMs };
}

function byHeader(run: Run, key: string) {
  const { code, requestId, sessionId, readOnly } = run;
  const input = { params: {}, query: {}, body: { code, requestId, sessionId, readOnly: readOnly === true } };
  const route = { ...programRoute, name: "code.a2a" };
  return { route, key, callKey: `${route.name}/${key}/${programOf(run)}`, input };
}

type StoringContext = Pick<InvocationContext, "table" | "log"> & { charges: RequestCharges; hasKey: boolean };

/**
 * Stores the envelope of a completed or cancelled program, or ends the claim if the program failed or its envelope is
 * not stored.
 * - An envelope with a secret is never stored. A repeated request with an idempotency key (`hasKey`) gets 409. Without
 *   a key the program runs again.
 * - For a cancelled program at least the outcome is stored, without results, so that the program does not run again.
 * - An envelope with a short-lived address, or with an answer that the caller may later not see, is not stored. A
 *   repeated program runs again.
 * - An error while the envelope is stored is logged, and does not make the program fail.
 */
async function storeEnvelope(
  ran: ProgramResult,
  claim: Claim & { endClaim: () => Promise<void> },
  context: StoringContext,
): Promise<void> {
  const isSecret = [...ran.withheld.values()].includes("secret");
  const isShownOnce = ran.envelope.status === "completed" && context.hasKey && isSecret;
  try {
    const packed = await storedTextOf(ran, context);
    if (!packed && !isShownOnce) return await claim.endClaim();
    await context.table.attempt(claim.settleWith(packed));
  } catch (error) {
    context.log.error("envelope not kept", { error: String(error) });
    await claim.endClaim();
  }
}

/**
 * Compresses an envelope, and charges the cost of storing it. Returns undefined if the envelope must not be stored, if
 * it does not fit into one item, or if the rate limit has no room for the cost. For a cancelled program, returns the
 * envelope without results instead of undefined.
 */
async function storedTextOf(
  { envelope, permissions, withheld }: ProgramResult,
  { charges }: StoringContext,
): Promise<StoredText | undefined> {
  const held = storedPermissions(permissions);
  const isCancelled = envelope.error?.code === "cancelled";
  const brief = isCancelled ? await packEnvelope(withoutResults(envelope), []) : undefined;
  const isFinal = envelope.status === "completed" || isCancelled;
  const isStored = isFinal && envelope.responses.length > 0 && withheld.size === 0;
  if (!isStored || !held) return brief;
  const whole = await packEnvelope(envelope, held);
  try {
    if (whole) await charges.charge(unitsToWrite(JSON.stringify(whole).length));
    return whole ?? brief;
  } catch (error) {
    if (error instanceof Problem && error.code === "rate_limited") return brief;
    throw error;
  }
}

/** Compresses an envelope, with the permissions on which a replay of the envelope depends. */
const packEnvelope = (envelope: CodeResponse, held: HeldPermissions[]): Promise<StoredText | undefined> =>
  compressText(JSON.stringify({ envelope: CodeResponse.parse(envelope), held }));

/**
 * The envelope of a cancelled program without its results. The program's sender may always see this form, so it is
 * stored when the whole envelope must not be stored.
 */
function withoutResults(envelope: CodeResponse): CodeResponse {
  const omitted = { message: "The result is not stored." };
  return {
    ...envelope,
    result: { last_value: null },
    responses: envelope.responses.map((one) => (one.status === "completed" ? { ...one, result: omitted } : one)),
  };
}
