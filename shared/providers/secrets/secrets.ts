/**
 * Keeps small secrets (1 to 4,096 bytes of UTF-8) sealed at rest. The context says what a secret belongs to:
 * it is bound to the sealed text, not kept in it, and must be the same to open it.
 */
export type Secrets = {
  /** The sealed text, of printable ASCII. Throws 503 `upstream_unavailable`. */
  seal: (plaintext: string, context: Record<string, string>) => Promise<string>;
  /** The plaintext. Throws 503 `upstream_unavailable`, and an Error when key, context or text are not those of `seal`. */
  open: (sealed: string, context: Record<string, string>) => Promise<string>;
};

/** What is thrown for a sealed text that does not open; it tells nothing of what is inside. */
export const sealBroken = (cause?: unknown): Error =>
  new Error("A secret does not open: it was sealed with another key or context, or was changed.", { cause });

/** The bytes after the prefix, which says who sealed them and how. Throws when the prefix is another. */
export function sealedBytes(prefix: string, sealed: string): Buffer {
  if (!sealed.startsWith(prefix)) throw sealBroken();
  return Buffer.from(sealed.slice(prefix.length), "base64");
}
