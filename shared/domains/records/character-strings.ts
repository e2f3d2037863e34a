const longestString = 255;

const string = String.raw`"(?:[^"\\]|\\[^])*"`;
const wholly = new RegExp(`^\\s*${string}(?:\\s*${string})*\\s*$`);

/** Whether a text is nothing but character-strings in quotes, as zone files write them: `"v=spf1 " "-all"`. */
export const isQuoted = (text: string): boolean => wholly.test(text);

/** The bytes of one part of a string: plain characters, `\"` or `\032` (RFC 1035 §5.1); undefined past 255. */
function bytesOf(part: string): Buffer | undefined {
  if (!part.startsWith("\\")) return Buffer.from(part);
  if (!/^\\\d{3}$/.test(part)) return Buffer.from(part.slice(1));
  const byte = Number(part.slice(1));
  return byte > 0xff ? undefined : Buffer.from([byte]);
}

/** The text of character-strings in quotes, in one piece; undefined when it is not UTF-8 or has an escape past \255. */
export function unquoted(text: string): string | undefined {
  const strings = [...text.matchAll(new RegExp(string, "g"))].map(([whole]) => whole.slice(1, -1));
  const parts = strings.flatMap((one) => one.match(/\\\d{3}|\\[^]|[^\\]+/gu) ?? []).map(bytesOf);
  const bytes = parts.filter((part) => part !== undefined);
  if (bytes.length < parts.length) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(bytes));
  } catch {
    return undefined;
  }
}

function escaped(byte: number): string {
  if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`;
}

/** A text as a zone file has it (RFC 1035 §3.3.14, §5.1): strings of at most 255 bytes in quotes, in ASCII. */
export function quoted(text: string): string {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / longestString));
  const strings = Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * longestString, (index + 1) * longestString),
  );
  return strings.map((one) => `"${[...one].map(escaped).join("")}"`).join(" ");
}
