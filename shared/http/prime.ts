import type * as z from "zod";

import { runtime } from "./runtime.ts";

/**
 * Prepares a Lambda for its first request: connects to the table, begins to load the issuers' keys, and prepares
 * schemas. Does not wait for an issuer, because the issuer can be down. Never throws: if something fails, the first
 * request fails the same way, and answers with the error.
 */
export async function prime(schemas: readonly z.ZodType[]): Promise<void> {
  try {
    const { env, client, loadIssuerKeys } = runtime();
    // A request needs two connections: it charges the rate limit while it reads.
    const connections = [1, 2].map(() => client.connect(env.TABLE_NAME));
    loadIssuerKeys().catch(() => undefined);
    // zod prepares a schema at its first use. The connections open meanwhile.
    for (const schema of schemas) schema.safeParse({});
    await Promise.all(connections);
  } catch {
    // The environment is not valid. The first request fails with the reason.
  }
}
