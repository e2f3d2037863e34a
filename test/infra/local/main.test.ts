import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { copyFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, expect, test, vi } from "vitest";

import { engineAddressFile } from "../../../infra/local/table/lock.ts";
import { newFolder } from "../../support/folder.ts";
import { failMain, get, startMain, startShared, type Product } from "./product.ts";
import { gatewayFor } from "./wire.ts";

// Some tests start the product several times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

async function folderWith(name: string): Promise<string> {
  const folder = newFolder();
  await writeFile(join(folder, name), "");
  return folder;
}

const sharedDir = mkdtempSync(join(tmpdir(), "hosted-mail-main-"));
let started: Promise<Product> | undefined;

/** The product of several tests, because a start takes long. The last of these tests ends the product. */
const sharedProduct = (): Promise<Product> => (started ??= startShared({ DATA_DIR: sharedDir }));
afterAll(async () => {
  const product = await started;
  product?.child.kill("SIGKILL");
  await product?.exit();
  await rm(sharedDir, { recursive: true, force: true, maxRetries: 5 });
});

test("all addresses and the command in the banner work", async () => {
  const { baseUrl, token, printed } = await sharedProduct();
  const [, websites = ""] = /Websites +curl -i -H "Host: DOMAIN" (\S+)/.exec(printed) ?? [];
  const unknown = await get(websites);
  expect([unknown.status, await unknown.text()]).toEqual([404, "Not found\n"]);
  const accounts = await get(`${baseUrl}/v1/public/accounts`, token);
  expect([accounts.status, await accounts.json()]).toMatchObject([200, { total: 1 }]);
  expect((await get(`${baseUrl}/v1/public/accounts`)).status).toBe(401);
  const localPages = printed.match(/\/_local\/\w+/g) ?? [];
  expect(localPages).toHaveLength(5);
  for (const page of ["/docs", "/v1/public/openapi.json", ...localPages]) {
    expect((await get(baseUrl + page)).status).toBe(200);
  }
  const command = printed.split("\n").find((line) => line.startsWith("curl")) ?? "";
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  expect(JSON.parse(stdout)).toMatchObject({ total: 1 });
  const demo: unknown = await (await get(`${baseUrl}/_local/tokens`)).json();
  expect(JSON.parse(await readFile(join(sharedDir, "demo.json"), "utf8"))).toEqual(demo);
});

test("the API accepts a minted token as the user that the token names", async () => {
  const { baseUrl } = await sharedProduct();
  const minted = await fetch(`${baseUrl}/_local/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sub: "11111111-1111-4111-8111-11111111111a", email: "new@example.com" }),
  });
  const { token } = JSON.parse(await minted.text());
  expect(await (await get(`${baseUrl}/v1/public/me`, token)).json()).toMatchObject({ email: "new@example.com" });
});

test("data, keys and tokens outlive a restart, and only the owner of a file with secrets can read the file", async () => {
  const dataDir = newFolder();
  const workspaces = (product: Product, init: RequestInit = {}): Promise<Response> =>
    fetch(`${product.baseUrl}/v1/public/accounts/11111111-1111-4111-8111-111111111111/workspaces`, {
      ...init,
      headers: { authorization: `Bearer ${first.token}`, "content-type": "application/json" },
    });
  const first = await startMain({ DATA_DIR: dataDir });
  const added = await workspaces(first, { method: "POST", body: JSON.stringify({ name: "Survivors" }) });
  expect(added.status).toBe(201);
  first.child.kill("SIGTERM");
  expect(await first.exit()).toBe(0);
  const second = await startMain({ DATA_DIR: dataDir });
  expect(await (await workspaces(second)).json()).toMatchObject({ total: 1, items: [{ name: "Survivors" }] });
  for (const file of ["issuer.json", "demo.json", "secrets.key"]) {
    expect((await stat(join(dataDir, file))).mode & 0o077).toBe(0);
  }
  second.child.kill("SIGINT");
  expect(await second.exit()).toBe(0);
});

test("a second start on the same data folder names the process that has it, exits with 1 and does not disturb the first", async () => {
  const { child, baseUrl } = await sharedProduct();
  const { code, said } = await failMain({ DATA_DIR: sharedDir });
  expect(code).toBe(1);
  expect(said).toContain(`held by process ${child.pid}`);
  expect(said).not.toContain("at async");
  expect((await get(`${baseUrl}/_local/tokens`)).status).toBe(200);
});

test("a file has the engine's address as long as the engine runs, and Ctrl-C ends the product and the engine", async () => {
  const { child, printed, exit } = await sharedProduct();
  const [, endpoint = ""] = /embedded, at (\S+)/.exec(printed) ?? [];
  expect(JSON.parse(await readFile(join(sharedDir, engineAddressFile), "utf8"))).toMatchObject({ endpoint });
  expect((await fetch(endpoint)).status).toBe(200);
  child.kill("SIGINT");
  // npm and the terminal both pass on the same key press.
  child.kill("SIGINT");
  expect(await exit()).toBe(0);
  await expect(fetch(endpoint)).rejects.toThrow();
  expect(existsSync(join(sharedDir, engineAddressFile))).toBe(false);
});

test("if the port is taken, the product says in one line how to use another port, exits with 1, and leaves nothing behind", async () => {
  const port = await gatewayFor({});
  const dataDir = newFolder();
  const { code, said } = await failMain({ DATA_DIR: dataDir, PORT: String(port) });
  expect(code).toBe(1);
  const holder = `by .+, process ${process.pid}`;
  expect(said.trim()).toMatch(
    new RegExp(`^Port ${port} is taken ${holder}\\..*PORT=\\d+ DATA_DIR=${dataDir} npm start$`),
  );
  expect(existsSync(join(dataDir, "demo.json"))).toBe(false);
  expect(existsSync(join(dataDir, "table.db-wal"))).toBe(false);
});

test("with AWS_ENDPOINT_URL_DYNAMODB no engine is started, the banner names the database, and a second start is refused", async () => {
  const dataDir = newFolder();
  const endpoint = process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";
  const env = { DATA_DIR: dataDir, AWS_ENDPOINT_URL_DYNAMODB: endpoint, TABLE_NAME: "main-test" };
  const { child, printed, baseUrl, token } = await startMain(env);
  expect(printed).toContain(`yours, at ${endpoint}`);
  expect(await failMain(env)).toEqual({ code: 1, said: expect.stringContaining(`held by process ${child.pid}`) });
  expect(existsSync(join(dataDir, "table.db"))).toBe(false);
  expect((await get(`${baseUrl}/v1/public/accounts`, token)).status).toBe(200);
});

test("--reset --yes begins with new data; --reset refuses a folder in use and a folder that is no data folder, and without a terminal needs --yes", async () => {
  const dataDir = newFolder();
  const first = await startMain({ DATA_DIR: dataDir });
  const issuer = await readFile(join(dataDir, "issuer.json"), "utf8");
  const inUse = await failMain({ DATA_DIR: dataDir }, "--reset");
  expect([inUse.code, inUse.said]).toEqual([1, expect.stringContaining(`process ${first.child.pid}`)]);
  expect((await get(`${first.baseUrl}/v1/public/accounts`, first.token)).status).toBe(200);
  first.child.kill("SIGTERM");
  await first.exit();
  const unasked = await failMain({ DATA_DIR: dataDir }, "--reset");
  expect([unasked.code, unasked.said]).toEqual([1, expect.stringContaining("--yes")]);
  expect(await readFile(join(dataDir, "issuer.json"), "utf8")).toBe(issuer);
  const second = await startMain({ DATA_DIR: dataDir }, "--reset", "--yes");
  expect(second.printed).toContain(`The data in ${dataDir} is deleted.`);
  expect(await readFile(join(dataDir, "issuer.json"), "utf8")).not.toBe(issuer);
  expect((await get(`${second.baseUrl}/v1/public/accounts`, second.token)).status).toBe(200);
  const notOurs = await failMain({ DATA_DIR: await folderWith("something.txt") }, "--reset");
  expect([notOurs.code, notOurs.said]).toEqual([1, expect.stringContaining("not a data folder")]);
});

test("--reset deletes nothing if the table is in the developer's own DynamoDB", async () => {
  const env = { DATA_DIR: newFolder(), AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" };
  const { code, said } = await failMain(env, "--reset");
  expect([code, said]).toEqual([1, expect.stringContaining("The table is in your own DynamoDB")]);
});

test("data of an older version is refused with the command for new data; the product exits with 1, and the data stays", async () => {
  const dataDir = await folderWith("table.db");
  const { code, said } = await failMain({ DATA_DIR: dataDir });
  expect([code, said]).toEqual([1, expect.stringContaining("npm start -- --reset")]);
  expect(existsSync(join(dataDir, "table.db"))).toBe(true);
});

test("an unknown flag is refused with the list of flags; the product exits with 2, and creates nothing", async () => {
  const dataDir = join(newFolder(), "none");
  const { code, said } = await failMain({ DATA_DIR: dataDir }, "--rest");
  expect([code, said]).toEqual([2, expect.stringContaining("Usage: npm start")]);
  expect(existsSync(dataDir)).toBe(false);
});

test("with a Node that is too old, or without the packages, the start prints an instruction", async () => {
  const check = resolve(import.meta.dirname, "../../../infra/local/check-node.cjs");
  const run = (before: string, cwd: string) =>
    spawnSync(process.execPath, ["-e", `${before}; require(${JSON.stringify(cwd)})`], { encoding: "utf8" });
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.1.0" })';
  expect(run(pretend, check)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/Node 24.*Node 20\.1\.0[^]*npm ci/),
  });
  const alone = join(newFolder(), "check-node.cjs");
  await copyFile(check, alone);
  expect(run("", alone)).toMatchObject({ status: 1, stderr: expect.stringContaining('Run "npm ci" first') });
  expect(run("", check)).toMatchObject({ status: 0, stderr: "" });
});
