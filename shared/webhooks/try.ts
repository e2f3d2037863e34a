import type { Log } from "../core/log.ts";
import type { StoredDelivery } from "./delivery.ts";
import type { Tried } from "./outcome.ts";
import { send } from "./send.ts";
import type { Outside } from "./services.ts";
import { sign } from "./signature.ts";
import { signingSecrets } from "./signing-secrets.ts";
import type { StoredWebhook } from "./webhook.ts";

export type Sending = Outside & { log: Log; now: () => Date; timeoutMs?: number };

/**
 * Signs and sends a delivery once, and answers what came of it. It never throws: what fails on our side is an
 * attempt too, so that a webhook whose secret does not open is tried by the schedule and not for ever.
 */
export async function tryOnce(
  webhook: StoredWebhook,
  { id }: Pick<StoredDelivery, "id">,
  body: string,
  sending: Sending,
): Promise<Tried> {
  const at = sending.now();
  const attempted_at = at.toISOString();
  try {
    const headers = sign(await signingSecrets(sending.secrets, webhook, at), id, at, body);
    const { allowLoopback, timeoutMs } = sending;
    const options = { allowLoopback, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const sent = await send({ url: webhook.url, headers, body }, options);
    const { statusCode = null, error = null, durationMs, retryAfterSeconds } = sent;
    return { attempt: { attempted_at, status_code: statusCode, error, duration_ms: durationMs }, retryAfterSeconds };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    sending.log.error("webhook not sent", { account_id: webhook.account_id, webhook_id: webhook.id, reason });
    return { attempt: { attempted_at, status_code: null, error: "internal_error", duration_ms: 0 } };
  }
}
