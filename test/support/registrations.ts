import { later } from "../../shared/core/time.ts";
import { graceMs, redemptionMs, type Registration } from "../../shared/providers/registrar/registrar.ts";

/** A name registered through us until a time. */
export const registrationUntil = (expiresAt: string): Registration => ({
  expiresAt,
  phase: "registered",
  graceEndsAt: later(new Date(expiresAt), graceMs),
  redemptionEndsAt: later(new Date(expiresAt), graceMs + redemptionMs),
  statuses: ["clientTransferProhibited"],
  autoRenew: false,
  nameservers: [],
});
