import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";

import { marked, type Token, type Tokens } from "marked";
import { expect, test } from "vitest";

import { operatorPages, unpublished } from "../../../infra/docs-pages/pages.ts";
import { exampleOf, operationIds } from "../../../infra/openapi/examples.ts";
import { fromStrings, parseInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import { curlWords } from "../../support/samples.ts";

const root = resolve(import.meta.dirname, "../../..");
const documents = [...globSync("docs/*.md", { cwd: root }), "README.md"].filter((file) => !file.includes("benchmarks"));

/** The code blocks of a document in these languages, in their order. */
function blocksOf(file: string, ...languages: readonly string[]): string[] {
  const found: string[] = [];
  void marked.walkTokens(marked.lexer(readFileSync(join(root, file), "utf8")), (token: Token) => {
    if (token.type === "code" && languages.includes((token as Tokens.Code).lang ?? ""))
      found.push(token.text as string);
  });
  return found;
}

const id = "00000000-002a-8c1d-a5e0-4f1b7d9c2e60";
const base = "https://api.example.com";
/** The values of the variables that are not ids. */
const known: Record<string, string> = {
  BASE_URL: base,
  API: `${base}/v1/public/accounts/${id}`,
  TOKEN: "token-1",
  DOMAIN: "example.com",
};

/**
 * Shell functions in place of the programs that a block calls. `curl` records its words, and `ask` is the function of
 * the quickstart. No program can be started, because `PATH` is empty.
 */
const commands = String.raw`
curl() { printf '%s\0' "$@" '<end>' >>sent; echo '{}'; }
ask() { curl -H "authorization: Bearer $TOKEN" "$@"; }
node() { echo '${id}'; }
seq() { echo 1; }
set +e
`;

/** Runs the blocks of a document that call the API, and returns the words of each call of curl. */
async function callsIn(blocks: readonly string[]): Promise<string[][]> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-mail-docs-"));
  try {
    await writeFile(join(folder, "domains.txt"), "example.com\n");
    // The assignments in a block are for the reader's own machine. So they are removed.
    const program = [commands, ...blocks].join("\n").replaceAll(/^(?:BASE_URL|TOKEN|ACCOUNT_ID)=.*$/gm, "");
    const names = [...program.matchAll(/\$\{?([A-Z_]+)/g)].map(([, name = ""]) => name);
    const env = Object.fromEntries(names.map((name) => [name, known[name] ?? id]));
    const options = { cwd: folder, env: { ...env, PATH: "" } };
    await promisify(execFile)("/bin/bash", ["-c", program], options).catch(() => undefined);
    return curlWords(await readFile(join(folder, "sent"), "utf8").catch(() => ""));
  } finally {
    await rm(folder, { recursive: true });
  }
}

type Call = { method: string; url: URL; body: unknown };

/** The options of curl that take no value. */
const optionsWithoutValue = /^-(?:[sSifN]+)$|^--(?:fail|silent|no-buffer)$/;

/** The request that curl would send with these words. Throws for an option that this function does not know. */
function callOf(words: readonly string[]): Call {
  let [method, address, data]: (string | undefined)[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (optionsWithoutValue.test(word)) continue;
    if (/^https?:/.test(word)) address = word;
    else if (/^-[sS]*X$/.test(word)) method = words[++index];
    else if (word === "-d" || word === "--json") data = words[++index];
    else if (word === "-H") index++;
    else throw new Error(`curl has the word ${word}`);
  }
  const body: unknown = data === undefined ? undefined : JSON.parse(data);
  return { method: method ?? (data === undefined ? "GET" : "POST"), url: new URL(address ?? ""), body };
}

const routes = operationIds.map((name) => exampleOf(name).route);
const patternOf = ({ http: { path } }: Route): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/]+)")}$`);

/** Throws if the API would not accept the path or the input of a call. */
function requireValid({ method, url, body = {} }: Call): void {
  const takes = (route: Route): boolean => route.http.method === method && patternOf(route).test(url.pathname);
  // A path without parameters comes before a path with them.
  const [route] = routes
    .filter(takes)
    .toSorted((a, b) => a.http.path.split("{").length - b.http.path.split("{").length);
  if (!route) throw new Error(`No operation takes ${method} ${url.pathname}`);
  const names = [...route.http.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const values = (patternOf(route).exec(url.pathname) ?? []).slice(1).map(decodeURIComponent);
  const path = new URLSearchParams(names.map((name, index): [string, string] => [name, values[index] ?? ""]));
  const query = fromStrings(route.query, url.searchParams);
  parseInput(route, { params: fromStrings(route.params, path), query, body });
}

const withCalls = documents.flatMap((file) => {
  const blocks = blocksOf(file, "sh", "bash").filter((block) => /\b(?:curl|ask|api) /.test(block));
  return blocks.length > 0 ? [{ file, blocks }] : [];
});

/** Documents with blocks that call other servers, or that call the API only after other commands. */
const ofOperators = new Set([...unpublished, ...operatorPages.map(({ name }) => name), "billing"]);

test.each(withCalls)("the API accepts each call of curl in $file", async ({ file, blocks }) => {
  const all = await callsIn(blocks);
  expect(all.length).toBeGreaterThanOrEqual(ofOperators.has(basename(file, ".md")) ? 1 : blocks.length);
  // A body from a pipe is known only if the whole block runs. guides.test.ts runs the quickstart.
  const calls = all.filter((words) => !words.includes("@-")).map(callOf);
  const ofTheApi = calls.filter(({ url }) => url.pathname.startsWith("/v1/public/"));
  for (const call of ofTheApi) expect(() => requireValid(call), `${call.method} ${call.url.href}`).not.toThrow();
});

test.each(documents)("a shell does not read a placeholder of %s as a redirection", (file) => {
  for (const block of blocksOf(file, "sh", "bash")) {
    expect(block.replaceAll(/#.*$/gm, "")).not.toMatch(/<[a-z][a-z -]*>/i);
  }
});

test("the JSON in docs/pagination.md and docs/notices.md has the form of its operation", () => {
  const [page] = blocksOf("docs/pagination.md", "json").map((text) => JSON.parse(text) as unknown);
  expect(exampleOf("mailboxes.list").route.output.safeParse(page).error).toBeUndefined();
  const [read, changed] = blocksOf("docs/notices.md", "json").map((text) => JSON.parse(text) as unknown);
  expect(exampleOf("notices.get").route.output.safeParse(read).error).toBeUndefined();
  expect(exampleOf("notices.update").route.body.safeParse(changed).error).toBeUndefined();
});
