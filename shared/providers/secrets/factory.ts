import * as z from "zod";

import { lazy, unconfigured } from "../lazy.ts";
import { embeddedSecrets } from "./embedded.ts";
import { kmsSecrets } from "./kms.ts";
import type { Secrets } from "./secrets.ts";

/** The key that encrypts secrets: a KMS key's id or ARN, or 32 bytes as base64. */
export const SecretsEnvironment = z
  .object({
    SECRETS_KEY_ID: z.string().min(1).optional(),
    SECRETS_KEY: z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, { error: "Write 32 bytes as base64" })
      .optional(),
  })
  .refine(({ SECRETS_KEY_ID, SECRETS_KEY }) => SECRETS_KEY_ID === undefined || SECRETS_KEY === undefined, {
    error: "Give either SECRETS_KEY_ID or SECRETS_KEY",
  });
type SecretsEnvironment = z.output<typeof SecretsEnvironment>;

/** The most bytes that KMS encrypts in one call. The embedded implementation has the same limit. */
const longestBytes = 4_096;

/** The methods of the provider, for `lazy`. */
const calls = { seal: true, open: true } as const;

const notConfigured = "No key for secrets is configured. Set SECRETS_KEY_ID (a KMS key) or SECRETS_KEY.";

function chosen(env: SecretsEnvironment): Secrets {
  if (env.SECRETS_KEY_ID !== undefined) return kmsSecrets(env.SECRETS_KEY_ID);
  if (env.SECRETS_KEY !== undefined) return embeddedSecrets(Buffer.from(env.SECRETS_KEY, "base64"));
  return lazy<Secrets>(calls, unconfigured(notConfigured));
}

/**
 * The service that seals secrets, as the environment configures it. Open the service once per process, because it keeps
 * a client open. If no key is configured, this function does not throw, but `seal` and `open` throw an Error.
 */
export function secretsOf(env: SecretsEnvironment): Secrets {
  const { seal, open } = chosen(env);
  return {
    seal: async (plaintext, context) => {
      const bytes = Buffer.byteLength(plaintext);
      if (bytes < 1 || bytes > longestBytes)
        throw new Error(`A secret must have 1 to ${longestBytes} bytes, not ${bytes}.`);
      return seal(plaintext, context);
    },
    open,
  };
}

let ofProcess: Secrets | undefined;

/** The service of this process that seals secrets. Reads the environment at the first call, not at import. */
export const secretsHere = (): Secrets => (ofProcess ??= secretsOf(SecretsEnvironment.parse(process.env)));
