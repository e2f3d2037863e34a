import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";

import { marked, type Tokens } from "marked";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { check } from "../../../functions/code/checker/checker.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { hasPython } from "../../support/samples.ts";
import { startShared, type Product } from "../local/product.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const guides = globSync("docs/guide-*.md", { cwd: root });
/** The first calls in the README. */
const [, readme = ""] = /## Make your first calls\n\n```sh\n([^]*?)```/.exec(read("README.md")) ?? [];

/** The code blocks of a document. Blocks that follow one another are tabs, and are in one group. */
function tabsOf(file: string): Tokens.Code[][] {
  const groups: Tokens.Code[][] = [];
  let isAfterCode = false;
  for (const token of marked.lexer(read(file))) {
    if (token.type === "space") continue;
    if (token.type === "code" && isAfterCode) groups.at(-1)?.push(token as Tokens.Code);
    else if (token.type === "code") groups.push([token as Tokens.Code]);
    isAfterCode = token.type === "code";
  }
  return groups;
}

/** The lines that a reader types: the `hosted-mail` command if the guide shows it, and otherwise the shell. */
const typedIn = (file: string): string =>
  tabsOf(file)
    .flatMap((tabs) => (tabs.find(({ lang }) => lang === "cli") ?? tabs.find(({ lang }) => lang === "sh"))?.text ?? [])
    .join("\necho\n");

const programsIn = (file: string, lang: string): string[] =>
  tabsOf(file).flatMap((tabs) => tabs.flatMap((tab) => (tab.lang === lang ? [tab.text] : [])));

let product: Product;
let account: { id: string; owner: { token: string } };
const folder = mkdtempSync(join(tmpdir(), "hosted-mail-guides-"));

beforeAll(async () => {
  product = await startShared({ DATA_DIR: join(folder, "data") });
  [account] = JSON.parse(await readFile(join(folder, "data/demo.json"), "utf8")).accounts;
}, 60_000);
afterAll(async () => {
  product.child.kill("SIGKILL");
  await product.exit();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Runs a program of the shell, as a reader with a token and the command does. Returns the output. */
async function typed(program: string): Promise<string> {
  // The address and the token of the local product take the place of those in the program.
  const own = program.replaceAll(/^(?:BASE_URL|TOKEN|ACCOUNT_ID)=.*$/gm, "");
  const command = `hosted-mail() { node ${root}/dist/cli/hosted-mail.cjs "$@"; }`;
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
    BASE_URL: product.baseUrl,
    TOKEN: account.owner.token,
    ACCOUNT_ID: account.id,
    HOSTED_MAIL_BASE_URL: product.baseUrl,
    HOSTED_MAIL_TOKEN: account.owner.token,
  };
  const options = { env, cwd: folder };
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", `${command}\n${own}`], options);
  expect(stdout).not.toMatch(/"code": ?"|"detail":/);
  return stdout;
}

const answerTo = async (path: string) => {
  const headers = { authorization: `Bearer ${account.owner.token}` };
  const answer = await fetch(`${product.baseUrl}/v1/public/accounts/${account.id}/${path}`, { headers });
  return JSON.parse(await answer.text());
};

test("every line of the quickstart works, also after the first lines of the README", async () => {
  const blocks = [...read("docs/quickstart.md").matchAll(/```sh\n([^]*?)```/g)].map(([, code = ""]) => code);
  const stdout = await typed([readme, ...blocks].join("echo\n"));
  expect(stdout).toContain('"status":"completed"');
  expect(stdout).toMatch(/"password":"[^"]{20}"/);
  expect((await answerTo("workspaces")).total).toBe(4);
  const { items } = await answerTo("domains");
  expect(items.map(({ name, status }: Record<string, string>) => [name, status])).toEqual([
    ["my-first-domain.com", "active"],
    ["my-second-domain.com", "pending_delegation"],
  ]);
  expect(await answerTo("mailboxes/ada@my-first-domain.com")).toMatchObject({ status: "active" });
}, 60_000);

test("the guide for a move moves domains, mailboxes and forwarding", async () => {
  const stdout = await typed(typedIn("docs/guide-move-domains.md"));
  expect(stdout).toMatch(/^example\.com active /m);
  expect(stdout).toMatch(/^example\.org active /m);
  expect(stdout).not.toContain("failing");
  expect((await answerTo("mailboxes?domain=example.com")).items[0].aliases).toMatchObject([
    { alias: "info@example.com" },
  ]);
  expect((await answerTo("mailboxes?domain=example.org")).items[0].aliases).toMatchObject([{ is_catch_all: true }]);
  const [finding = ""] = /^WORKSPACE_ID=[^]*?(?=^while)/m.exec(typedIn("docs/guide-move-domains.md")) ?? [];
  const { workspace_id } = await answerTo("domains/example.com");
  expect(await typed(`${finding}echo "$WORKSPACE_ID"`)).toBe(`${workspace_id}\n`);
  const passwords = (await readFile(join(folder, "passwords.jsonl"), "utf8")).trim().split("\n");
  expect(passwords.map((line) => JSON.parse(line).email)).toEqual([
    "ada@example.com",
    "bob@example.com",
    "ann@example.org",
  ]);
}, 180_000);

test("the guide for agents makes a token that can read by MCP and cannot add a workspace", async () => {
  // The guide sets TOKEN to the agent's token, but `typed` removes this line.
  await typed(typedIn("docs/guide-agents.md").replaceAll("$TOKEN", "$(node -p 'require(\"./agent.json\").token')"));
  const { token } = JSON.parse(await readFile(join(folder, "agent.json"), "utf8"));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const call = { method: "POST", headers, body: '{"name":"By an agent"}' };
  const refused = await fetch(`${product.baseUrl}/v1/public/accounts/${account.id}/workspaces`, call);
  expect(refused.status).toBe(403);
}, 60_000);

test("the guide for webhooks delivers a test that is signed with the secret of the answer", async () => {
  const received: [string, Record<string, string>][] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push([body, request.headers as Record<string, string>]);
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const program = typedIn("docs/guide-webhooks.md").replaceAll(/^HOOK_URL=.*$/gm, `HOOK_URL=http://127.0.0.1:${port}`);
  await typed(program);
  server.close();
  const { secret } = JSON.parse(await readFile(join(folder, "webhook.json"), "utf8"));
  expect(received.map(([body, headers]) => new Webhook(secret).verify(body, headers))).toMatchObject([
    { type: "webhook.test" },
  ]);
}, 60_000);

test("the guide for resellers adds a customer, and lists the usage to bill", async () => {
  await typed(typedIn("docs/guide-resellers.md").replaceAll("example.com", "customer-1001.com"));
  expect(await readFile(join(folder, "usage.csv"), "utf8")).toMatch(/,ada@customer-1001\.com,.*,5368709120,0,/);
}, 60_000);

test("code mode accepts the programs of the guides", () => {
  const programs = guides.flatMap((file) => programsIn(file, "code-mode"));
  expect(programs.length).toBeGreaterThan(4);
  const found = programs.map((program) => [program, check(parseProgram(program), { catalogue }).diagnostics]);
  expect(found).toEqual(programs.map((program) => [program, []]));
});

/** The secret, the body and the headers of a delivery. */
function delivery() {
  const secret = `whsec_${Buffer.from("This is an example, not a secret").toString("base64")}`;
  const [body, at] = ['{"id": "event-1", "type": "webhook.test"}', new Date()];
  const headers = {
    "webhook-id": "event-1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("event-1", at, body),
  };
  return { secret, body, headers };
}

test("the receiver of webhooks in TypeScript starts, accepts a signed event, and refuses a changed event", async () => {
  const packages = join(folder, "node_modules/@hosted-mail");
  mkdirSync(packages, { recursive: true });
  symlinkSync(join(root, "dist/client"), join(packages, "client"));
  const listening = '.listen(0, "127.0.0.1", function () { console.log(this.address().port); })';
  const [receiver = ""] = programsIn("docs/guide-webhooks.md", "ts");
  await writeFile(join(folder, "receiver.ts"), receiver.replace(".listen(3000)", listening));
  const { secret, body, headers } = delivery();
  const env = { WEBHOOK_SECRET: secret, NODE_NO_WARNINGS: "1" };
  const child = spawn(process.execPath, ["receiver.ts"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = `http://127.0.0.1:${(await output.next()).value}`;
  expect((await fetch(url, { method: "POST", headers, body: `${body} ` })).status).toBe(400);
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(204);
  expect((await output.next()).value).toBe("webhook.test");
});

test.skipIf(!hasPython)(
  "the receiver of webhooks in Python accepts a signed event, and refuses a changed event",
  async () => {
    const [receiver = ""] = programsIn("docs/guide-webhooks.md", "python");
    await writeFile(join(folder, "receiver.py"), receiver);
    const { secret, body, headers } = delivery();
    const program = [
      "import json, sys",
      "from receiver import verify",
      "secret, headers, body = json.load(sys.stdin)",
      "print(verify(secret, headers, body.encode()), verify(secret, headers, body.encode() + b' '))",
    ].join("\n");
    const input = JSON.stringify([secret, headers, body]);
    const output = execFileSync("python3", ["-c", program], { cwd: folder, input, encoding: "utf8" });
    expect(output.trim()).toBe("True False");
  },
);
