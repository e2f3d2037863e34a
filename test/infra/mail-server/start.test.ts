import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { missingPackages } from "../../../infra/mail-server/launch.ts";
import { serveMailRoutes, startPost } from "../../support/mail-server.ts";

const missing = process.getuid?.() === 0 ? missingPackages() : ["the user root"];
const wrongKey = "a key that the API does not have";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
}, 60_000);
afterAll(() => mailRoutes?.stop());

test("the adapter logs once, and not for every look-up, that the API refuses its key", async () => {
  const lines: string[] = [];
  const api = openApi({ api: mailRoutes.base, mail_key: wrongKey }, (text) => void lines.push(text));
  for (const address of ["ada@example.com", "bob@example.com"]) {
    await expect(api.recipient(address)).rejects.toThrow("The API answered 401");
  }
  expect(lines).toEqual(["The API refuses the key (401)."]);
});

test.each([
  [["--sett", "RETRY_SECONDS=60"], "Unknown option '--sett'"],
  [["--set", "TYPO=x"], "There is no setting TYPO"],
  [["--set", "RETRY_SECONDS"], "--set RETRY_SECONDS has no value"],
])("the command line %j is refused in one sentence, with exit code 2", async (args, reason) => {
  const start = resolve(import.meta.dirname, "../../../infra/mail-server/start.ts");
  const running = promisify(execFile)(process.execPath, [start, ...args], {
    env: { ...process.env, MAIL_SECRET: "" },
  });
  await expect(running).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  await expect(running).rejects.toMatchObject({ stderr: expect.not.stringContaining("at file:") });
});

describe.skipIf(missing.length > 0)("the start of the mail server", { timeout: 120_000 }, () => {
  test("fails with a key that the API refuses, and keeps its secrets for the next start", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mail-server-"));
    const secrets = () => ["srs.secret", "local.key"].map((name) => readFileSync(join(folder, name), "utf8"));
    try {
      const start = () => startPost(mailRoutes.base, { MAIL_KEY: wrongKey }, folder);
      await expect(start()).rejects.toThrow("The API refuses the key (401)");
      const before = secrets();
      await expect(start()).rejects.toThrow("The API refuses the key (401)");
      expect(secrets()).toEqual(before);
      expect(new Set(before).size).toBe(2);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
