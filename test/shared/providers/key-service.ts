import * as z from "zod";

import { amzJson, amzRefusal, type Trouble } from "./amz-json.ts";
import { startLoopback } from "./loopback.ts";

const Call = z.object({
  /** KMS needs the key's id to encrypt. It decrypts without an id, because a ciphertext names its key. */
  KeyId: z.string().optional(),
  EncryptionContext: z.record(z.string(), z.string()),
  Plaintext: z.base64().optional(),
  CiphertextBlob: z.base64().optional(),
});

/** Answers a call with the protocol of KMS (AWS JSON 1.1). The ciphertext is the call itself in base64. */
function reply(target: string, { KeyId, EncryptionContext, Plaintext, CiphertextBlob = "" }: z.output<typeof Call>) {
  const about = { KeyId: `arn:aws:kms:local:000000000000:key/${KeyId}`, EncryptionAlgorithm: "SYMMETRIC_DEFAULT" };
  if (target === "TrentService.Encrypt") {
    if (KeyId === undefined) return amzRefusal({ status: 400, type: "ValidationException" });
    const sealed = Buffer.from(JSON.stringify({ KeyId, EncryptionContext, Plaintext })).toString("base64");
    return amzJson({ ...about, CiphertextBlob: sealed });
  }
  const text = Buffer.from(CiphertextBlob, "base64").toString();
  const sealed = text.startsWith("{") ? Call.parse(JSON.parse(text)) : undefined;
  if (JSON.stringify(sealed?.EncryptionContext) === JSON.stringify(EncryptionContext)) {
    return amzJson({ ...about, Plaintext: sealed?.Plaintext });
  }
  return amzRefusal({ status: 400, type: "InvalidCiphertextException" });
}

/** A key service on 127.0.0.1 until the test ends. `troubles` has the faults of the first requests, one for each. */
export const startKeyService = (...troubles: Trouble[]) =>
  startLoopback(
    ({ headers, body }) => reply(String(headers["x-amz-target"]), Call.parse(JSON.parse(body))),
    () => {
      const trouble = troubles.shift();
      return typeof trouble === "object" ? amzRefusal(trouble) : trouble;
    },
  );
