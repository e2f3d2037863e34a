import { Problem } from "../core/errors.ts";
import { clock, dayMs } from "../core/time.ts";
import { isTransient } from "./aws-failure.ts";

export type NamedSecretOptions = { requestTimeoutMs?: number; nowMs?: () => number };

/** How long a fetched secret is used before the next call fetches it again, in milliseconds. */
const keptMs = 300_000;

/** A version of a secret: its text, and when it was stored. */
type Version = { text: string; storedAt: Date };

/** Fetches the current version of a secret, or the version with another staging label. */
async function fetchVersion(name: string, requestTimeoutMs: number, stage?: "AWSPREVIOUS"): Promise<Version> {
  const { GetSecretValueCommand, SecretsManagerClient } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
  try {
    const command = new GetSecretValueCommand({ SecretId: name, ...(stage ? { VersionStage: stage } : {}) });
    const { SecretString = "", CreatedDate = new Date(0) } = await client.send(command);
    return { text: SecretString, storedAt: CreatedDate };
  } catch (error) {
    if (!isTransient(error)) throw error;
    throw new Problem("upstream_unavailable", "A secret that this request needs cannot be read at the moment.", {
      retry_after: 2,
    });
  } finally {
    client.destroy();
  }
}

/** Fetches the version before the current version; undefined if there is none. */
async function fetchPrevious(name: string, requestTimeoutMs: number): Promise<Version | undefined> {
  try {
    return await fetchVersion(name, requestTimeoutMs, "AWSPREVIOUS");
  } catch (error) {
    if (error instanceof Error && error.name === "ResourceNotFoundException") return undefined;
    throw error;
  }
}

/**
 * Returns a function that keeps the result of `read` for 5 minutes. Then the next call of this function reads again. A
 * failure is not kept.
 */
function kept<T>(read: () => Promise<T>, nowMs: () => number): () => Promise<T> {
  let last: { result: Promise<T>; untilMs: number } | undefined;
  return () => {
    if (last && nowMs() < last.untilMs) return last.result;
    const begun = { result: read(), untilMs: nowMs() + keptMs };
    last = begun;
    begun.result.catch(() => {
      if (last === begun) last = undefined;
    });
    return begun.result;
  };
}

/**
 * Returns a function that reads a secret in Secrets Manager, by its name or ARN, and parses the secret's text with
 * `parse`.
 * - A fetched secret is used for 5 minutes, so a rotated secret is in use after at most 5 minutes. The first call after
 *   this time fetches the secret again.
 * - A failure is not cached: throws 503 `upstream_unavailable` when Secrets Manager is unavailable, and otherwise the
 *   original error.
 * - When `parse` throws, the error describes the expected text by `shape`, and contains nothing of the secret.
 */
export function namedSecret<T>(
  name: string,
  parse: (text: string) => T,
  shape: string,
  options: NamedSecretOptions = {},
): () => Promise<T> {
  const { requestTimeoutMs = 1_000, nowMs = () => performance.now() } = options;
  const read = async (): Promise<T> => parsed(name, (await fetchVersion(name, requestTimeoutMs)).text, parse, shape);
  return kept(read, nowMs);
}

function parsed<T>(name: string, text: string, parse: (text: string) => T, shape: string): T {
  try {
    return parse(text);
  } catch {
    throw new Error(`The secret ${name} is not ${shape}.`);
  }
}

/**
 * Parses a former version, and returns it as the only item of a list. If the text is invalid, returns an empty list:
 * the current version is valid, so the former version is not needed.
 */
function parsedOrNone<T>(text: string, parse: (text: string) => T): T[] {
  try {
    return [parse(text)];
  } catch {
    return [];
  }
}

/** How long the former version stays valid after the current version was stored, in milliseconds. */
const overlapMs = dayMs;

/**
 * Returns a function that reads the valid versions of a secret. The current version comes first. The version before it
 * (AWSPREVIOUS) is valid for a day after the current version was stored. So during a rotation, a party that still uses
 * the former secret is not refused. The function uses fetched versions for 5 minutes, and throws the same errors as
 * `namedSecret`.
 */
export function rotatingSecret<T>(
  name: string,
  parse: (text: string) => T,
  shape: string,
  options: NamedSecretOptions & { now?: () => Date } = {},
): () => Promise<T[]> {
  const { requestTimeoutMs = 1_000, nowMs = () => performance.now(), now = clock } = options;
  const read = async (): Promise<T[]> => {
    const [current, previous] = await Promise.all([
      fetchVersion(name, requestTimeoutMs),
      fetchPrevious(name, requestTimeoutMs),
    ]);
    const isRecent = now().getTime() - current.storedAt.getTime() < overlapMs;
    const former = previous && isRecent ? parsedOrNone(previous.text, parse) : [];
    return [parsed(name, current.text, parse, shape), ...former];
  };
  return kept(read, nowMs);
}
