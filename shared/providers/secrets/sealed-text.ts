/** What is thrown for a sealed text that does not open; it tells nothing of what is inside. */
export const sealBroken = (cause?: unknown): Error =>
  new Error("A secret does not open: it was sealed with another key or context, or was changed.", { cause });

/** The bytes after the prefix, which says who sealed them and how. Throws when the prefix is another. */
export function sealedBytes(prefix: string, sealed: string): Buffer {
  if (!sealed.startsWith(prefix)) throw sealBroken();
  return Buffer.from(sealed.slice(prefix.length), "base64");
}
