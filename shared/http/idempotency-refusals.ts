import { InvalidInput, Problem } from "../core/errors.ts";
import type { Route } from "./route.ts";

/** The key was used before, for another request: 422. */
export const usedOtherwise = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["header", "idempotency-key"],
      msg: "This key was used for another request: use a new one for each",
      type: "idempotency_key_reused",
    },
  ]);

/** The first request with the key still runs: 409. */
export const inFlight = (): Problem =>
  new Problem("idempotency_in_flight", "The first request with this key is still running. Try again.", {
    retry_after: 1,
  });

/** The request was answered before, and that is not stored: 409. */
export function notStored({ kept }: Pick<Route, "kept">): Problem {
  const why = !kept
    ? "This was done before, and its answer is not stored, as it holds an address that is a key itself."
    : "This request was answered before, with a secret that is shown only once.";
  return new Problem("secret_already_shown", why);
}
