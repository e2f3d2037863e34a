import { createHash } from "node:crypto";

import { claimKey, type Claim } from "../../shared/idempotency.ts";
import type { Door } from "../../shared/invoke.ts";
import { catalogue } from "./catalogue.ts";
import { CodeResponse } from "./envelope.ts";
import { execute, type Run } from "./execute.ts";
import { pack, unpack } from "./packed.ts";

/** What was answered, and whether an earlier request that asked for the same had been answered so. */
export type Answered = { envelope: CodeResponse; replayed: boolean };

const hourMs = 3_600_000;

/**
 * Runs a program once for its `requestId`: the same program, sent again with the same id, the same session and by the
 * same principal within an hour, is answered with the envelope of the first. A program that failed, or was cut off
 * before its envelope was stored, runs again, and each write that was done the first time is answered as it was then:
 * what it left undone is done. An `idempotencyKey` does so in place of the id, for a day, and for one program only: 422.
 * While the first still runs, 409 `idempotency_in_flight`. A dry run has nothing to repeat.
 */
export async function executeOnce(run: Omit<Run, "key">, door: Door, idempotencyKey?: string): Promise<Answered> {
  if (run.dryRun) return { envelope: CodeResponse.parse(await execute(run, door)), replayed: false };
  const principal = await door.authenticate();
  const named = idempotencyKey === undefined ? byRequestId(run) : byHeader(run, idempotencyKey);
  const claimed = await claimKey(door.table, { ...named, principal, now: door.now() });
  if ("replay" in claimed) {
    await door.charge({ principalId: principal.id, class: "default", cost: 1 });
    return { envelope: CodeResponse.parse(JSON.parse(await unpack(claimed.replay))), replayed: true };
  }
  try {
    const envelope = CodeResponse.parse(await execute({ ...run, key: `${named.route.name}/${named.key}` }, door));
    await keep(envelope, claimed, { ...door, tellsSecret: idempotencyKey !== undefined });
    return { envelope, replayed: false };
  } catch (error) {
    await claimed.release();
    throw error;
  }
}

const door = { method: "POST" as const, secret: false, output: CodeResponse };

/** Another program with the same id is another request: a model mends its program and sends it again as it was asked. */
function byRequestId({ code, requestId, sessionId, readOnly }: Run) {
  const program = createHash("sha256")
    .update(JSON.stringify([sessionId, readOnly === true, code]))
    .digest("base64url");
  const input = { params: {}, query: {}, body: {} };
  return { route: { ...door, name: "code.request" }, key: `${program}/${requestId}`, input, keptMs: hourMs };
}

function byHeader({ code, requestId, sessionId, readOnly }: Run, key: string) {
  const input = { params: {}, query: {}, body: { code, requestId, sessionId, readOnly: readOnly === true } };
  return { route: { ...door, name: "code.a2a" }, key, input };
}

/**
 * Stores the envelope of a program that completed; lets go of the claim where it failed, or is too large to be stored.
 * One with a secret is never stored: who sent a header is told so (409), else the program runs again.
 */
async function keep(
  envelope: CodeResponse,
  claim: Claim,
  { table, log, tellsSecret }: Pick<Door, "table" | "log"> & { tellsSecret: boolean },
): Promise<void> {
  const isSecret = envelope.responses.some(({ function: name }) => catalogue.get(name)?.route.secret);
  const isKept = envelope.status === "completed" && (!isSecret || tellsSecret);
  const packed = isKept && !isSecret ? await pack(JSON.stringify(envelope)) : undefined;
  if (!isKept || (!isSecret && !packed)) return claim.release();
  try {
    await table.attempt(claim.settleWith(packed));
  } catch (error) {
    log.error("envelope not kept", { error: String(error) });
    await claim.release();
  }
}
