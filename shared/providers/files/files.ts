/**
 * Keeps files for download. A key is made of names with slashes between, such as `invoices/7c9e/000042.pdf`, and
 * ends as its content type demands. What cannot be done now throws 503 `upstream_unavailable`.
 */
export type Files = {
  /** Writes the whole file or nothing, in place of what was there. */
  put: (key: string, content: Buffer, contentType: string) => Promise<void>;
  /** Writes what comes, whole or not at all, in memory for a few MiB of it. */
  putStream: (key: string, content: AsyncIterable<Buffer>, contentType: string) => Promise<void>;
  exists: (key: string) => Promise<boolean>;
  /** Where anybody may download it, under that name, until the time is over; it does not look whether it is there. */
  downloadUrl: (key: string, options: DownloadOptions) => Promise<string>;
};

/** From one second up to a week, which is what S3 allows. */
type DownloadOptions = { filename: string; expiresInSeconds: number; now: Date };

const contentTypes: Record<string, string> = { pdf: "application/pdf", csv: "text/csv; charset=utf-8" };

/** The content type of a key, by its ending; undefined when it is no key. */
export function contentTypeOf(key: string): string | undefined {
  // No name begins with a dot, so none leads out of its folder.
  const [, ending = ""] = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.([a-z]+)$/.exec(key) ?? [];
  return key.length <= 512 ? contentTypes[ending] : undefined;
}

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
