import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import type { Sample } from "../../infra/openapi/samples.ts";

/** A request that a sample sends. */
export type SentRequest = {
  method: string;
  path: string;
  query: Record<string, string>;
  /** The bearer token of the request, if it has one. */
  token: string | undefined;
  body: unknown;
};

type Environment = Record<string, string>;
const run = promisify(execFile);

function isFound(program: string, words: readonly string[]): boolean {
  try {
    execFileSync(program, words, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Whether Python can be run here. */
export const hasPython = isFound("python3", ["-c", ""]);
if (!hasPython) process.stderr.write("There is no python3 here, so the samples in Python are not run.\n");

/** Whether Python has the package requests. */
export const hasRequests = hasPython && isFound("python3", ["-c", "import requests"]);
if (hasPython && !hasRequests) process.stderr.write("Python has no requests, so its samples call no product.\n");

/** The path and the query of a URL. */
function partsOf(address: string): Pick<SentRequest, "path" | "query"> {
  const { pathname, searchParams } = new URL(address);
  return { path: decodeURIComponent(pathname), query: Object.fromEntries(searchParams) };
}

/** The request that curl would send with these words. Throws for an option that no sample needs. */
function curlRequest(words: readonly string[]): SentRequest {
  const request: SentRequest = { method: "GET", path: "", query: {}, token: undefined, body: undefined };
  let method: string | undefined;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const value = (): string => words[++index] ?? "";
    if (word === "-X") method = value();
    else if (word === "--json") Object.assign(request, { method: "POST", body: JSON.parse(value()) as unknown });
    else if (word === "-H") request.token = /^Authorization: Bearer (.*)$/.exec(value())?.[1] ?? request.token;
    else if (word.startsWith("http")) Object.assign(request, partsOf(word));
    else throw new Error(`curl has the word ${word}`);
  }
  return { ...request, method: method ?? request.method };
}

/** Runs shell programs one after another. Returns the requests that curl would send for all of them. */
export function runShell(programs: readonly string[], env: Environment): SentRequest[] {
  // A function in place of curl. It prints its words and `<end>`, each with a zero byte after it.
  const recorder = String.raw`curl() { printf '%s\0' "$@" '<end>'; }`;
  const output = execFileSync("sh", ["-eu"], { input: [recorder, ...programs].join("\n"), env, encoding: "utf8" });
  return curlWords(output).map(curlRequest);
}

/** The words of each call of curl, from the recorded words of all calls. */
export function curlWords(recorded: string): string[][] {
  const words = recorded.split("\0").slice(0, -1);
  const calls: string[][] = [];
  for (let from = 0; from < words.length;) {
    const end = words.indexOf("<end>", from);
    calls.push(words.slice(from, end));
    from = end + 1;
  }
  return calls;
}

/**
 * A Python program that runs other programs. It replaces their package `requests`: every answer is an empty object. It
 * prints all requests as one JSON list.
 */
const pythonRecorder = `
import io, json, sys, types

class Response:
    def raise_for_status(self): pass
    def json(self): return {}

sent = []
def sender(method):
    def send(url, *, params=None, headers=None, json=None, timeout):
        sent.append([method, url, {k: str(v) for k, v in (params or {}).items()}, headers or {}, json])
        return Response()
    return send

requests = types.ModuleType("requests")
for name in ("get", "post", "put", "patch", "delete"):
    setattr(requests, name, sender(name.upper()))
sys.modules["requests"] = requests
out, sys.stdout = sys.stdout, io.StringIO()
for index, program in enumerate(json.load(sys.stdin)):
    exec(compile(program, f"sample {index}", "exec"), {})
json.dump(sent, out)
`;

/**
 * Runs Python programs one after another. Returns the requests that the package `requests` would send for all of them.
 */
export function runPython(programs: readonly string[], env: Environment): SentRequest[] {
  const options = { input: JSON.stringify(programs), env: { ...env, PATH: process.env["PATH"] ?? "" } };
  const output = execFileSync("python3", ["-c", pythonRecorder], { ...options, encoding: "utf8" });
  type Sent = [method: string, url: string, query: Environment, headers: Environment, body: unknown];
  return (JSON.parse(output) as Sent[]).map(([method, url, query, headers, body]) => ({
    method,
    path: partsOf(url).path,
    query: { ...partsOf(url).query, ...query },
    token: headers["Authorization"]?.replace("Bearer ", ""),
    body: body ?? undefined,
  }));
}

type Fetch = (request: Request | string | URL, init?: RequestInit) => Promise<Response>;
type Client = new (options?: object) => object;

const client = (await import("#client")) as { HostedMail?: Client; connect?: unknown };

/** The client's class. Undefined if the generated client takes no flat arguments. */
export const HostedMail = client.connect === undefined ? client.HostedMail : undefined;
if (!HostedMail) process.stderr.write("#client has no flat arguments, so the samples in TypeScript are not run.\n");

const imports = /^import .*\n/gm;

/**
 * The errors that the compiler finds in programs. One run checks all programs. A program may import the client and
 * other packages.
 */
export async function typeErrors(programs: readonly string[]): Promise<string> {
  const dist = resolve(import.meta.dirname, "../../dist");
  // The folder is inside the project, so that the project's packages are found.
  const folder = await mkdtemp(join(dist, "samples-"));
  try {
    await mkdir(join(folder, "node_modules/@hosted-mail"), { recursive: true });
    await symlink(join(dist, "client"), join(folder, "node_modules/@hosted-mail/client"));
    await writeFile(join(folder, "package.json"), '{"type": "module"}');
    const imported = new Set(programs.flatMap((program) => program.match(imports) ?? []));
    const blocks = programs.map((program) => `{\n${program.replace(imports, "")}\n}\n`);
    await writeFile(join(folder, "samples.ts"), [...imported, ...blocks].join(""));
    const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
    const flags =
      "--ignoreConfig --strict --noEmit --skipLibCheck --module nodenext --target es2024 --types node".split(" ");
    await run(process.execPath, [tsc, ...flags, "samples.ts"], { cwd: folder });
    return "";
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error);
  } finally {
    await rm(folder, { recursive: true });
  }
}

type Program = (HostedMail: Client, process: object, console: object) => Promise<void>;
// oxlint-disable-next-line typescript/no-implied-eval -- the program is a sample of this project
const AsyncFunction = (async () => undefined).constructor as new (...words: string[]) => Program;

/** Runs samples of a language one after another at a product. Throws if one fails. */
export const liveRun: Record<Sample["id"], (sources: readonly string[], env: Environment) => Promise<void>> = {
  curl: async (sources, env) => {
    // Runs the samples with a curl that fails if the HTTP status is an error.
    const program = ['curl() { command curl -fsS "$@"; }', ...sources].join("\n");
    await run("sh", ["-euc", program], { env: { ...env, PATH: process.env["PATH"] ?? "" } });
  },
  python: async (sources, env) => {
    await run("python3", ["-c", sources.join("\n")], { env: { ...env, PATH: process.env["PATH"] ?? "" } });
  },
  typescript: async (sources, env) => {
    for (const source of sources) {
      class Live extends (HostedMail ?? Object) {
        constructor(options = {}) {
          super({ ...options, baseUrl: env["BASE_URL"] });
        }
      }
      const program = new AsyncFunction("HostedMail", "process", "console", source.replace(imports, ""));
      await program(Live, { env: { HOSTED_MAIL_TOKEN: env["TOKEN"] } }, { log: () => undefined });
    }
  },
  "code-mode": async (sources, env) => {
    const body = JSON.stringify({ request_id: "samples", session_id: "samples", code: sources.join("\n") });
    const headers = { authorization: `Bearer ${env["TOKEN"]}`, "content-type": "application/json" };
    const response = await fetch(`${env["BASE_URL"]}/v1/public/a2a`, { method: "POST", headers, body });
    const { status, error } = (await response.json()) as { status: string; error?: { message: string } };
    if (status !== "completed") throw new Error(error?.message);
  },
};

/** Runs a program in TypeScript whose client gets `answer` to each request. Returns its first request. */
export async function runTypescript(source: string, answer: unknown, env: Environment): Promise<SentRequest> {
  const sent: SentRequest[] = [];
  const record: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    const token = request.headers.get("authorization")?.replace("Bearer ", "");
    const body = text === "" || text === "{}" ? undefined : (JSON.parse(text) as unknown);
    sent.push({ method: request.method, ...partsOf(request.url), token, body });
    return Response.json(answer);
  };
  class Recording extends (HostedMail ?? Object) {
    constructor(options = {}) {
      super({ ...options, baseUrl: env["BASE_URL"], fetch: record });
    }
  }
  const program = new AsyncFunction("HostedMail", "process", "console", source.replace(imports, ""));
  await program(Recording, { env: { HOSTED_MAIL_TOKEN: env["TOKEN"] } }, { log: () => undefined });
  const [first] = sent;
  if (!first) throw new Error(`No request is sent by\n${source}`);
  return first;
}
