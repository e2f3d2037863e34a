import { randomBytes } from "node:crypto";

import { type ReverseChange, setReverseDns } from "../../infra/local/dns/reverse.ts";
import { canonicalAddress } from "../../shared/dns/reverse.ts";
import { testTable } from "./world.ts";

/** A public address that no other test has, in its canonical spelling. */
export function publicIp(family: 4 | 6 = 4): string {
  if (family === 4) return `45.${randomBytes(3).join(".")}`;
  return canonicalAddress(
    `2a01:4f8:${randomBytes(12)
      .toString("hex")
      .replaceAll(/.{4}(?=.)/g, "$&:")}`,
  );
}

/**
 * Has the provider of an address name it (null takes the name away), and with `forward` the name lead to it; `txt` is
 * the text at `_setup.<rdns>`, where null takes it away and an absent one leaves what is there. For names outside of
 * domains that are delegated.
 */
export const reverseDns = (
  ip: string,
  rdns: string | null,
  options: Pick<ReverseChange, "forward" | "txt"> = {},
): Promise<void> => setReverseDns(testTable(), { ip: canonicalAddress(ip), rdns, ...options });
