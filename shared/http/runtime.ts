import { rememberTokens } from "../auth/remembered-tokens.ts";
import { userVerifier, type UserVerifier } from "../auth/user-token.ts";
import { readEnvironment, type Environment } from "../core/environment.ts";
import { newLimiterMemory, type LimiterMemory } from "../rate-limits/limiter.ts";
import { TableClient } from "../table/client.ts";

export type Runtime = {
  env: Environment;
  client: TableClient;
  verifyUser: UserVerifier;
  limiterMemory: LimiterMemory;
};

let currentRuntime: Runtime | undefined;

/**
 * The objects that live as long as the process. They are made from the environment at the first request, not at import.
 */
export function runtime(): Runtime {
  if (!currentRuntime) {
    const env = readEnvironment(process.env);
    currentRuntime = {
      env,
      client: new TableClient(),
      verifyUser: rememberTokens(userVerifier(env.ISSUERS)),
      limiterMemory: newLimiterMemory(),
    };
  }
  return currentRuntime;
}
