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
