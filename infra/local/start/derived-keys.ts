import { hkdfSync } from "node:crypto";

/** 32 bytes that follow from the key of the secrets by HKDF (RFC 5869), and so outlive a restart; as base64. */
const derived = (secretsKey: string, purpose: string): string =>
  Buffer.from(hkdfSync("sha256", Buffer.from(secretsKey, "base64"), "", purpose, 32)).toString("base64");

/** The local FILES_KEY. */
export const filesKeyOf = (secretsKey: string): string => derived(secretsKey, "files");

/** The local MAIL_SECRET, which mail servers show. */
export const mailSecretOf = (secretsKey: string): string => derived(secretsKey, "mail servers").replace(/=+$/, "");
