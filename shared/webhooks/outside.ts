import { secretsOf, type Secrets } from "../providers/secrets.ts";
import { runtime } from "../runtime.ts";

/** What sending a webhook takes beside the table. */
export type Outside = { secrets: Secrets; allowLoopback: boolean };

let secrets: Secrets | undefined;

/** What this process sends webhooks with, from its environment. Needs it from the first call on, not at import. */
export function outside(): Outside {
  const { env } = runtime();
  return { secrets: (secrets ??= secretsOf(env)), allowLoopback: env.WEBHOOK_LOOPBACK === "allow" };
}
