import { hash } from "node:crypto";

import * as z from "zod";

import { clientNetwork } from "../../../shared/core/ip.ts";
import { minuteMs } from "../../../shared/core/time.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import type { Key } from "../../../shared/table/writes.ts";

/*
 * A program and its cancellation may reach different processes. So the cancellation is stored in the table, where the
 * program finds it.
 *
 * Access patterns
 *   when a request was cancelled   PRINCIPAL#<principal id> / CANCELLED#<SHA-256 of the network and the request's id>
 */

/**
 * The key of a cancellation. Several clients may share a token, and each client may number its requests from 1. The
 * client's network is part of the key, so that a cancellation does not reach requests with the same id from other
 * networks.
 */
const cancellationKey = (principalId: string, requestId: string | number, sourceIp = ""): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `CANCELLED#${hash("sha256", JSON.stringify([clientNetwork(sourceIp), requestId]), "base64url")}`,
});

const Cancellation = z.object({ cancelled_at: z.number() });

/**
 * The shortest time from a program's start to its first check for a cancellation, and between two checks, in
 * milliseconds.
 */
const pauseMs = 1_000;

/** Stores that the caller has cancelled a request. A request with the same id that begins later is not cancelled. */
export async function cancelRequest(requestId: string | number, context: InvocationContext): Promise<void> {
  const { id } = await context.authenticate();
  const now = context.now().getTime();
  const key = cancellationKey(id, requestId, context.sourceIp);
  await context.table.attempt({ put: { ...key, cancelled_at: now, ttl: Math.ceil((now + minuteMs) / 1000) } });
}

/**
 * Begins to watch a request. The returned function tells whether the caller has cancelled the request. It reads the
 * table once a second at most. If `endsWithConnection`, a closed connection cancels the request too.
 */
export function watchCancellation(
  requestId: string | number,
  context: InvocationContext,
  endsWithConnection: boolean,
): () => Promise<boolean> {
  const startedAt = context.now().getTime();
  let nextAt = startedAt + pauseMs;
  let isCancelled = Promise.resolve(false);
  const readCancellation = async (): Promise<boolean> => {
    const { id } = await context.authenticate();
    const stored = await context.table.get(cancellationKey(id, requestId, context.sourceIp), Cancellation);
    return stored !== undefined && stored.cancelled_at >= startedAt;
  };
  return async () => {
    if (endsWithConnection && context.signal?.aborted) return true;
    const now = context.now().getTime();
    if (now >= nextAt) {
      nextAt = now + pauseMs;
      // If the table does not answer, the program goes on.
      isCancelled = readCancellation().catch(() => false);
    }
    return isCancelled;
  };
}
