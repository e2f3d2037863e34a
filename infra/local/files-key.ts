import { hkdfSync } from "node:crypto";

/** The local FILES_KEY, derived from the key of the secrets by HKDF (RFC 5869): 32 bytes as base64 that outlive a restart. */
export const filesKeyOf = (secretsKey: string): string =>
  Buffer.from(hkdfSync("sha256", Buffer.from(secretsKey, "base64"), "", "files", 32)).toString("base64");
