import type { KMSClient } from "@aws-sdk/client-kms";

import { Problem } from "../../core/errors.ts";
import { isTransient } from "../aws-failure.ts";
import { type Secrets, sealBroken, sealedBytes } from "./secrets.ts";

const sealPrefix = "kms1:";

/** Loads the SDK at the first call to KMS, because most functions never call KMS. */
const loadSdk = () => import("@aws-sdk/client-kms");

async function newClient(requestTimeoutMs: number): Promise<KMSClient> {
  const { KMSClient } = await loadSdk();
  return new KMSClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
}

const brokenSeals = new Set(["InvalidCiphertextException", "IncorrectKeyException"]);

/**
 * The error for the caller: 503 when KMS is unavailable, `sealBroken` for a text that KMS cannot open, and otherwise
 * the original error.
 */
function kmsFailure(error: unknown): unknown {
  if (error instanceof Error && brokenSeals.has(error.name)) return sealBroken(error);
  if (!isTransient(error)) return error;
  return new Problem("upstream_unavailable", "The key service does not answer.", { retry_after: 2 });
}

async function callKms<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw kmsFailure(error);
  }
}

/**
 * Seals secrets with a KMS key, which never leaves KMS. The context is the EncryptionContext, which CloudTrail shows.
 * An attempt ends after `requestTimeoutMs`. A call has three attempts at most.
 */
export function kmsSecrets(keyId: string, requestTimeoutMs = 1_000): Secrets {
  let client: Promise<KMSClient> | undefined;
  const connect = (): Promise<KMSClient> => (client ??= newClient(requestTimeoutMs));
  return {
    seal: (plaintext, context) =>
      callKms(async () => {
        const { EncryptCommand } = await loadSdk();
        const input = { KeyId: keyId, Plaintext: Buffer.from(plaintext), EncryptionContext: context };
        const { CiphertextBlob } = await (await connect()).send(new EncryptCommand(input));
        if (!CiphertextBlob) throw new Error("KMS answered Encrypt without a ciphertext");
        return sealPrefix + Buffer.from(CiphertextBlob).toString("base64");
      }),
    open: (sealed, context) =>
      callKms(async () => {
        const { DecryptCommand } = await loadSdk();
        // The input has no `KeyId`, so KMS uses the key that the ciphertext names. This can be a former key. The
        // function's role allows only the keys of the stack, so no other key can open the text.
        const input = { CiphertextBlob: sealedBytes(sealPrefix, sealed), EncryptionContext: context };
        const { Plaintext } = await (await connect()).send(new DecryptCommand(input));
        if (!Plaintext) throw new Error("KMS answered Decrypt without a plaintext");
        return Buffer.from(Plaintext).toString("utf8");
      }),
  };
}
