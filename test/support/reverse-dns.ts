import { randomBytes, randomInt } from "node:crypto";

import { type ReverseChange, setReverseDns } from "../../infra/local/dns/reverse.ts";
import { canonicalAddress } from "../../shared/dns/reverse.ts";
import { testTable } from "./world.ts";

const addresses = 2 ** 24;
let nextAddress = randomInt(addresses);

/** A public address that no other test has, in its canonical spelling. */
export function publicIp(family: 4 | 6 = 4): string {
  if (family === 4) {
    // With random addresses, one run of eight would use an address twice.
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
 * Sets the name of an address, as its provider does. If `rdns` is null, the address has no name. With `forward`, the
 * name leads to the address. `txt` is the text at `_setup.<rdns>`: null removes the text, and without `txt` the text
 * stays. The name must be outside of delegated domains.
 */
export const reverseDns = (
  ip: string,
  rdns: string | null,
  options: Pick<ReverseChange, "forward" | "txt"> = {},
): Promise<void> => setReverseDns(testTable(), { ip: canonicalAddress(ip), rdns, ...options });
