/**
 * Keeps files for download. A key consists of names separated by slashes, such as `invoices/7c9e/000042.pdf`, and has
 * the ending of its content type. Throws 503 `upstream_unavailable` when the storage is unavailable.
 */
export type Files = {
  /** Writes the whole file or nothing, and replaces an existing file. */
  put: (key: string, content: Buffer, contentType: string) => Promise<void>;
  /** Writes a whole stream or nothing. Only a few MiB of the stream are in memory. */
  putStream: (key: string, content: AsyncIterable<Buffer>, contentType: string) => Promise<void>;
  exists: (key: string) => Promise<boolean>;
  /**
   * A URL at which anybody can download the file, until the URL expires. The download has the given file name. Does not
   * check that the file exists.
   */
  downloadUrl: (key: string, options: DownloadOptions) => Promise<string>;
};

/** `expiresInSeconds` is from one second up to a week, the longest time that S3 allows. */
type DownloadOptions = { filename: string; expiresInSeconds: number; now: Date };

const contentTypes = new Map([
  ["pdf", "application/pdf"],
  ["csv", "text/csv; charset=utf-8"],
]);

/** The content type of a key, by its ending; undefined for an invalid key. */
export function contentTypeOf(key: string): string | undefined {
  // No name begins with a dot, so no key leads out of the folder.
  const [, ending = ""] = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.([a-z]+)$/.exec(key) ?? [];
  return key.length <= 512 ? contentTypes.get(ending) : undefined;
}

/** Percent-encodes every byte that is not in RFC 8187's `attr-char`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * A Content-Disposition (RFC 6266), in printable ASCII, with which a browser saves the file under this name. Slashes,
 * backslashes and control characters become `_`. In the name for old browsers, quotation marks, percent signs and all
 * characters outside ASCII become `_` too.
 */
export function attachment(filename: string): string {
  const name = filename.toWellFormed().replaceAll(/[\p{Cc}/\\]/gu, "_");
  const plain = name.replaceAll(/[^\x20-\x7e]|["%]/gu, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(name)}`;
}
