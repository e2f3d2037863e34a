import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { clientFolder, generateClient } from "../../../infra/client/generate.ts";
import { hasBrowser, openProduct } from "../../browser/browser.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount, type Account } from "../../support/world.ts";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

/** The Node of the system. It is not the Node that runs the tests. */
const otherNode = ["/usr/bin/node", "/usr/local/bin/node"].find((file) => existsSync(file));
if (otherNode === undefined)
  process.stdout.write("The client runs in only one Node: there is no second Node on this machine.\n");

/** The folder of a user's project, in which the packed package is installed. */
let project: string;
let installed: string;
let packed: { name: string; filename: string; files: { path: string }[]; unpackedSize: number };

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "hosted-mail-client-"));
  installed = join(project, "node_modules/@hosted-mail/client");
  const page = readFileSync(join(root, "docs/local.md"), "utf8");
  const [, command = ""] = /^(npm pack \.\/dist\/client)/m.exec(page) ?? [];
  // The global setup has generated the package.
  const packing = await run("sh", ["-c", `${command} --json --offline --pack-destination ${project}`], { cwd: root });
  [packed] = JSON.parse(packing.stdout);
  await writeFile(join(project, "package.json"), "{}");
  const flags = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...flags, `./${packed.filename}`], { cwd: project });
  await mkdir(join(project, "node_modules/@types"));
  await symlink(join(root, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
}, 60_000);
afterAll(() => rm(project, { recursive: true, force: true }));

/** The errors of the compiler for programs that use the package. */
async function complaintsOf(programs: Record<string, string>, ...flags: readonly string[]): Promise<string> {
  for (const [name, text] of Object.entries(programs)) await writeFile(join(project, name), text);
  try {
    await run(process.execPath, [tsc, "--strict", "--noEmit", ...flags, ...Object.keys(programs)], { cwd: project });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

const forNode = ["--module", "nodenext", "--target", "es2023", "--types", "node"];

describe("the package", () => {
  test("is not generated again while its sources stay the same", async () => {
    const before = statSync(join(clientFolder, "index.mjs")).mtimeMs;
    expect(await generateClient(clientFolder)).toBe(false);
    expect(statSync(join(clientFolder, "index.mjs")).mtimeMs).toBe(before);
  });

  test("can be published: it has a name, a version, a licence and types, and no dependencies", () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "@hosted-mail/client", version, license: "MIT", sideEffects: false });
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest).not.toHaveProperty("private");
    const { import: esm, require: cjs } = manifest.exports["."];
    for (const file of [...Object.values<string>(esm), ...Object.values<string>(cjs), "README.md", "LICENSE"]) {
      expect(statSync(join(installed, file)).size, file).toBeGreaterThan(10);
    }
    expect(packed.name).toBe("@hosted-mail/client");
    expect(packed.unpackedSize).toBeLessThan(600_000);
    expect(packed.files.filter(({ path }) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
  });

  test("has the types of the arguments and the answer of a function", { timeout: 60_000 }, async () => {
    const program = `
      import { ApiError, HostedMail, type Mailbox, type MailboxesAddArguments, type Workspace } from "@hosted-mail/client";
      const client = new HostedMail({ baseUrl: "https://api.example.com", token: async () => "token" });
      const account_id = "a";
      const whole: Workspace = await client.workspaces.add({ account_id, name: "Sales" });
      const { data, response } = await client.workspaces.get({ account_id, workspace_id: whole.id }).withResponse();
      const tag: string | null = response.headers.get("etag");
      const args: MailboxesAddArguments = { account_id, domain: "d", local_part: "l", first_name: "f", last_name: "l" };
      const mailboxes: Mailbox[] = [await client.mailboxes.add(args, { idempotencyKey: "k" })];
      for await (const mailbox of client.mailboxes.list({ account_id })) mailboxes.push(mailbox);
      for await (const one of client.auth.authorizations.list({ account_id })) one.subject_type satisfies string;
      const page = await client.mailboxes.list({ account_id });
      const next: number | undefined = (await page.nextPage())?.total;
      await client.auth.service_accounts.rotate({ account_id, service_account_id: "s", overlap_seconds: 0 });
      const value: number = (await client.code<number>("1", { dry_run: true })).result.last_value;
      const event = await client.webhooks.verify("", new Headers(), ["whsec_a", "whsec_b"]);
      if (event.type === "tag.created") event.data?.name.length;
      const code = new ApiError(response, {}).code;
      if (code === "workspace_name_taken") code.length;
      // @ts-expect-error -- the account is missing
      await client.workspaces.list();
      // @ts-expect-error -- there is no such member
      await client.workspaces.add({ account_id, nmae: "Sales" });
      // @ts-expect-error -- there is no such function
      await client.workspaces.rename({ account_id });
      // @ts-expect-error -- a workspace has no such member
      data.primary_email;
      // @ts-expect-error -- there is no such type of record
      await client.dns_records.add({ account_id, domain: "d", name: "@", type: "SPF", value: "v" });
      // @ts-expect-error -- there is no such event
      if (event.type === "tag.renamed") event.id;
      export const all = [tag, next, value];
    `;
    const old = `
      import client = require("@hosted-mail/client");
      export const me: Promise<client.IdentityProfile> = new client.HostedMail().me.get();
    `;
    expect(await complaintsOf({ "program.mts": program, "program.cts": old }, ...forNode)).toBe("");
  });

  test("needs nothing of Node, and its types are right in a project for browsers", { timeout: 60_000 }, async () => {
    const program = `
      import { HostedMail } from "@hosted-mail/client";
      export const name = new HostedMail({ baseUrl: "https://api.example.com" }).me.get().then(({ id }) => id);
    `;
    const forBrowsers = ["--module", "es2022", "--moduleResolution", "bundler", "--target", "es2022"];
    const flags = [...forBrowsers, "--lib", "es2022,dom,dom.iterable", "--types", ""];
    expect(await complaintsOf({ "browser.ts": program }, ...flags)).toBe("");
    const text = readFileSync(join(installed, "index.mjs"), "utf8");
    expect(text).not.toMatch(/\bBuffer\b|\brequire\(|from "node:|^import /m);
  });

  test("has types with which the examples in the documents compile", { timeout: 60_000 }, async () => {
    const guides = globSync("docs/guide-*.md", { cwd: root });
    const files = ["docs/client.md", "docs/domains.md", ...guides, "infra/client/package/README.md"];
    const blocks = files.map((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/```ts\n([^]*?)```/g)].map(([, code = ""]) => code),
    );
    for (const found of blocks) expect(found.length).toBeGreaterThan(0);
    const programs = blocks.flat().map((code, index) => [`document-${index}.mts`, code]);
    expect(await complaintsOf(Object.fromEntries(programs), ...forNode)).toBe("");
  });
});

describe("the installed package", () => {
  let account: Account;
  let product: { base: string; close: () => Promise<void> };

  beforeAll(async () => {
    account = await newAccount();
    product = hasBrowser ? await openProduct() : await serveProduct();
  }, 60_000);
  afterAll(() => product.close());

  const environment = () => ({
    HOSTED_MAIL_BASE_URL: `${product.base}/v1/public/`,
    HOSTED_MAIL_TOKEN: account.owner.token,
  });

  /** The lines that a program prints. */
  async function printed(node: string, name: string, text: string): Promise<string[]> {
    await writeFile(join(project, name), text);
    const { stdout } = await run(node, [name], { cwd: project, env: { ...process.env, ...environment() } });
    return stdout.trim().split("\n");
  }

  test("calls the API", { timeout: 60_000 }, async () => {
    const program = `
      import { ApiError, CodeError, HostedMail } from "@hosted-mail/client";
      const client = new HostedMail();
      const { items: [{ id: account_id }] } = await client.accounts.list();
      const made = [];
      for (const name of ["One", "Two", "Three"]) made.push((await client.workspaces.add({ account_id, name })).id);
      const found = [];
      for await (const { id } of client.workspaces.list({ account_id, page_size: 2 })) found.push(id);
      const at = { account_id, workspace_id: made[0] };
      const { response, requestId } = await client.workspaces.get(at).withResponse();
      const ifMatch = response.headers.get("etag");
      await client.workspaces.update({ ...at, name: "First" }, { ifMatch });
      const stale = await client.workspaces.update({ ...at, name: "Second" }, { ifMatch }).catch((error) => error);
      const refused = await client.workspaces.add({ account_id, name: "first" }).catch((error) => error);
      const wrong = await client.workspaces.add({ account_id, name: "" }).catch((error) => error);
      const stranger = await new HostedMail({ token: "sat_no" }).me.get().catch((error) => error);
      const { result } = await client.code("[one.name for one in accounts.list().items]");
      const program = 'workspaces.add(account_id="' + account_id + '", name="Once")';
      const [once, again] = [
        await client.code(program, { request_id: "once" }), await client.code(program, { request_id: "once" }),
      ].map(({ result }) => result.last_value.id);
      const keyed = 'workspaces.add(account_id="' + account_id + '", name="Keyed")';
      const replays = [];
      for (const idempotencyKey of ["one-key", "one-key"]) {
        const { response } = await client.code(keyed, { idempotencyKey }).withResponse();
        replays.push(response.headers.get("idempotency-replayed"));
      }
      const failed = await client.code("me.gett()").catch((error) => error);
      const csv = await client.audit.list({ account_id }, { headers: { Accept: "text/csv" } });
      console.log(JSON.stringify({
        found: made.every((id) => found.includes(id)), requestId: typeof requestId, stale: stale.code,
        refused: [refused instanceof ApiError, refused.status, refused.code, refused.body.conflicts_with === made[0]],
        wrong: [wrong.code, wrong.errors.map(({ loc }) => loc.join("."))], stranger: stranger.code,
        value: result.last_value, isMadeOnce: once === again, replays, failed: [failed instanceof CodeError, failed.line],
        csv: csv.split("\\n").length > 3,
      }));
    `;
    const [line = ""] = await printed(process.execPath, "caller.mjs", program);
    expect(JSON.parse(line)).toEqual({
      found: true,
      requestId: "string",
      stale: "precondition_failed",
      refused: [true, 409, "workspace_name_taken", true],
      wrong: ["validation_failed", ["body.name"]],
      stranger: "unauthenticated",
      value: ["Test account"],
      isMadeOnce: true,
      replays: [null, "true"],
      failed: [true, 1],
      csv: true,
    });
  });

  test.each([
    ["an ES module", "me.mjs", 'import { HostedMail } from "@hosted-mail/client";'],
    ["a CommonJS module", "me.cjs", 'const { HostedMail } = require("@hosted-mail/client");'],
  ])("works in %s, in this Node and another", async (_, name, head) => {
    const text = `${head}\nnew HostedMail().me.get().then(({ id }) => console.log(id, process.version));`;
    for (const node of [process.execPath, otherNode ?? process.execPath]) {
      expect(await printed(node, name, text)).toEqual([expect.stringContaining(account.owner.id)]);
    }
  });

  test.skipIf(!hasBrowser)("works in a page of a browser", async () => {
    const { openPage } = product as Awaited<ReturnType<typeof openProduct>>;
    const page = await openPage();
    const module = readFileSync(join(installed, "index.mjs"), "utf8");
    // A page of the API's own address, without its policy for scripts.
    await page.route(`${product.base}/page`, (route) => route.fulfill({ contentType: "text/html", body: "<p>here" }));
    await page.goto(`${product.base}/page`);
    const name = await page.evaluate(
      async ({ module, baseUrl, token, account_id }) => {
        const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
        const { HostedMail } = await import(url);
        const client = new HostedMail({ baseUrl, token });
        const made = await client.tags.add({ account_id, name: "From a browser" });
        const names = [];
        for await (const tag of client.tags.list({ account_id })) names.push(tag.name);
        return `${made.name}: ${names.length}`;
      },
      { module, baseUrl: product.base, token: account.owner.token, account_id: account.id },
    );
    expect(name).toBe("From a browser: 1");
  });
});
