import { Problem } from "../../shared/core/errors.ts";
import { later } from "../../shared/core/time.ts";
import { renewalGraceMs, redemptionMs, type Registration } from "../../shared/providers/registrar/registrar.ts";

/** The error of a registrar that does not answer. */
export const silence = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 2 });

/** A registration through us that ends at `expiresAt`. */
export const registrationUntil = (expiresAt: string): Registration => ({
  expiresAt,
  phase: "registered",
  graceEndsAt: later(new Date(expiresAt), renewalGraceMs),
  redemptionEndsAt: later(new Date(expiresAt), renewalGraceMs + redemptionMs),
  transferableAt: "2026-01-01T00:00:00.000Z",
  statuses: ["clientTransferProhibited"],
  privacy: true,
  autoRenew: false,
  nameservers: [],
});
