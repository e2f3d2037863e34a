import { runtime } from "../../http/runtime.ts";
import { secretsOf } from "./factory.ts";
import type { Secrets } from "./secrets.ts";

let ofProcess: Secrets | undefined;

/** The secrets of this process. Needs the environment when it is called, not at import. */
export const secretsHere = (): Secrets => (ofProcess ??= secretsOf(runtime().env));
