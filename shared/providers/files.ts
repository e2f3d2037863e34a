import type { Environment } from "../env.ts";
import { embeddedFiles } from "./files-embedded.ts";
import { s3Files } from "./files-s3.ts";

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

type FilesEnvironment = Pick<Environment, "FILES_BUCKET" | "FILES_DIR" | "FILES_KEY" | "FILES_BASE_URL">;

const contentTypes: Record<string, string> = { pdf: "application/pdf", csv: "text/csv; charset=utf-8" };

/** The content type of a key, by its ending; undefined when it is no key. */
export function contentTypeOf(key: string): string | undefined {
  // No name begins with a dot, so none leads out of its folder.
  const [, ending = ""] = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.([a-z]+)$/.exec(key) ?? [];
  return key.length <= 512 ? contentTypes[ending] : undefined;
}

const longestSeconds = 604_800;

async function missing(): Promise<never> {
  throw new Error("There is nowhere to keep files: set FILES_BUCKET, or FILES_DIR, FILES_KEY and FILES_BASE_URL.");
}

function chosen({ FILES_BUCKET, FILES_DIR, FILES_KEY, FILES_BASE_URL }: FilesEnvironment): Files {
  if (FILES_BUCKET !== undefined) return s3Files(FILES_BUCKET);
  if (FILES_DIR !== undefined && FILES_KEY !== undefined && FILES_BASE_URL !== undefined) {
    return embeddedFiles({ folder: FILES_DIR, key: Buffer.from(FILES_KEY, "base64"), baseUrl: FILES_BASE_URL });
  }
  return { put: missing, putStream: missing, exists: missing, downloadUrl: missing };
}

function check(key: string): string {
  const contentType = contentTypeOf(key);
  if (contentType === undefined) throw new Error(`"${key}" is not a key of a file.`);
  return contentType;
}

/**
 * The files of an environment; make them once for each process, as they keep a client. Without a place
 * in the environment their first use throws, not this.
 */
export function filesOf(env: FilesEnvironment): Files {
  const files = chosen(env);
  return {
    put: async (key, content, contentType) => {
      if (check(key) !== contentType) throw new Error(`"${key}" is not the key of a ${contentType} file.`);
      await files.put(key, content, contentType);
    },
    putStream: async (key, content, contentType) => {
      if (check(key) !== contentType) throw new Error(`"${key}" is not the key of a ${contentType} file.`);
      await files.putStream(key, content, contentType);
    },
    exists: async (key) => {
      check(key);
      return files.exists(key);
    },
    downloadUrl: async (key, options) => {
      check(key);
      const { expiresInSeconds } = options;
      if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > longestSeconds) {
        throw new RangeError(`A download expires in 1 to ${longestSeconds} seconds, not ${expiresInSeconds}.`);
      }
      return files.downloadUrl(key, options);
    },
  };
}
