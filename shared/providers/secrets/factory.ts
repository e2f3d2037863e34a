import type { Environment } from "../../core/environment.ts";
import { runtime } from "../../http/runtime.ts";
import { lazy, unconfigured } from "../lazy.ts";
import { embeddedSecrets } from "./embedded.ts";
import { kmsSecrets } from "./kms.ts";
import type { Secrets } from "./secrets.ts";

/** KMS takes no more in one call; the embedded ones promise no more either. */
const longestBytes = 4_096;

const calls = { seal: true, open: true } as const;

const missing = "There is nothing to seal secrets with: set SECRETS_KEY_ID (a KMS key) or SECRETS_KEY.";

function chosen(env: Pick<Environment, "SECRETS_KEY_ID" | "SECRETS_KEY">): Secrets {
  if (env.SECRETS_KEY_ID !== undefined) return kmsSecrets(env.SECRETS_KEY_ID);
  if (env.SECRETS_KEY !== undefined) return embeddedSecrets(Buffer.from(env.SECRETS_KEY, "base64"));
  return lazy<Secrets>(calls, unconfigured(missing));
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

let ofProcess: Secrets | undefined;

/** The secrets of this process. Needs the environment when it is called, not at import. */
export const secretsHere = (): Secrets => (ofProcess ??= secretsOf(runtime().env));
