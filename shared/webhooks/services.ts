import { runtime } from "../http/runtime.ts";
import { secretsHere } from "../providers/secrets/factory.ts";
import type { Secrets } from "../providers/secrets/secrets.ts";

/** The services needed to send a webhook, besides the table. */
export type WebhookServices = { secrets: Secrets; allowLoopback: boolean };

/** The services with which this process sends webhooks. Reads the environment when called, not at import. */
export const webhookServices = (): WebhookServices => ({
  secrets: secretsHere(),
  allowLoopback: runtime().env.WEBHOOK_LOOPBACK === "allow",
});
