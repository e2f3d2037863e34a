const longestStringBytes = 255;

/** Splits a text into character-strings of at most 255 bytes (RFC 1035 §3.3.14). An empty text is one empty string. */
export function characterStrings(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / longestStringBytes));
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * longestStringBytes, (index + 1) * longestStringBytes),
  );
}

/**
 * The bytes of one part of a string: some plain characters, an escaped character such as `\"`, or an escaped byte such
 * as `\032`. Undefined for an escape above `\255`.
 */
function partBytes(part: string): Buffer | undefined {
  if (!part.startsWith("\\")) return Buffer.from(part);
  if (!/^\\\d{3}$/.test(part)) return Buffer.from(part.slice(1));
  const byte = Number(part.slice(1));
  return byte > 0xff ? undefined : Buffer.from([byte]);
}

/**
 * The bytes of a character-string of a zone file, without its quotes (RFC 1035 §5.1); undefined when it has an escape
 * above `\255`.
 */
export function unescaped(text: string): Buffer | undefined {
  const parts = (text.match(/\\\d{3}|\\[^]|[^\\]+/gu) ?? []).map(partBytes);
  const bytes = parts.filter((part) => part !== undefined);
  return bytes.length < parts.length ? undefined : Buffer.concat(bytes);
}

function escapedByte(byte: number): string {
  if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`;
}

/** The ASCII form of bytes for a zone file, without quotes around it (RFC 1035 §5.1). */
export const escaped = (bytes: Buffer): string => Array.from(bytes, escapedByte).join("");
