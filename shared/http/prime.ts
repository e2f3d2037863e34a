import type * as z from "zod";

import { runtime } from "./runtime.ts";

/**
 * Does at the end of a Lambda's init what its first request would do otherwise: connects to the table, begins to load the
 * issuers' keys, and prepares schemas. It does not wait for an issuer, which can be down. The first request meets a failure
 * again, and answers it.
 */
export async function prime(schemas: readonly z.ZodType[]): Promise<void> {
  try {
    const { env, client, loadIssuerKeys } = runtime();
    // The charge of a request's limit goes beside its reads, over a connection of its own.
    const connected = [1, 2].map(() => client.connect(env.TABLE_NAME));
    loadIssuerKeys().catch(() => undefined);
    // After the connections, because it takes no longer than the network does.
    for (const schema of schemas) schema.safeParse({});
    await Promise.all(connected);
  } catch {
    // The environment is wrong. The first request says how.
  }
}
