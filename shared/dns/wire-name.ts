const label = /^[\x21-\x2d\x2f-\x7e]{1,63}$/;

/**
 * Normalises a domain name for comparison (RFC 4343): lower case, no final dot. The root becomes the empty text.
 * Undefined for a name that
 * - is longer than 253 bytes, or has a label that is empty or longer than 63 bytes (RFC 1035 §2.3.4), or
 * - has a space, or bytes outside printable ASCII. No name that we ask for or follow has these bytes.
 */
export function wireName(text: string): string | undefined {
  const name = text.endsWith(".") ? text.slice(0, -1) : text;
  if (name === "") return "";
  if (name.length > 253 || !name.split(".").every((part) => label.test(part))) return undefined;
  return name.toLowerCase();
}

/** Whether a name is the zone itself or below it. Both must come from `wireName`. */
export const isWithin = (name: string, zone: string): boolean =>
  zone === "" || name === zone || name.endsWith(`.${zone}`);

/** The name and its ancestors without the root, shortest first: com, example.com, www.example.com. */
export function nameAndAncestors(name: string): string[] {
  const labels = name === "" ? [] : name.split(".");
  return labels.map((_, index) => labels.slice(labels.length - index - 1).join("."));
}
