import { mkdir, readFile, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { FilesEnvironment, filesOf } from "../../../../shared/providers/files/factory.ts";
import { attachment } from "../../../../shared/providers/files/files.ts";
import { newFolder } from "../../../support/folder.ts";

const key = "invoices/7c9e/000042.pdf";
const content = Buffer.from("%PDF-1.3 …");
const download = { filename: "a.pdf", expiresInSeconds: 60, now: new Date("2026-01-02T03:04:05Z") };
const filesKey = Buffer.alloc(32, 7).toString("base64");

function scene() {
  const FILES_DIR = join(newFolder(), "files");
  return {
    folder: FILES_DIR,
    files: filesOf({ FILES_DIR, FILES_KEY: filesKey, FILES_BASE_URL: "http://127.0.0.1:8080" }),
  };
}

test("a file is stored in the folder under its key, and only its owner can read it", async () => {
  const { folder, files } = scene();
  expect(await files.exists(key)).toBe(false);
  await files.put(key, content, "application/pdf");
  expect(await files.exists(key)).toBe(true);
  expect((await readFile(join(folder, key))).equals(content)).toBe(true);
  expect((await stat(join(folder, key))).mode & 0o777).toBe(0o600);
  expect(await files.exists("invoices/7c9e/000043.pdf")).toBe(false);
  expect(await files.exists("invoices/7c9e/000042.pdf/more.pdf")).toBe(false);
});

test("if a file is written many times at once, one whole version stays, and no temporary file", async () => {
  const { folder, files } = scene();
  const versions = Array.from({ length: 20 }, (_, n) => Buffer.alloc(100_000 + n, n));
  await Promise.all(versions.map((version) => files.put(key, version, "application/pdf")));
  const kept = await readFile(join(folder, key));
  expect(versions.some((version) => version.equals(kept))).toBe(true);
  expect(await readdir(join(folder, "invoices/7c9e"))).toEqual(["000042.pdf"]);
});

test("a file that cannot be written leaves no temporary file, and does not exist", async () => {
  const { folder, files } = scene();
  await mkdir(join(folder, key, "taken"), { recursive: true });
  await expect(files.put(key, content, "application/pdf")).rejects.toThrow();
  expect(await readdir(join(folder, "invoices/7c9e"))).toEqual(["000042.pdf"]);
  expect(await files.exists(key)).toBe(false);
});

test("a download URL has the key as its path, and its signature depends on the key, the file name and the expiry", async () => {
  const { files } = scene();
  const url = await files.downloadUrl(key, download);
  expect(url).toMatch(
    /^http:\/\/127\.0\.0\.1:8080\/_local\/files\/invoices\/7c9e\/000042\.pdf\?expires=1767323105&filename=a\.pdf&signature=[\w-]{43}$/,
  );
  expect(await files.downloadUrl(key, download)).toBe(url);
  const others = await Promise.all([
    files.downloadUrl("invoices/7c9e/000043.pdf", download),
    files.downloadUrl(key, { ...download, filename: "b.pdf" }),
    files.downloadUrl(key, { ...download, expiresInSeconds: 61 }),
  ]);
  const signatures = [url, ...others].map((each) => new URL(each).searchParams.get("signature"));
  expect(new Set(signatures).size).toBe(4);
});

test.each([
  "../secret.pdf",
  "invoices/../../secret.pdf",
  "/etc/passwd.pdf",
  "invoices//a.pdf",
  "invoices/.hidden.pdf",
  "invoices\\..\\a.pdf",
  "invoices/%2e%2e/a.pdf",
  "a\u0000.pdf",
  "a.pdf\n",
  "a.exe",
  "pdf",
  ".pdf",
  "",
  `${"a".repeat(509)}.pdf`,
])("%j is not a valid key, and every use of it is refused", async (bad) => {
  const { folder, files } = scene();
  const places = [files, filesOf({ FILES_BUCKET: "the-bucket" })];
  for (const { put, exists, downloadUrl } of places) {
    await expect(put(bad, content, "application/pdf")).rejects.toThrow("key");
    await expect(exists(bad)).rejects.toThrow("key");
    await expect(downloadUrl(bad, download)).rejects.toThrow("key");
  }
  await expect(stat(folder)).rejects.toThrow("ENOENT");
});

test("the end of a key must fit the content type", async () => {
  const { files } = scene();
  await expect(files.put("a.pdf", content, "text/html")).rejects.toThrow("text/html");
  await files.put("a.csv", content, "text/csv; charset=utf-8");
});

test.each([0, -1, 1.5, 604_801, Number.NaN])("a download URL cannot expire in %d seconds", async (expiresInSeconds) => {
  const { files } = scene();
  await expect(files.downloadUrl(key, { ...download, expiresInSeconds })).rejects.toThrow(RangeError);
});

test("an unreadable file causes an error, and does not count as missing", async () => {
  const { folder, files } = scene();
  await mkdir(folder, { recursive: true });
  await symlink("loop.pdf", join(folder, "loop.pdf"));
  await expect(files.exists("loop.pdf")).rejects.toThrow("ELOOP");
});

test("without a place for files, the first use names the missing settings", async () => {
  const files = filesOf({});
  await expect(files.put("a.pdf", content, "application/pdf")).rejects.toThrow("FILES_BUCKET");
  await expect(files.exists("a.pdf")).rejects.toThrow("FILES_DIR");
  await expect(files.downloadUrl("a.pdf", download)).rejects.toThrow("FILES_BASE_URL");
});

test("the environment can have one place for files, with all its settings", async () => {
  const local = { FILES_DIR: "/tmp/files", FILES_KEY: filesKey, FILES_BASE_URL: "http://127.0.0.1:8080" };
  expect(FilesEnvironment.parse({}).FILES_DIR).toBeUndefined();
  expect(FilesEnvironment.parse({ FILES_BUCKET: "the-bucket" }).FILES_BUCKET).toBe("the-bucket");
  expect(FilesEnvironment.parse({ ...local })).toMatchObject(local);
  expect(() => FilesEnvironment.parse({ ...local, FILES_BUCKET: "the-bucket" })).toThrow("either");
  expect(() => FilesEnvironment.parse({ FILES_DIR: "/tmp/files" })).toThrow("FILES_KEY");
  expect(() => FilesEnvironment.parse({ ...local, FILES_KEY: "short" })).toThrow("32 bytes");
  expect(() => FilesEnvironment.parse({ ...local, FILES_BASE_URL: "127.0.0.1" })).toThrow("FILES_BASE_URL");
});

test.each([
  ["Invoice 7.pdf", `filename="Invoice 7.pdf"; filename*=UTF-8''Invoice%207.pdf`],
  [`a"b\\c/d%e.pdf`, `filename="a_b_c_d_e.pdf"; filename*=UTF-8''a%22b_c_d%25e.pdf`],
  ["a\r\nSet-Cookie: b=c", `filename="a__Set-Cookie: b=c"; filename*=UTF-8''a__Set-Cookie%3A%20b%3Dc`],
  ["(é)'*!.pdf", `filename="(_)'*!.pdf"; filename*=UTF-8''%28%C3%A9%29%27%2A!.pdf`],
  ["\u{D83D}.pdf", `filename="_.pdf"; filename*=UTF-8''%EF%BF%BD.pdf`],
])("the file name %j is made safe for a header", (name, expected) => {
  expect(attachment(name)).toBe(`attachment; ${expected}`);
});
