import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";

import * as z from "zod";

import type { Claim } from "../../../shared/changes/recorder.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { claimKey, findAnswer } from "../../../shared/http/idempotency.ts";
import type { Door } from "../../../shared/http/invoke.ts";
import { CodeResponse } from "../envelope.ts";
import { RequestCharges, unitsToRead, unitsToWrite } from "../sessions/charges.ts";
import { type ProgramResult, type Run, prepare } from "./execute.ts";
import { Held, heldOf, stillHolds } from "./held-permissions.ts";

/** A text as it is stored: as it is, or Brotli (RFC 7932) in base64. */
const StoredText = z.union([z.object({ text: z.string() }), z.object({ brotli: z.string() })]);
type StoredText = z.output<typeof StoredText>;

const brotli = promisify(brotliCompress);
const unbrotli = promisify(brotliDecompress);

/** Below this a text is stored as it is. */
const plainChars = 700;
/** An item of the table holds 400 KB. */
const packedLimitChars = 380_000;

/** An envelope says much twice, far apart: the window is wide enough to see both. */
const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 } };

/** Packs a text for one item of the table; undefined where it does not fit into one. */
export async function compressText(text: string): Promise<StoredText | undefined> {
  if (text.length <= plainChars) return { text };
  const encoded = (await brotli(text, options)).toString("base64");
  return encoded.length <= packedLimitChars ? { brotli: encoded } : undefined;
}

/** The text that was packed. */
export async function restoreText(stored: unknown): Promise<string> {
  const packed = StoredText.parse(stored);
  return "text" in packed ? packed.text : (await unbrotli(Buffer.from(packed.brotli, "base64"))).toString();
}

/** What was answered, and whether an earlier request that asked for the same had been answered so. */
type Answered = { envelope: CodeResponse; replayed: boolean };

const hourMs = 3_600_000;

/** An envelope as it is stored, with what its caller held in the accounts it is about. */
const Stored = z.object({ envelope: CodeResponse, held: z.array(Held) });
type Stored = z.output<typeof Stored>;

/**
 * Runs a program once for its `requestId`: the same program, sent again with the same id, the same session and by the
 * same principal within an hour, is answered with the envelope of the first, as long as they hold what they held then. A
 * program that failed, was cut off before its envelope was stored, or has one that is not to be stored, runs again, and
 * each write that was done the first time is answered as it was then: what it left undone is done. An `idempotencyKey`
 * does so in place of the id, for a day, and for one program only: 422 for another once it has begun to run. While the
 * first still runs, 409 `idempotency_in_flight`. A dry run has nothing to repeat.
 */
export async function executeIdempotently(
  run: Omit<Run, "key">,
  door: Door,
  idempotencyKey?: string,
): Promise<Answered> {
  const named = idempotencyKey === undefined ? byRequestId(run) : byHeader(run, idempotencyKey);
  const purse = new RequestCharges(door);
  const weigh = (chars: number): Promise<void> => purse.pay(unitsToRead(chars));
  const keyed = { ...named, principal: await door.authenticate(), now: door.now(), weigh };
  const found = run.dryRun ? undefined : await findAnswer(door.table, keyed);
  const known = found && (await readStored(found.replay));
  if (known && (await counts(known, door, purse))) return { envelope: known.envelope, replayed: true };
  // What is wrong with the program, and what it costs, is settled before anything is written.
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

/** Whether the caller may be answered with it; the accounts it is about are looked at, and charged but for the first. */
async function counts({ held }: Stored, door: Door, purse: RequestCharges): Promise<boolean> {
  await purse.pay(held.length - 1);
  return stillHolds(held, door);
}

const door = { method: "POST" as const, shownOnce: [], kept: true, output: CodeResponse };

/** What a program is told from others by; keys of its calls are made from it. */
const programOf = ({ code, sessionId, readOnly }: Run): string =>
  createHash("sha256")
    .update(JSON.stringify([sessionId, readOnly === true, code]))
    .digest("base64url");

/** Another program with the same id is another request: a model mends its program and sends it again as it was asked. */
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

type Keeping = Pick<Door, "table" | "log"> & { purse: RequestCharges; tellsSecret: boolean };

/**
 * Stores the envelope of a program that completed; lets go of the claim where it failed, or is not to be stored. One with
 * a secret is never stored: who sent a header is told so (409), else the program runs again. What is handed out for a
 * short time is handed out anew, and so is what may leave what the caller sees. Nothing here makes a program fail.
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

/** An envelope as it is to be stored, which is paid for; undefined where it is not, or there is no room for what it costs. */
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
