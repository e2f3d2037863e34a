import { runtime } from "../http/runtime.ts";
import { secretsHere } from "../providers/secrets/factory.ts";
import type { Secrets } from "../providers/secrets/secrets.ts";

/** What sending a webhook takes beside the table. */
export type Outside = { secrets: Secrets; allowLoopback: boolean };

/** What this process sends webhooks with, from its environment. Needs it from the first call on, not at import. */
export const outside = (): Outside => ({
  secrets: secretsHere(),
  allowLoopback: runtime().env.WEBHOOK_LOOPBACK === "allow",
});
