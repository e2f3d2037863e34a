import { tmpdir } from "node:os";

import { expect, test } from "vitest";

import { filePaths } from "../../../../infra/local/pages/files.ts";
import { filesKeyOf } from "../../../../infra/local/start/environment.ts";
import { filesOf } from "../../../../shared/providers/files/factory.ts";
import { newFolder } from "../../../support/folder.ts";
import { gatewayFor, sendRequest, type Reply } from "../wire.ts";

const key = "invoices/7c9e/000042.pdf";
const content = Buffer.from("%PDF-1.3 invoice");
const signedAt = new Date("2026-01-02T03:04:05.678Z");
const download = { filename: "Rechnung März.pdf", expiresInSeconds: 60, now: signedAt };
const filesKey = filesKeyOf(Buffer.alloc(32, 7).toString("base64"));

/** A server with one file. Its clock stands at `now`. `get` sends a request to a URL of the server. */
async function scene(now = signedAt) {
  const folder = newFolder();
  const localPaths = filePaths({ folder, key: Buffer.from(filesKey, "base64"), now: () => now });
  const port = await gatewayFor({ localPaths });
  const files = filesOf({ FILES_DIR: folder, FILES_KEY: filesKey, FILES_BASE_URL: `http://127.0.0.1:${port}` });
  await files.put(key, content, "application/pdf");
  const get = (url: string): Promise<Reply> => sendRequest(port, { path: url.slice(new URL(url).origin.length) });
  return { files, get, url: await files.downloadUrl(key, download) };
}

test("a signed URL downloads the file under its name", async () => {
  const { get, url } = await scene();
  expect(await get(url)).toMatchObject({
    status: 200,
    headers: {
      "content-type": "application/pdf",
      "content-disposition": `attachment; filename="Rechnung M_rz.pdf"; filename*=UTF-8''Rechnung%20M%C3%A4rz.pdf`,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
    body: content.toString(),
  });
});

test.each([
  [0, 200],
  [59_321, 200],
  [59_322, 403],
  [86_400_000, 403],
])(
  "%d ms after a URL was signed for 60 seconds, counted from a whole second, the answer is %d",
  async (elapsedMs, status) => {
    const { get, url } = await scene(new Date(signedAt.getTime() + elapsedMs));
    const reply = await get(url);
    expect(reply.status).toBe(status);
    if (status === 403) expect(JSON.parse(reply.body).message).toContain("expired");
  },
);

test.each<[string, (url: URL) => void]>([
  ["another key", (url) => (url.pathname = url.pathname.replace("000042", "000043"))],
  ["a later time", (url) => url.searchParams.set("expires", "9999999999")],
  ["another name", (url) => url.searchParams.set("filename", "evil.pdf")],
  [
    "a cut signature",
    (url) => url.searchParams.set("signature", (url.searchParams.get("signature") ?? "").slice(0, 20)),
  ],
  ["no signature", (url) => url.searchParams.delete("signature")],
  ["an empty signature", (url) => url.searchParams.set("signature", "")],
  ["no time", (url) => url.searchParams.delete("expires")],
  ["a key in the query", (url) => ((url.pathname = "/_local/files/a.pdf"), url.searchParams.set("key", key))],
  ["a way out of the folder", (url) => (url.pathname = "/_local/files/%252e%252e/%252e%252e/etc/passwd.pdf")],
])("a URL with %s gets 403, and nothing of the file", async (_what, change) => {
  const { get, url } = await scene();
  const forged = new URL(url);
  change(forged);
  const reply = await get(forged.href);
  expect(reply.status).toBe(403);
  expect(reply.body).not.toContain("%PDF");
});

test("a URL signed with another key gets 403", async () => {
  const { get, url } = await scene();
  const other = filesOf({
    FILES_DIR: tmpdir(),
    FILES_KEY: filesKeyOf(Buffer.alloc(32, 8).toString("base64")),
    FILES_BASE_URL: new URL(url).origin,
  });
  expect((await get(await other.downloadUrl(key, download))).status).toBe(403);
});

test("a signed URL of a missing file gets 404", async () => {
  const { files, get } = await scene();
  expect((await get(await files.downloadUrl("invoices/7c9e/000043.pdf", download))).status).toBe(404);
});

test("the key for files has 32 bytes, stays the same after a restart, and is not the key for secrets", () => {
  const secretsKey = Buffer.alloc(32, 7).toString("base64");
  expect(Buffer.from(filesKeyOf(secretsKey), "base64")).toHaveLength(32);
  expect(filesKeyOf(secretsKey)).toBe(filesKey);
  expect(filesKeyOf(secretsKey)).not.toBe(secretsKey);
});
