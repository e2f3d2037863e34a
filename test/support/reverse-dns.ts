import { randomBytes, randomInt } from "node:crypto";

import { type ReverseChange, setReverseDns } from "../../infra/local/dns/reverse.ts";
import { canonicalAddress } from "../../shared/dns/reverse.ts";
import { testTable } from "./world.ts";

const addresses = 2 ** 24;
let nextAddress = randomInt(addresses);

/** A public address that no other test has, in its canonical spelling. */
export function publicIp(family: 4 | 6 = 4): string {
  if (family === 4) {
    // Of random addresses, two would be the same in one run of eight.
    nextAddress = (nextAddress + 1) % addresses;
    return `45.${nextAddress >> 16}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`;
  }
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
