import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

import { userVerifier, type UserVerifier } from "../auth/user-token.ts";
import { readEnvironment, type Environment } from "../core/environment.ts";
import { newLimiterMemory, type LimiterMemory } from "../rate-limits/limiter.ts";
import { documentClient } from "../table/table.ts";

export type Runtime = {
  env: Environment;
  client: DynamoDBDocumentClient;
  verifyUser: UserVerifier;
  limiterMemory: LimiterMemory;
};

let current: Runtime | undefined;

/**
 * The objects that live as long as the process. They are made from the environment at the first request, not at import.
 */
export function runtime(): Runtime {
  if (!current) {
    const env = readEnvironment(process.env);
    current = {
      env,
      client: documentClient(),
      verifyUser: userVerifier(env.ISSUERS),
      limiterMemory: newLimiterMemory(),
    };
  }
  return current;
}
