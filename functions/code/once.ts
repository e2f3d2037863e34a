import { createHash } from "node:crypto";

import * as z from "zod";

import { claimKey, findAnswer, type Claim } from "../../shared/idempotency.ts";
import type { Door } from "../../shared/invoke.ts";
import { catalogue } from "./catalogue.ts";
import { CodeResponse } from "./envelope.ts";
import { prepare, type Ran, type Run } from "./execute.ts";
import { pack, unpack } from "./packed.ts";
import { Held, heldOf, stillHolds } from "./standing.ts";

/** What was answered, and whether an earlier request that asked for the same had been answered so. */
export type Answered = { envelope: CodeResponse; replayed: boolean };

const hourMs = 3_600_000;

/** An envelope as it is stored, with what its caller held in the accounts it is about. */
const Stored = z.object({ envelope: CodeResponse, held: z.array(Held) });
type Stored = z.output<typeof Stored>;

/**
 * Runs a program once for its `requestId`: the same program, sent again with the same id, the same session and by the
 * same principal within an hour, is answered with the envelope of the first, as long as they hold what they held then. A
 * program that failed, or was cut off before its envelope was stored, runs again, and each write that was done the first
 * time is answered as it was then: what it left undone is done. An `idempotencyKey` does so in place of the id, for a
 * day, and for one program only: 422 for another once it has begun to run. While the first still runs, 409
 * `idempotency_in_flight`. A dry run has nothing to repeat.
 */
export async function executeOnce(run: Omit<Run, "key">, door: Door, idempotencyKey?: string): Promise<Answered> {
  const named = idempotencyKey === undefined ? byRequestId(run) : byHeader(run, idempotencyKey);
  const keyed = { ...named, principal: await door.authenticate(), now: door.now() };
  const found = run.dryRun ? undefined : await findAnswer(door.table, keyed);
  const known = found && (await readStored(found.replay));
  if (known && (await counts(known, door))) return { envelope: known.envelope, replayed: true };
  // What is wrong with the program, and what it costs, is settled before anything is written.
  const prepared = await prepare({ ...run, key: named.callKey }, door);
  if ("envelope" in prepared) return answered(prepared);
  const claimed = await claimKey(door.table, {
    ...keyed,
    counts: async (answer) => counts(await readStored(answer), door),
  });
  if ("replay" in claimed) return { envelope: (await readStored(claimed.replay)).envelope, replayed: true };
  const letGo = idempotencyKey === undefined ? claimed.release : claimed.lapse;
  try {
    const ran = await prepared.run();
    await keep(ran, { ...claimed, letGo }, { ...door, tellsSecret: idempotencyKey !== undefined });
    return answered(ran);
  } catch (error) {
    await letGo();
    throw error;
  }
}

const answered = ({ envelope }: Pick<Ran, "envelope">): Answered => ({
  envelope: CodeResponse.parse(envelope),
  replayed: false,
});

const readStored = async (answer: unknown): Promise<Stored> => Stored.parse(JSON.parse(await unpack(answer)));

/** Whether the caller may be answered with it; the accounts it is about are looked at, and charged but for the first. */
async function counts({ held }: Stored, door: Door): Promise<boolean> {
  const { id: principalId } = await door.authenticate();
  if (held.length > 1) await door.charge({ principalId, class: "default", cost: held.length - 1, prepaid: 1 });
  return stillHolds(held, door);
}

const door = { method: "POST" as const, secret: false, output: CodeResponse };

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

/**
 * Stores the envelope of a program that completed; lets go of the claim where it failed, or is not to be stored. One with
 * a secret is never stored: who sent a header is told so (409), else the program runs again. What is handed out for a
 * short time is handed out anew.
 */
async function keep(
  { envelope, holdings }: Ran,
  claim: Claim & { letGo: () => Promise<void> },
  { table, log, tellsSecret }: Pick<Door, "table" | "log"> & { tellsSecret: boolean },
): Promise<void> {
  const routes = envelope.responses.flatMap(({ function: name }) => catalogue.get(name)?.route ?? []);
  const isSecret = routes.some(({ secret }) => secret);
  const isStored = envelope.status === "completed" && !isSecret && routes.every(({ kept }) => kept);
  const stored = { envelope: CodeResponse.parse(envelope), held: heldOf(holdings) };
  const packed = isStored ? await pack(JSON.stringify(stored)) : undefined;
  const isTold = envelope.status === "completed" && isSecret && tellsSecret;
  if (!packed && !isTold) return claim.letGo();
  try {
    await table.attempt(claim.settleWith(packed));
  } catch (error) {
    log.error("envelope not kept", { error: String(error) });
    await claim.letGo();
  }
}
