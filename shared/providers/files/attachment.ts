/** The bytes of RFC 8187's `attr-char`; every other one is percent-encoded. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * A Content-Disposition (RFC 6266) by which a browser saves under this name, in printable ASCII: for old ones
 * with `_` for what they cannot read. Folders and control characters are no part of a name.
 */
export function attachment(filename: string): string {
  const name = filename.toWellFormed().replaceAll(/[\p{Cc}/\\]/gu, "_");
  const plain = name.replaceAll(/[^\x20-\x7e]|["%]/gu, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(name)}`;
}
