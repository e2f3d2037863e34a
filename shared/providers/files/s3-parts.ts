import type { S3Client } from "@aws-sdk/client-s3";

/** S3 takes smaller parts only at the end of an upload. */
const partBytes = 5 * 2 ** 20;

/** Cuts the content into parts of at least 5 MiB, apart from the last one; yields at least one part. */
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
export async function uploadParts(
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
