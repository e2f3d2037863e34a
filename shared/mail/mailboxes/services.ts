import { tableHere } from "../../http/worker.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { LoginServices } from "./password.ts";

/** Opens the services for passwords. Reads the environment when it is called, not at import. */
export const loginWork = (): LoginServices => ({ table: tableHere(), secrets: secretsHere() });
