import { randomBytes } from "node:crypto";

import { beforeEach, expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { s3Files } from "../../../../shared/providers/files/s3.ts";
import { stubAws } from "../../../support/aws.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { startFileStore, type Trouble } from "../file-store.ts";

const key = "exports/7c9e/000042.csv";
const type = "text/csv; charset=utf-8";
const mebibyte = 2 ** 20;

beforeEach(() => stubAws("eu-central-1"));

async function scene(...troubles: (Trouble | undefined)[]) {
  const store = await startFileStore(...troubles);
  vi.stubEnv("AWS_ENDPOINT_URL_S3", store.url);
  const files = s3Files("the-bucket");
  const written = () => store.objects.get(`/the-bucket/${key}`);
  return { ...store, files, written };
}

/** Random pieces of these sizes in bytes. */
async function* pieces(...sizes: number[]): AsyncGenerator<Buffer> {
  for (const size of sizes) yield randomBytes(size);
}

/** Random pieces of these sizes in bytes, as a stream and as one buffer. */
function known(...sizes: number[]): { content: AsyncGenerator<Buffer>; whole: Buffer } {
  const all = sizes.map((size) => randomBytes(size));
  async function* content() {
    yield* all;
  }
  return { content: content(), whole: Buffer.concat(all) };
}

test("a small stream is uploaded as one part, encrypted by S3, with its type and a checksum", async () => {
  const { files, recorded, steps, written } = await scene();
  const { content, whole } = known(10, 0, 20);
  await files.putStream(key, content, type);
  expect(steps()).toEqual(["POST uploads", "PUT partNumber=1 uploadId", "POST uploadId"]);
  expect(recorded[0]?.headers).toMatchObject({
    "content-type": type,
    "x-amz-server-side-encryption": "AES256",
    "x-amz-checksum-algorithm": "CRC32",
  });
  expect(recorded[1]?.headers).toMatchObject({ "x-amz-checksum-crc32": expect.stringMatching(/^[\w+/]{6}==$/) });
  expect(written()?.content.equals(whole)).toBe(true);
  expect(await files.exists(key)).toBe(true);
});

test("an empty stream becomes an empty file", async () => {
  const { files, written } = await scene();
  await files.putStream(key, pieces(), type);
  expect(written()?.content).toHaveLength(0);
});

test("a long stream is uploaded in order, in parts of at least five mebibytes, except the last part", async () => {
  const { files, recorded, steps, written } = await scene();
  const { content, whole } = known(3 * mebibyte, 3 * mebibyte, 5 * mebibyte, 1, mebibyte);
  await files.putStream(key, content, type);
  expect(steps()).toEqual([
    "POST uploads",
    "PUT partNumber=1 uploadId",
    "PUT partNumber=2 uploadId",
    "PUT partNumber=3 uploadId",
    "POST uploadId",
  ]);
  const sizes = recorded
    .filter(({ method }) => method === "PUT")
    .map(({ headers }) => Number(headers["content-length"]));
  expect(sizes).toEqual([6 * mebibyte, 5 * mebibyte, mebibyte + 1]);
  expect(written()?.content.equals(whole)).toBe(true);
});

const slowDown = { status: 503, code: "SlowDown" };

test("a part that fails once is uploaded again", async () => {
  const { files, steps, written } = await scene(undefined, slowDown);
  const { content, whole } = known(100);
  await files.putStream(key, content, type);
  expect(steps().filter((step) => step.startsWith("PUT"))).toHaveLength(2);
  expect(written()?.content.equals(whole)).toBe(true);
});

test("if all attempts for a part fail, the upload is aborted, and no file is stored", async () => {
  const { files, steps, written, uploads } = await scene(undefined, slowDown, slowDown, slowDown);
  const error = await thrownBy(files.putStream(key, pieces(100), type));
  expect(error).toMatchObject({ code: "upstream_unavailable", status: 503 });
  expect(steps().at(-1)).toBe("DELETE uploadId");
  expect([written(), uploads.size]).toEqual([undefined, 0]);
});

test("if the stream fails, the upload is aborted, and the error of the stream is thrown", async () => {
  const { files, steps, written, uploads } = await scene();
  const broken = new Problem("busy", "The table is busy.", { retry_after: 1 });
  async function* content() {
    yield randomBytes(6 * mebibyte);
    throw broken;
  }
  expect(await thrownBy(files.putStream(key, content(), type))).toBe(broken);
  expect(steps()).toEqual(["POST uploads", "PUT partNumber=1 uploadId", "DELETE uploadId"]);
  expect([written(), uploads.size]).toEqual([undefined, 0]);
});

test("if the upload fails and cannot be aborted, the first error is thrown", async () => {
  const denied = { status: 403, code: "AccessDenied" };
  const { files, written } = await scene(undefined, { status: 400, code: "InvalidPart" }, denied);
  expect(await thrownBy(files.putStream(key, pieces(1), type))).toMatchObject({ name: "InvalidPart" });
  expect(written()).toBeUndefined();
});

test("a completion that S3 refuses with status 200 is tried again, and three refusals are a failure", async () => {
  const late = { status: 200, code: "InternalError" };
  const passing = await scene(undefined, undefined, late);
  const { content, whole } = known(10);
  await passing.files.putStream(key, content, type);
  expect(passing.written()?.content.equals(whole)).toBe(true);
  const failing = await scene(undefined, undefined, late, late, late);
  expect(await thrownBy(failing.files.putStream(key, pieces(1), type))).toMatchObject({ code: "upstream_unavailable" });
  expect([failing.written(), failing.uploads.size]).toEqual([undefined, 0]);
});

test("the old file stays until the new file is complete", async () => {
  const { files, written } = await scene();
  const { content, whole } = known(10);
  await files.putStream(key, content, type);
  async function* cut() {
    yield randomBytes(6 * mebibyte);
    throw new Error("cut off");
  }
  await thrownBy(files.putStream(key, cut(), type));
  expect(written()?.content.equals(whole)).toBe(true);
});
