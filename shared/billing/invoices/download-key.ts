import { randomBytes } from "node:crypto";

/** A new key that signs the addresses of a PDF: 256 random bits. */
export const newDownloadKey = (): string => randomBytes(32).toString("base64url");
