import { readEnvironment, type Environment } from "../core/environment.ts";
import { newLimiterMemory, type LimiterMemory } from "../rate-limits/limiter.ts";
import { TableClient } from "../table/client.ts";
import { SeenItems } from "../table/seen-items.ts";

export type Runtime = {
  env: Environment;
  client: TableClient;
  limiterMemory: LimiterMemory;
  seen: SeenItems;
};

let currentRuntime: Runtime | undefined;

/** The objects that live as long as the process. Made from the environment at the first call, not at import. */
export function runtime(): Runtime {
  currentRuntime ??= {
    env: readEnvironment(process.env),
    client: new TableClient(),
    limiterMemory: newLimiterMemory(),
    seen: new SeenItems(),
  };
  return currentRuntime;
}

/**
 * Prepares a Lambda for its first request: opens connections to the table, and meanwhile runs `prepare`. Never throws:
 * a fault that lasts makes the first request fail.
 */
export async function primeRuntime(connections: number, prepare: () => unknown): Promise<void> {
  try {
    const { env, client } = runtime();
    const opening = Array.from({ length: connections }, () => client.connect(env.TABLE_NAME));
    await Promise.all([...opening, prepare()]);
  } catch {
    // The environment is not valid, or a service does not answer. The first request fails with the reason.
  }
}
