import { Problem } from "../core/errors.ts";
import type { DomainStatus } from "./domain.ts";

/** 409 `domain_not_ready`: what the domain is at does not allow it; `detail` is a sentence for people. */
export const notReady = (status: DomainStatus, detail: string): Problem =>
  new Problem("domain_not_ready", detail, { domain_status: status });
