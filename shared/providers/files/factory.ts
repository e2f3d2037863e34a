import * as z from "zod";

import { lazy, unconfigured } from "../lazy.ts";
import { embeddedFiles } from "./embedded.ts";
import { type Files, contentTypeOf } from "./files.ts";
import { s3Files } from "./s3.ts";

/** The store of files: an S3 bucket, or a folder whose downloads are signed with a key. */
export const FilesEnvironment = z
  .object({
    FILES_BUCKET: z.string().min(3).optional(),
    FILES_DIR: z.string().min(1).optional(),
    FILES_KEY: z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, { error: "Write 32 bytes as base64" })
      .optional(),
    FILES_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  })
  .refine(({ FILES_BUCKET, FILES_DIR }) => FILES_BUCKET === undefined || FILES_DIR === undefined, {
    error: "Give either FILES_BUCKET or FILES_DIR",
  })
  .refine(
    ({ FILES_DIR, FILES_KEY, FILES_BASE_URL }) =>
      FILES_DIR === undefined || (FILES_KEY !== undefined && FILES_BASE_URL !== undefined),
    { error: "FILES_DIR needs FILES_KEY and FILES_BASE_URL" },
  );
type FilesEnvironment = z.output<typeof FilesEnvironment>;

const longestSeconds = 604_800;

const calls = { put: true, putStream: true, exists: true, downloadUrl: true } as const;

const notConfigured = "No file store is configured. Set FILES_BUCKET, or FILES_DIR, FILES_KEY and FILES_BASE_URL.";

function chosen({ FILES_BUCKET, FILES_DIR, FILES_KEY, FILES_BASE_URL }: FilesEnvironment): Files {
  if (FILES_BUCKET !== undefined) return s3Files(FILES_BUCKET);
  if (FILES_DIR !== undefined && FILES_KEY !== undefined && FILES_BASE_URL !== undefined) {
    return embeddedFiles({ folder: FILES_DIR, secret: Buffer.from(FILES_KEY, "base64"), baseUrl: FILES_BASE_URL });
  }
  return lazy<Files>(calls, unconfigured(notConfigured));
}

/** The content type of a key. Throws for an invalid key. */
function typeOfKey(key: string): string {
  const contentType = contentTypeOf(key);
  if (contentType === undefined) throw new Error(`"${key}" is not the key of a file.`);
  return contentType;
}

/**
 * The file store that the environment configures. Open the store once per process, because it keeps a client open. If
 * no store is configured, this function does not throw, but every call of the store throws an Error.
 */
export function filesOf(env: FilesEnvironment): Files {
  const files = chosen(env);
  return {
    put: async (key, content, contentType) => {
      if (typeOfKey(key) !== contentType) throw new Error(`"${key}" is not the key of a ${contentType} file.`);
      await files.put(key, content, contentType);
    },
    putStream: async (key, content, contentType) => {
      if (typeOfKey(key) !== contentType) throw new Error(`"${key}" is not the key of a ${contentType} file.`);
      await files.putStream(key, content, contentType);
    },
    exists: async (key) => {
      typeOfKey(key);
      return files.exists(key);
    },
    downloadUrl: async (key, options) => {
      typeOfKey(key);
      const { expiresInSeconds } = options;
      if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > longestSeconds) {
        throw new RangeError(`A download must expire in 1 to ${longestSeconds} seconds, not ${expiresInSeconds}.`);
      }
      return files.downloadUrl(key, options);
    },
  };
}
