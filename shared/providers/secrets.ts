import type { Environment } from "../env.ts";
import { embeddedSecrets } from "./secrets-embedded.ts";
import { kmsSecrets } from "./secrets-kms.ts";

/**
 * Keeps small secrets (1 to 4,096 bytes of UTF-8) sealed at rest. The context says what a secret belongs to:
 * it is bound to the sealed text, not kept in it, and must be the same to open it.
 */
export type Secrets = {
  /** The sealed text, of printable ASCII. Throws 503 `upstream_unavailable`. */
  seal: (plaintext: string, context: Record<string, string>) => Promise<string>;
  /** The plaintext. Throws 503 `upstream_unavailable`, and an Error when key, context or text are not those of `seal`. */
  open: (sealed: string, context: Record<string, string>) => Promise<string>;
};

/** KMS takes no more in one call; the embedded ones promise no more either. */
const longestBytes = 4_096;

async function missing(): Promise<never> {
  throw new Error("There is nothing to seal secrets with: set SECRETS_KEY_ID (a KMS key) or SECRETS_KEY.");
}

function chosen(env: Pick<Environment, "SECRETS_KEY_ID" | "SECRETS_KEY">): Secrets {
  if (env.SECRETS_KEY_ID !== undefined) return kmsSecrets(env.SECRETS_KEY_ID);
  if (env.SECRETS_KEY !== undefined) return embeddedSecrets(Buffer.from(env.SECRETS_KEY, "base64"));
  return { seal: missing, open: missing };
}

/**
 * The secrets of an environment; make them once for each process, as they keep a client. Without a key
 * in the environment their first use throws, not this.
 */
export function secretsOf(env: Pick<Environment, "SECRETS_KEY_ID" | "SECRETS_KEY">): Secrets {
  const { seal, open } = chosen(env);
  return {
    seal: async (plaintext, context) => {
      const bytes = Buffer.byteLength(plaintext);
      if (bytes < 1 || bytes > longestBytes) throw new Error(`A secret has 1 to ${longestBytes} bytes, not ${bytes}.`);
      return seal(plaintext, context);
    },
    open,
  };
}
