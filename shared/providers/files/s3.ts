import type { S3Client } from "@aws-sdk/client-s3";
import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { mayPass } from "../aws-failure.ts";
import { type Files, attachment } from "./files.ts";
import { uploadParts } from "./s3-parts.ts";

/** The SDK is loaded by the first file, as most functions never have one. */
const loadSdk = () => import("@aws-sdk/client-s3");

async function newClient(requestTimeoutMs: number): Promise<S3Client> {
  const { S3Client } = await loadSdk();
  return new S3Client({
    maxAttempts: 3,
    // What stands in for S3 has no name of its own for every bucket.
    forcePathStyle: process.env["AWS_ENDPOINT_URL_S3"] !== undefined,
    // Otherwise checksums of nothing become part of the signed addresses.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
}

/** What a caller is told: 503 when S3 cannot do it now, the error itself when it is our own mistake or a stream's. */
const failureOf = (error: unknown): unknown =>
  !(error instanceof Problem) && mayPass(error)
    ? new Problem("upstream_unavailable", "The file store does not answer.", { retry_after: 2 })
    : error;

/** S3 answers HEAD without a body, so that nothing but the status tells why. */
const Absence = z.object({ $metadata: z.object({ httpStatusCode: z.literal(404) }) });

/**
 * Files in an S3 bucket, encrypted by S3 (SSE-S3). Its role needs GetObject, PutObject and, as S3 answers 403
 * for what is not there otherwise, ListBucket. A URL is good for no longer than the credentials that sign it.
 * An attempt ends after `requestTimeoutMs`, a call after three attempts.
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
        throw failureOf(error);
      }
    },
    putStream: async (key, content, contentType) => {
      try {
        await uploadParts(await connect(), { Bucket: bucket, Key: key }, content, contentType);
      } catch (error) {
        throw failureOf(error);
      }
    },
    exists: async (key) => {
      const { HeadObjectCommand } = await loadSdk();
      try {
        await (await connect()).send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return true;
      } catch (error) {
        if (Absence.safeParse(error).success) return false;
        throw failureOf(error);
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
