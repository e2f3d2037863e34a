/**
 * Seals small secrets (1 to 4,096 bytes of UTF-8) for storage. The context names the owner of a secret. The sealed text
 * does not contain the context, and opens only with the same context.
 */
export type Secrets = {
  /**
   * Seals a text. The result is printable ASCII. Throws 503 `upstream_unavailable` if the key service does not answer.
   */
  seal: (plaintext: string, context: Record<string, string>) => Promise<string>;
  /**
   * Opens a sealed text. Throws 503 `upstream_unavailable` if the key service does not answer. Throws an Error if the
   * key, the context or the text is not the same as at `seal`.
   */
  open: (sealed: string, context: Record<string, string>) => Promise<string>;
};

/** The error for a sealed text that does not open. The error contains no part of the plaintext. */
export const sealBroken = (cause?: unknown): Error =>
  new Error("A secret cannot be opened. It was sealed with another key or context, or was changed.", { cause });

/** Decodes the base64 after the prefix. The prefix names the way of sealing. Throws `sealBroken` for another prefix. */
export function sealedBytes(prefix: string, sealed: string): Buffer {
  if (!sealed.startsWith(prefix)) throw sealBroken();
  return Buffer.from(sealed.slice(prefix.length), "base64");
}
