import { resolverHere } from "../dns/services.ts";
import { workerContext } from "../http/worker.ts";
import type { IpContext } from "./change.ts";

/** The services of the workers for dedicated IPs in this process. Reads the environment when called, not at import. */
export const ipContext = (worker: string): IpContext => ({ ...workerContext(worker), resolver: resolverHere() });
