import type { Principal } from "../auth/principal.ts";
import { userVerifier, rememberTokens } from "../auth/user-token.ts";
import { readEnvironment, type Environment } from "../core/environment.ts";
import { newLimiterMemory, type LimiterMemory } from "../rate-limits/limiter.ts";
import { TableClient } from "../table/client.ts";
import { SeenItems } from "../table/seen-items.ts";

export type Runtime = {
  env: Environment;
  client: TableClient;
  verifyUser: (token: string) => Promise<Principal>;
  /**
   * Loads the keys of all issuers. Without a call of `loadIssuerKeys`, the first token of each issuer loads the keys of
   * that issuer.
   */
  loadIssuerKeys: () => Promise<void>;
  limiterMemory: LimiterMemory;
  seen: SeenItems;
};

let currentRuntime: Runtime | undefined;

/** The objects that live as long as the process. Made from the environment at the first call, not at import. */
export function runtime(): Runtime {
  if (!currentRuntime) {
    const env = readEnvironment(process.env);
    const verifier = userVerifier(env.ISSUERS);
    currentRuntime = {
      env,
      client: new TableClient(),
      verifyUser: rememberTokens(verifier),
      loadIssuerKeys: verifier.loadKeys,
      limiterMemory: newLimiterMemory(),
      seen: new SeenItems(),
    };
  }
  return currentRuntime;
}
