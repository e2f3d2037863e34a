import type { S3Client } from "@aws-sdk/client-s3";
import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { isTransient } from "../aws-failure.ts";
import { type Files, attachment } from "./files.ts";

/** Loads the SDK at the first call to S3, because most functions never call S3. */
const loadSdk = () => import("@aws-sdk/client-s3");

async function newClient(requestTimeoutMs: number): Promise<S3Client> {
  const { S3Client } = await loadSdk();
  return new S3Client({
    maxAttempts: 3,
    // A stand-in for S3 has no host names for buckets, so the bucket is in the path.
    forcePathStyle: process.env["AWS_ENDPOINT_URL_S3"] !== undefined,
    // By default, signed URLs would also have the parameter `x-amz-checksum-mode`. Our uploads set `ChecksumAlgorithm`
    // themselves.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
}

/**
 * The error for the caller: 503 when S3 is unavailable, else the original error.
 */
const s3Failure = (error: unknown): unknown =>
  !(error instanceof Problem) && isTransient(error)
    ? new Problem("upstream_unavailable", "The file store does not answer.", { retry_after: 2 })
    : error;

/** S3 answers HEAD without a body, so only the status tells the reason. */
const Absence = z.object({ $metadata: z.object({ httpStatusCode: z.literal(404) }) });

/**
 * Keeps files in an S3 bucket, encrypted by S3 (SSE-S3).
 * - The AWS role needs GetObject, PutObject and AbortMultipartUpload. For `exists` it also needs ListBucket: without
 *   ListBucket, S3 answers 403 for a missing file.
 * - A URL is valid no longer than the credentials that sign it.
 * - An attempt ends after `requestTimeoutMs`. Each request to S3 has three attempts at most.
 */
export function s3Files(bucket: string, requestTimeoutMs = 5_000): Files {
  let client: Promise<S3Client> | undefined;
  const connect = (): Promise<S3Client> => (client ??= newClient(requestTimeoutMs));
  return {
    put: async (key, content, contentType) => {
      const { PutObjectCommand } = await loadSdk();
      const where = { Bucket: bucket, Key: key };
      const what = { Body: content, ContentType: contentType, ChecksumAlgorithm: "CRC32" } as const;
      try {
        await (await connect()).send(new PutObjectCommand({ ...where, ...what, ServerSideEncryption: "AES256" }));
      } catch (error) {
        throw s3Failure(error);
      }
    },
    putStream: async (key, content, contentType) => {
      try {
        await uploadParts(await connect(), { Bucket: bucket, Key: key }, content, contentType);
      } catch (error) {
        throw s3Failure(error);
      }
    },
    exists: async (key) => {
      const { HeadObjectCommand } = await loadSdk();
      try {
        await (await connect()).send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return true;
      } catch (error) {
        if (Absence.safeParse(error).success) return false;
        throw s3Failure(error);
      }
    },
    downloadUrl: async (key, { filename, expiresInSeconds, now }) => {
      const [{ GetObjectCommand }, { getSignedUrl }] = await Promise.all([
        loadSdk(),
        import("@aws-sdk/s3-request-presigner"),
      ]);
      const input = { Bucket: bucket, Key: key, ResponseContentDisposition: attachment(filename) };
      const options = { expiresIn: expiresInSeconds, signingDate: now };
      return getSignedUrl(await connect(), new GetObjectCommand(input), options);
    },
  };
}

/** The smallest size of a part, in bytes. S3 accepts a smaller part only at the end of an upload. */
const partBytes = 5 * 2 ** 20;

/** Cuts the content into parts. All parts except the last have at least 5 MiB. Yields at least one part. */
async function* partsOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of content) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < partBytes) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  yield Buffer.concat(waiting);
}

/** Writes an object part by part (multipart upload), encrypted by S3. An interrupted upload leaves nothing visible. */
async function uploadParts(
  client: S3Client,
  where: { Bucket: string; Key: string },
  content: AsyncIterable<Buffer>,
  contentType: string,
): Promise<void> {
  const sdk = await import("@aws-sdk/client-s3");
  const { UploadId } = await client.send(
    new sdk.CreateMultipartUploadCommand({
      ...where,
      ContentType: contentType,
      ServerSideEncryption: "AES256",
      ChecksumAlgorithm: "CRC32",
    }),
  );
  try {
    const Parts: { ETag: string | undefined; ChecksumCRC32: string | undefined; PartNumber: number }[] = [];
    for await (const Body of partsOf(content)) {
      const PartNumber = Parts.length + 1;
      const input = { ...where, UploadId, PartNumber, Body, ChecksumAlgorithm: "CRC32" } as const;
      const { ETag, ChecksumCRC32 } = await client.send(new sdk.UploadPartCommand(input));
      Parts.push({ ETag, ChecksumCRC32, PartNumber });
    }
    await client.send(new sdk.CompleteMultipartUploadCommand({ ...where, UploadId, MultipartUpload: { Parts } }));
  } catch (error) {
    await client.send(new sdk.AbortMultipartUploadCommand({ ...where, UploadId })).catch(() => undefined);
    throw error;
  }
}
