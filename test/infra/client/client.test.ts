import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { clientFolder, generateClient } from "../../../infra/client/generate.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount } from "../../support/world.ts";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

/** A project of somebody else's, with the package installed. */
let project: string;
let installed: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "hosted-mail-client-"));
  installed = join(project, "node_modules/hosted-mail-client");
  // The global setup has generated it.
  await cp(clientFolder, installed, { recursive: true });
  await mkdir(join(project, "node_modules/@types"));
  await symlink(join(root, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
}, 60_000);
afterAll(() => rm(project, { recursive: true, force: true }));

/** What the compiler says of programs that use the package. */
async function complaintsOf(...programs: readonly string[]): Promise<string> {
  await writeFile(join(project, "package.json"), '{"type": "module"}');
  const names = programs.map((_, index) => `program-${index}.ts`);
  for (const [index, name] of names.entries()) await writeFile(join(project, name), programs[index] ?? "");
  const flags = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2023", "--types", "node"];
  try {
    await run(process.execPath, [tsc, ...flags, ...names], { cwd: project });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe("the package", () => {
  test("is not written again as long as what it is made of stays the same", async () => {
    const before = statSync(join(installed, "index.js")).mtimeMs;
    expect(await generateClient(installed)).toBe(false);
    expect(statSync(join(installed, "index.js")).mtimeMs).toBe(before);
  });

  test("could be published: a name, a version, a licence, types, and nothing it depends on", () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "hosted-mail-client", type: "module", license: "MIT" });
    expect(manifest.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest).not.toHaveProperty("private");
    for (const file of [manifest.types, manifest.exports["."].default, "README.md", "LICENSE"]) {
      expect(statSync(join(installed, file)).size).toBeGreaterThan(100);
    }
  });

  test("is made a file by the command that its page says", { timeout: 60_000 }, async () => {
    const page = readFileSync(join(root, "docs/client.md"), "utf8");
    const [, command = ""] = /^(npm pack \S+)/m.exec(page) ?? [];
    expect(page).not.toMatch(/npm (?:pack|publish) (?!\.\/)\w+\//);
    await mkdir(join(project, "dist"));
    await symlink(installed, join(project, "dist/client"));
    const { stdout } = await run("sh", ["-c", `${command} --json --offline`], { cwd: project });
    const [{ name, files }] = JSON.parse(stdout);
    expect(name).toBe("hosted-mail-client");
    expect(files.map(({ path }: { path: string }) => path)).toContain("index.js");
  });

  test("knows what goes in and what comes out of a function", { timeout: 60_000 }, async () => {
    const program = `
      import { ApiError, connect, itemsOf, type Workspace } from "hosted-mail-client";
      const api = connect({ baseUrl: "https://api.example.com", token: async () => "token" });
      const path = { account_id: "a" };
      const { data, response } = await api.workspaces.add({ path, body: { name: "Sales" } });
      const whole: Workspace = data;
      const tag: string | null = response.headers.get("etag");
      for await (const mailbox of itemsOf((query) => api.mailboxes.list({ path, query }))) mailbox.primary_email.length;
      await api.auth.service_accounts.rotate({ path: { ...path, service_account_id: "s" }, body: { overlap_seconds: 0 } });
      // @ts-expect-error -- the account is missing
      await api.workspaces.list();
      // @ts-expect-error -- there is no such member
      await api.workspaces.add({ path, body: { nmae: "Sales" } });
      // @ts-expect-error -- there is no such function
      await api.workspaces.rename({ path });
      // @ts-expect-error -- a workspace has none
      data.primary_email;
      // @ts-expect-error -- one of a few
      await api.dns_records.add({ path, body: { domain: "d", name: "@", type: "SPF", value: "v" } });
      export const all = [whole, tag, new ApiError(response, {}).code];
    `;
    expect(await complaintsOf(program)).toBe("");
  });

  test("is used in the documents as it can be used", { timeout: 60_000 }, async () => {
    const blocks = ["docs/client.md", "infra/client/package/README.md"].map((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/```ts\n([^]*?)```/g)].map(([, code = ""]) => code),
    );
    for (const found of blocks) expect(found.length).toBeGreaterThan(0);
    expect(await complaintsOf(...blocks.flat())).toBe("");
  });

  test("calls the API from plain Node", { timeout: 60_000 }, async () => {
    const account = await newAccount();
    const { base, close } = await serveProduct();
    onTestFinished(close);
    const program = `
      import { ApiError, connect, itemsOf } from "hosted-mail-client";
      const { BASE, TOKEN, ACCOUNT } = process.env;
      const path = { account_id: ACCOUNT };
      const api = connect({ baseUrl: BASE + "/", token: () => TOKEN, idempotencyKeys: true });
      const made = [];
      for (const name of ["One", "Two", "Three"]) made.push((await api.workspaces.add({ path, body: { name } })).data.id);
      const found = [];
      const two = (query) => api.workspaces.list({ path, query: { ...query, page_size: 2 } });
      for await (const { id } of itemsOf(two)) found.push(id);
      const at = { ...path, workspace_id: made[0] };
      const tag = (await api.workspaces.get({ path: at })).response.headers.get("etag");
      const refused = await api.workspaces.add({ path, body: { name: "one" } }).catch((error) => error);
      const wrong = await api.workspaces.add({ path, body: { name: "" } }).catch((error) => error);
      const noPath = await api.workspaces.list({ path: { account_id: undefined } }).catch((error) => error);
      let noUrl;
      try { connect({}); } catch (error) { noUrl = error; }
      const unknown = await connect({ baseUrl: BASE }).me.get().catch((error) => error);
      console.log(JSON.stringify({
        found: found.length, first: found[0] === made[0], tag,
        refused: [refused instanceof ApiError, refused.status, refused.code, typeof refused.requestId, refused.body.conflicts_with === made[0]],
        wrong: [wrong.code, wrong.message], unknown: unknown.code,
        left: [noPath.message, noUrl.message],
      }));
    `;
    await writeFile(join(project, "caller.mjs"), program);
    const env = { BASE: base, TOKEN: account.owner.token, ACCOUNT: account.id };
    const { stdout } = await run(process.execPath, ["caller.mjs"], { cwd: project, env });
    expect(JSON.parse(stdout)).toMatchObject({
      found: 2,
      first: true,
      tag: expect.stringMatching(/^"/),
      refused: [true, 409, "workspace_name_taken", "string", true],
      wrong: ["validation_failed", expect.stringContaining("body.name")],
      unknown: "unauthenticated",
      left: [
        "The path parameter account_id of /v1/public/accounts/{account_id}/workspaces is missing.",
        expect.stringContaining("baseUrl is missing"),
      ],
    });
  });
});
