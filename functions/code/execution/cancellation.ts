import { createHash } from "node:crypto";

import * as z from "zod";

import { clientNetwork } from "../../../shared/core/ip.ts";
import { minuteMs } from "../../../shared/core/time.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import type { Key } from "../../../shared/table/writes.ts";

/*
 * Each request of a client may reach another process, so that a cancellation gets to the running program by the table.
 *
 * Access patterns
 *   when a request was cancelled   PRINCIPAL#<principal id> / CANCELLED#<SHA-256 of the network and the request's id>
 */

/**
 * Clients count their requests from 1 again in each connection, and may share a token. The network tells most of them
 * apart.
 */
const cancellationKey = (principalId: string, requestId: string | number, sourceIp = ""): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `CANCELLED#${createHash("sha256")
    .update(JSON.stringify([clientNetwork(sourceIp), requestId]))
    .digest("base64url")}`,
});

const Cancellation = z.object({ cancelled_at: z.number() });

/** A program looks for its cancellation at most this often, in milliseconds, and the first time after as long. */
const pauseMs = 1_000;

/** Stores that the caller has cancelled a request. The programs of its later requests with this id run. */
export async function cancelRequest(requestId: string | number, context: InvocationContext): Promise<void> {
  const { id } = await context.authenticate();
  const now = context.now().getTime();
  const key = cancellationKey(id, requestId, context.sourceIp);
  await context.table.attempt({ put: { ...key, cancelled_at: now, ttl: Math.ceil((now + minuteMs) / 1000) } });
}

/**
 * Begins to watch a request. The returned function tells whether the caller has cancelled it, or has closed the
 * connection if that cancels it. It reads the table once a second at most.
 */
export function watchCancellation(
  requestId: string | number,
  context: InvocationContext,
  endsWithConnection: boolean,
): () => Promise<boolean> {
  const startedAt = context.now().getTime();
  let nextAt = startedAt + pauseMs;
  let found = Promise.resolve(false);
  const look = async (): Promise<boolean> => {
    const { id } = await context.authenticate();
    const stored = await context.table.get(cancellationKey(id, requestId, context.sourceIp), Cancellation);
    return stored !== undefined && stored.cancelled_at >= startedAt;
  };
  return async () => {
    if (endsWithConnection && context.signal?.aborted) return true;
    const now = context.now().getTime();
    if (now >= nextAt) {
      nextAt = now + pauseMs;
      // A program goes on if this cannot be read.
      found = look().catch(() => false);
    }
    return found;
  };
}
