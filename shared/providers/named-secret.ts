import { Problem } from "../core/errors.ts";
import { mayPass } from "./aws-failure.ts";

export type NamedSecretOptions = { requestTimeoutMs?: number; nowMs?: () => number };

const keptMs = 300_000;

async function fetchText(name: string, requestTimeoutMs: number): Promise<string> {
  const { GetSecretValueCommand, SecretsManagerClient } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
  try {
    const { SecretString = "" } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    return SecretString;
  } catch (error) {
    if (!mayPass(error)) throw error;
    throw new Problem("upstream_unavailable", "A secret that this request needs cannot be read at the moment.", {
      retry_after: 2,
    });
  } finally {
    client.destroy();
  }
}

/**
 * Reads a secret in Secrets Manager (by its name or ARN) and parses its text with `parse`.
 * - It is fetched at the first call and every 5 minutes, so a rotated secret is in use after at most 5 minutes.
 * - A failure is not cached: throws 503 `upstream_unavailable`, or the original error when the mistake is ours.
 * - When `parse` throws, the error describes the expected text by `shape` and contains nothing of the text itself.
 */
export function namedSecret<T>(
  name: string,
  parse: (text: string) => T,
  shape: string,
  options: NamedSecretOptions = {},
): () => Promise<T> {
  const { requestTimeoutMs = 1_000, nowMs = () => performance.now() } = options;
  let kept: { secret: Promise<T>; untilMs: number } | undefined;
  const read = async (): Promise<T> => {
    const text = await fetchText(name, requestTimeoutMs);
    try {
      return parse(text);
    } catch {
      throw new Error(`The secret ${name} is not ${shape}.`);
    }
  };
  return () => {
    if (kept && nowMs() < kept.untilMs) return kept.secret;
    const fetched = { secret: read(), untilMs: nowMs() + keptMs };
    kept = fetched;
    fetched.secret.catch(() => {
      if (kept === fetched) kept = undefined;
    });
    return fetched.secret;
  };
}
