import { beforeEach, expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { s3Files } from "../../../../shared/providers/files/s3.ts";
import { awsEnvironment, stubAws } from "../../../support/aws.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { startFileStore, type Trouble } from "../file-store.ts";
import { loadingOf } from "../lazy-loading.ts";

const key = "invoices/7c9e/000042.pdf";
const content = Buffer.from("%PDF-1.3 …");
const download = { filename: "Rechnung für März.pdf", expiresInSeconds: 3_600, now: new Date("2026-01-02T03:04:05Z") };

beforeEach(() => stubAws("eu-central-1"));

async function scene(...troubles: Trouble[]) {
  const store = await startFileStore(...troubles);
  vi.stubEnv("AWS_ENDPOINT_URL_S3", store.url);
  return { ...store, files: s3Files("the-bucket") };
}

test("a file is stored unchanged, by a signed request, encrypted by S3, with its type and a checksum", async () => {
  const { files, recorded, objects } = await scene();
  await files.put(key, content, "application/pdf");
  expect(recorded).toMatchObject([
    {
      method: "PUT",
      path: `/the-bucket/${key}?x-id=PutObject`,
      headers: expect.objectContaining({
        "content-type": "application/pdf",
        "x-amz-server-side-encryption": "AES256",
        "x-amz-checksum-crc32": expect.stringMatching(/^[\w+/]{6}==$/),
        authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKID\/\d+\/eu-central-1\/s3\/aws4_request/),
      }),
    },
  ]);
  expect(objects.get(`/the-bucket/${key}`)?.content.equals(content)).toBe(true);
});

test("a file exists once it was stored", async () => {
  const { files, recorded } = await scene();
  expect(await files.exists(key)).toBe(false);
  await files.put(key, content, "application/pdf");
  expect(await files.exists(key)).toBe(true);
  expect(recorded.map(({ method }) => method)).toEqual(["HEAD", "PUT", "HEAD"]);
});

test("a download needs only its URL, and has the file name", async () => {
  const { files } = await scene();
  await files.put(key, content, "application/pdf");
  const response = await fetch(await files.downloadUrl(key, download));
  expect(response.headers.get("content-type")).toBe("application/pdf");
  expect(response.headers.get("content-disposition")).toBe(
    `attachment; filename="Rechnung f_r M_rz.pdf"; filename*=UTF-8''Rechnung%20f%C3%BCr%20M%C3%A4rz.pdf`,
  );
  expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
});

test("a download URL contains its expiry, and is the same for the same time", async () => {
  const { files, recorded } = await scene();
  const url = await files.downloadUrl(key, download);
  expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
    "X-Amz-Date": "20260102T030405Z",
    "X-Amz-Expires": "3600",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Credential": "AKID/20260102/eu-central-1/s3/aws4_request",
    "X-Amz-Signature": expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(url).not.toMatch(/checksum/i);
  expect(await files.downloadUrl(key, download)).toBe(url);
  expect(recorded).toEqual([]);
});

test("a download of a missing file is S3's 404 NoSuchKey", async () => {
  const { files } = await scene();
  const response = await fetch(await files.downloadUrl(key, download));
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("<Code>NoSuchKey</Code>")]);
});

const slowDown = { status: 503, code: "SlowDown" };

test("a request that gets SlowDown once is sent again", async () => {
  const { files, recorded, objects } = await scene(slowDown);
  await files.put(key, content, "application/pdf");
  expect(recorded).toHaveLength(2);
  expect(objects.get(`/the-bucket/${key}`)?.content.equals(content)).toBe(true);
});

test.each([slowDown, { status: 500, code: "InternalError" }])(
  "three answers of S3 with $code cause a 503",
  async (trouble) => {
    const { files, recorded } = await scene(trouble, trouble, trouble, trouble);
    const error = await thrownBy(files.put(key, content, "application/pdf"));
    expect(error).toMatchObject({ code: "upstream_unavailable", status: 503, extras: { retry_after: 2 } });
    expect(recorded).toHaveLength(3);
  },
);

test("if S3 cannot say whether a file exists, the result is a 503, and not that the file is missing", async () => {
  const { files } = await scene(slowDown, slowDown, slowDown);
  expect(await thrownBy(files.exists(key))).toMatchObject({ code: "upstream_unavailable" });
});

test("three attempts without an answer of S3 cause a 503", async () => {
  const { recorded } = await scene("silence", "silence", "silence", "silence");
  const error = await thrownBy(s3Files("the-bucket", 30).exists(key));
  expect(error).toMatchObject({ code: "upstream_unavailable" });
  expect(recorded).toHaveLength(3);
});

test("a 503 is thrown if S3 cannot be reached", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1");
  const error = await thrownBy(s3Files("the-bucket").put(key, content, "application/pdf"));
  expect(error).toMatchObject({ code: "upstream_unavailable" });
});

test.each([
  ["AccessDenied", 403],
  ["NoSuchBucket", 404],
])("%s is our own mistake, so it causes no 503 and no second attempt", async (code, status) => {
  const { files, recorded } = await scene({ status, code });
  const error = await thrownBy(files.put(key, content, "application/pdf"));
  expect(error).toMatchObject({ name: code });
  expect(error).not.toBeInstanceOf(Problem);
  expect(recorded).toHaveLength(1);
});

test("a 403 for the question whether a file exists is an error, and not that the file is missing", async () => {
  const { files } = await scene({ status: 403, code: "AccessDenied" });
  const error = await thrownBy(files.exists(key));
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(Problem);
});

test("the SDK is loaded only at the first use of the files", () => {
  const loading = loadingOf("files/factory.ts", {
    modules: /@aws-sdk/,
    make: 'provider.filesOf({ FILES_BUCKET: "the-bucket" })',
    use: 'made.downloadUrl("a.pdf", { filename: "a.pdf", expiresInSeconds: 1, now: new Date() })',
    env: awsEnvironment("eu-central-1"),
  });
  expect(loading).toEqual({ before: 0, after: true, failure: null });
});
