import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import type { Command } from "commander";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { HostedMail } from "#client";

import { routes } from "../../../functions/routes.ts";
import { cliFolder } from "../../../infra/cli/generate.ts";
import { createProgram } from "../../../infra/cli/package/program.ts";
import { portOf } from "../../support/listen.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount, newUser, type Account } from "../../support/world.ts";

const run = promisify(execFile);

let folder: string;
/** The command as npm installs it from the packed package. */
let command: string;
let product: { base: string; close: () => Promise<void> };
let account: Account;
let client: HostedMail;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hosted-mail-cli-"));
  // The global setup has built the package.
  const packing = await run("npm", ["pack", cliFolder, "--json", "--offline", "--pack-destination", folder]);
  const [{ filename }] = JSON.parse(packing.stdout);
  await writeFile(join(folder, "package.json"), "{}");
  const flags = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...flags, `./${filename}`], { cwd: folder });
  command = join(folder, "node_modules/.bin/hosted-mail");
  product = await serveProduct();
  account = await newAccount();
  client = new HostedMail({ baseUrl: product.base, token: account.owner.token });
}, 60_000);
afterAll(async () => {
  await product.close();
  await rm(folder, { recursive: true, force: true });
});

type Result = { code: number; stdout: string; stderr: string };
type Settings = { input?: string; env?: Record<string, string> };

const environment = (env: Record<string, string> = {}) => ({
  PATH: process.env["PATH"],
  HOME: folder,
  XDG_CONFIG_HOME: join(folder, "config"),
  ...env,
});

/** The environment variables with the address of the product and the token of the owner. */
const asOwner = () => ({ HOSTED_MAIL_BASE_URL: product.base, HOSTED_MAIL_TOKEN: account.owner.token });

async function hostedMail(args: readonly string[], { input, env = asOwner() }: Settings = {}): Promise<Result> {
  const running = run(command, [...args], { cwd: folder, env: environment(env) });
  // A command that reads no input can end before its input is written.
  running.child.stdin?.on("error", () => {}).end(input ?? "");
  try {
    return { code: 0, ...(await running) };
  } catch (error) {
    return error as Result;
  }
}

const lines = (text: string): string[] => text.split("\n").filter(Boolean);

describe("logging in", () => {
  const env = {};
  const configFile = () => join(folder, "config/hosted-mail/config.json");

  test("stores a token that the API accepts, in a file that only the user can read, and logging out removes the token", async () => {
    const baseUrl = `${product.base}/v1/public/`;
    const input = `${account.owner.token}\n`;
    const refused = await hostedMail(["login", "--token-stdin", "--base-url", baseUrl], { input: "sat_no", env });
    expect(refused).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringMatching(/unauthenticated.*\(request \S+\)\. Log in again: /),
    });
    expect(existsSync(configFile())).toBe(false);
    const entered = await hostedMail(["login", "--token-stdin", "--base-url", baseUrl], { input, env });
    expect(entered).toMatchObject({ code: 0, stderr: expect.stringContaining(`as ${account.owner.email}`) });
    expect(entered.stderr + entered.stdout).not.toContain(account.owner.token);
    expect((statSync(configFile()).mode & 0o777).toString(8)).toBe("600");
    const who = JSON.parse((await hostedMail(["whoami"], { env })).stdout);
    expect(who).toMatchObject({ id: account.owner.id, account_id: account.id, token: "stored", profile: "default" });
    expect(await hostedMail(["whoami", "--profile", "other", "--base-url", baseUrl], { env })).toMatchObject({
      code: 3,
    });
    await hostedMail(["logout"], { env });
    expect(await hostedMail(["whoami"], { env })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("hosted-mail login"),
    });
  });

  test("does not print a token with a line break", async () => {
    const enter = ["login", "--token-stdin", "--base-url", product.base];
    const failed = await hostedMail(enter, { input: "secret-one\nsecret-two\n", env });
    expect(failed).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("The token has a space") });
    expect(failed.stderr).not.toContain("secret");
  });

  test("stores no token for an address that does not answer with JSON", async () => {
    const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<p>Sign in</p>"));
    const base = `http://127.0.0.1:${await portOf(server)}`;
    onTestFinished(() => void server.close());
    const failed = await hostedMail(["login", "--token-stdin", "--base-url", base], { input: "secret-token", env });
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("text/html, not JSON") });
    expect(existsSync(configFile()) ? readFileSync(configFile(), "utf8") : "").not.toContain("secret-token");
  });

  test("stores a token that HOSTED_MAIL_TOKEN overrides, and that is sent to no other address", async () => {
    const input = account.owner.token;
    await hostedMail(["login", "--token-stdin", "--base-url", product.base], { input, env });
    const other = newUser();
    const { stdout } = await hostedMail(["me", "get"], { env: { HOSTED_MAIL_TOKEN: other.token } });
    expect(JSON.parse(stdout)).toMatchObject({ id: other.id });
    const elsewhere = await hostedMail(["me", "get", "--base-url", "http://127.0.0.1:1"], { env });
    expect(elsewhere).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("not logged in to http://127.0.0.1:1"),
    });
  });

  test("requires a choice of the account if the token has several accounts", async () => {
    const owner = newUser();
    const [first, second] = [await newAccount({ owner, name: "First" }), await newAccount({ owner, name: "Second" })];
    const input = owner.token;
    await hostedMail(["login", "--token-stdin", "--base-url", product.base, "--profile", "two"], { input, env });
    const ask = (...more: string[]) =>
      hostedMail(["tags", "add", "--name", "Blue", "--profile", "two", ...more], { env });
    expect(await ask()).toMatchObject({ code: 2, stderr: expect.stringContaining("accounts use") });
    await hostedMail(["accounts", "use", second.id, "--profile", "two"], { env });
    expect(await ask()).toMatchObject({ code: 0 });
    expect(await ask("--account", first.id)).toMatchObject({ code: 0 });
    expect(await ask()).toMatchObject({ code: 1, stderr: expect.stringMatching(/tag_name_taken.*\(request /) });
    // The chosen account does not apply to another token.
    const who = async (other: Record<string, string>) =>
      JSON.parse((await hostedMail(["whoami", "--profile", "two"], { env: other })).stdout).account_id;
    expect(await who({})).toBe(second.id);
    expect(await who({ HOSTED_MAIL_TOKEN: account.owner.token })).toBe(account.id);
    expect(await who({ HOSTED_MAIL_TOKEN: input })).toBeNull();
    const use = await hostedMail(["accounts", "use", first.id, "--profile", "two"], {
      env: { HOSTED_MAIL_TOKEN: input },
    });
    expect(use).toMatchObject({ code: 2, stderr: expect.stringContaining("give --account") });
  });
});

describe("a function", () => {
  test("takes words, options, lists, booleans, objects and null", async () => {
    const { stdout } = await hostedMail(["workspaces", "add", "--name", "Sales"]);
    const { id } = JSON.parse(stdout);
    const read = await hostedMail(["workspaces", "get", id]);
    expect(JSON.parse(read.stdout)).toMatchObject({ name: "Sales" });
    const domain = ["domains", "add", "--name", "values-example.com", "--workspace-id", id];
    expect(await hostedMail([...domain, "--dns-mode", "external"])).toMatchObject({ code: 0 });
    const report = await hostedMail(["domains", "update", "values-example.com", "--dmarc-report-email", "null"]);
    expect(JSON.parse(report.stdout).dmarc_report_email).toBeNull();
    const tag = JSON.parse((await hostedMail(["tags", "add", "--name", "Values"])).stdout);
    for (const [given, names] of [
      [tag.id, ["Values"]],
      ["[]", []],
    ]) {
      const tagged = await hostedMail(["domains", "update", "values-example.com", "--tag-ids", given]);
      expect(JSON.parse(tagged.stdout).tags.map(({ name }: { name: string }) => name)).toEqual(names);
    }
    await client.tags.delete({ account_id: account.id, tag_id: tag.id });
    const types = ["--event-types", "tag.*", "--event-types", "workspace.*"];
    const webhook = await hostedMail(["webhooks", "add", "--url", "https://example.com/hook", ...types]);
    expect(JSON.parse(webhook.stdout).event_types).toEqual(["tag.*", "workspace.*"]);
    await writeFile(join(folder, "attributes.json"), '{"city": "Graz"}');
    const group = await hostedMail(["auth", "groups", "create", "--name", "Ops", "--attributes", "@attributes.json"]);
    expect(JSON.parse(group.stdout)).toMatchObject({ name: "Ops", attributes: { city: "Graz" } });
    const deleted = await hostedMail(["domains", "delete", "values-example.com", "--no-release", "--purge"]);
    expect(deleted).toMatchObject({ code: 0, stdout: "{}\n" });
  });

  test("refuses a missing item of a list and null in place of an object, and names the option", async () => {
    const bulk = ["mailboxes", "bulk", "--domain", "none.example.com", "--items"];
    const purchase = ["domains", "purchase", "--workspace-id", account.id, "--domains", "a.com", "--contact-info"];
    for (const [args, message] of [
      [[...bulk, "[]"], "--items: Write at least 1 item"],
      [[...bulk, "null"], "--items.0: Write an object, not null"],
      [[...purchase, "null"], "--contact-info: Write an object, not null"],
    ] as const) {
      expect(await hostedMail(args)).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
    }
  });

  test("that lists prints all pages as one document; --jsonl prints one line for each item, and --limit limits the items", async () => {
    const own = await newAccount();
    const env = { ...asOwner(), HOSTED_MAIL_TOKEN: own.owner.token };
    const tags = new HostedMail({ baseUrl: product.base, token: own.owner.token }).tags;
    for (const name of ["One", "Two", "Three"]) await tags.add({ account_id: own.id, name });
    const all = await hostedMail(["tags", "list"], { env });
    expect(JSON.parse(all.stdout).map(({ name }: { name: string }) => name)).toEqual(["One", "Two", "Three"]);
    const some = await hostedMail(["tags", "list", "--jsonl", "--limit", "2"], { env });
    expect(lines(some.stdout).map((line) => JSON.parse(line).name)).toEqual(["One", "Two"]);
    expect(JSON.parse((await hostedMail(["webhooks", "list"], { env })).stdout)).toEqual([]);
  });

  test("that lists prints the whole answer if the answer has more than the items", async () => {
    const plans = JSON.parse((await hostedMail(["billing", "plans", "list"])).stdout);
    expect(Object.keys(plans)).toEqual(["plans", "dedicated_ip_first_days", "currency"]);
  });

  test.skipIf(!existsSync("/usr/bin/script"))("prints a table on a terminal, without control sequences", async () => {
    await client.tags.add({ account_id: account.id, name: "Blue" });
    const words = `${command} tags list`;
    const { stdout } = await run("script", ["-qec", words, "/dev/null"], { env: environment(asOwner()) });
    const [head, row] = lines(stdout);
    expect(head).toMatch(/^NAME +.*ID/);
    expect(row).toMatch(/^Blue +/);
    expect(stdout).not.toContain("\u001b");
  });
});

describe("an error", () => {
  test.each([
    [["domains", "lst"], 2, "unknown command 'lst' (Did you mean list?)"],
    [["mailboxes", "add", "--domain", "x"], 2, "required option '--local-part <text>' not specified"],
    [["domains", "list", "--status", "odd"], 2, "Write one of pending_registration"],
    [["mailboxes", "bulk", "--domain", "x", "--items", "{"], 2, "Write JSON, or @file"],
    [
      ["domains", "list", "--page-size", "50"],
      2,
      "A list command reads all pages. --limit sets the greatest number of items.",
    ],
    [["help", "domains", "lst"], 2, "unknown command 'lst'"],
    [["tags", "list", "--limit", "0"], 2, "--limit must be a whole number of at least 1."],
    [["tags", "list", "--limit", "1.5"], 2, "--limit must be a whole number of at least 1."],
    [["mailboxes", "delete", "ann@example.com?x"], 2, "mailboxes.delete cannot send the argument mailbox: "],
    [["domains", "get", "nope.example"], 1, "not_found: "],
    [["tags", "add", "--name", ""], 1, "validation_failed: --name: "],
    [["dns", "import"], 2, "Give a zone file, or --public-dns."],
  ] as const)("of %j is one line that says what is wrong", async (args, code, message) => {
    const failed = await hostedMail(args);
    expect(failed).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
    expect(failed.stderr).toMatch(/^hosted-mail: /);
    expect(lines(failed.stderr)).toHaveLength(1);
  });

  test("because of a missing answer exits with 4", async () => {
    const server = createServer((request) => request.socket.destroy());
    const port = await portOf(server);
    onTestFinished(() => void server.close());
    const env = { HOSTED_MAIL_BASE_URL: `http://127.0.0.1:${port}`, HOSTED_MAIL_TOKEN: "t" };
    // A PATCH is sent once.
    const failed = await hostedMail(["notices", "update", "--account", account.id], { env });
    expect(failed).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/had no answer: .*[^.]\. Check --base-url/),
    });
  });
});

test("every function of the API is a command", () => {
  const program = createProgram("1.0.0");
  const missing = routes
    .map(({ name }) => name)
    .filter((name) => {
      let at: Command | undefined = program;
      for (const word of name.split(".")) {
        at = at?.commands.find((one) => one.name() === word.replaceAll("_", "-"));
      }
      return at === undefined;
    });
  expect(missing).toEqual([]);
});

test("the help of a command has an example, and --version prints the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(cliFolder, "package.json"), "utf8"));
  expect((await hostedMail(["--version"])).stdout).toBe(`${version}\n`);
  expect((await hostedMail(["--help"])).stdout).toMatch(/Examples:[^]*Exit codes: 0 done/);
  for (const args of [
    ["domains", "list"],
    ["mailboxes", "import"],
    ["audit", "tail"],
    ["auth", "groups", "create"],
  ]) {
    const { code, stdout } = await hostedMail([...args, "--help"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Example:\n  hosted-mail ${args.join(" ")}`)]);
  }
});

test("`help` prints the same text for a command as its --help, and describes a group by its commands", async () => {
  const shown = await hostedMail(["help", "domains", "list"]);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toBe((await hostedMail(["domains", "list", "--help"])).stdout);
  expect((await hostedMail(["help", "domains"])).stdout).toMatch(/auth-code +Commands: create$/m);
});

test("the options that every command has can also stand before the command", async () => {
  expect((await hostedMail(["--help"])).stdout).toContain("--profile <name>");
  const owner = newUser();
  await newAccount({ owner });
  const own = await newAccount({ owner });
  const input = owner.token;
  const enter = ["--base-url", product.base, "--profile", "early", "login", "--token-stdin"];
  expect(await hostedMail(enter, { input, env: {} })).toMatchObject({ code: 0 });
  const found = await hostedMail(["--profile", "early", "--jsonl", "--account", own.id, "whoami"], { env: {} });
  expect(JSON.parse(found.stdout)).toMatchObject({ account_id: own.id, profile: "early" });
  expect(lines(found.stdout)).toHaveLength(1);
});

test("completes commands, options and values in a shell", async () => {
  const found = async (...words: string[]) => lines((await hostedMail(["__complete", "--", ...words])).stdout);
  expect(await found("mailboxes", "re")).toEqual(["restore", "reveal-credentials"]);
  expect(await found("dns", "import", "--d")).toEqual(["--domain", "--dry-run"]);
  expect(await found("mailboxes", "list", "--status", "pa")).toEqual(["paused"]);
  const script = `eval "$(hosted-mail completion bash)"; COMP_WORDS=(hosted-mail domains ve); COMP_CWORD=2; _hosted_mail; echo "$COMPREPLY"`;
  const PATH = `${join(folder, "node_modules/.bin")}:${process.env["PATH"]}`;
  expect((await run("bash", ["-c", script], { env: environment({ PATH }) })).stdout).toBe("verify\n");
  for (const shell of ["zsh", "fish"])
    expect((await hostedMail(["completion", shell])).stdout).toContain("hosted-mail __complete");
});

describe("imports", () => {
  let domain: string;
  let workspace_id: string;
  beforeAll(async () => {
    workspace_id = (await client.workspaces.add({ account_id: account.id, name: "Imports" })).id;
    domain = "imports-example.com";
    await client.domains.add({ account_id: account.id, workspace_id, name: domain });
  });

  const csv = (...rows: string[]) => ["Email,First name,Last name,Team", ...rows].join("\n");

  test(
    "mailboxes of a file, 100 in a request, and writes the failed rows with the reasons",
    { timeout: 60_000 },
    async () => {
      const many = Array.from({ length: 101 }, (_, index) => `p${index}@${domain},Pat,${index},Blue`);
      const wrong = [`p0@${domain},Pat,Again,`, "nobody,No,Mail,", "c@nope.example,Cy,Ng,Red", `a..b@${domain},Do,Ot,`];
      await writeFile(join(folder, "people.csv"), csv(...many, ...wrong));
      const dry = await hostedMail(["mailboxes", "import", "people.csv", "--dry-run"]);
      expect(JSON.parse(dry.stdout)).toMatchObject({ to_create: 101, existed: 0, failed: 4 });
      const first = await hostedMail(["mailboxes", "import", "people.csv"]);
      expect(first).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("4 rows failed. The reasons are in people.failed.csv."),
      });
      expect(JSON.parse(first.stdout)).toEqual({ created: 101, existed: 0, failed: 4, report: "people.failed.csv" });
      const failed = parse<Record<string, string>>(readFileSync(join(folder, "people.failed.csv"), "utf8"), {
        columns: true,
      });
      expect(failed.map(({ email, team, error_code }) => [email, team, error_code])).toEqual([
        [`p0@${domain}`, "", "duplicate_in_file"],
        ["nobody", "", "invalid_email"],
        ["c@nope.example", "Red", "not_found"],
        [`a..b@${domain}`, "", "invalid_local_part"],
      ]);
      await writeFile(join(folder, "people.csv"), csv(...many, `q@${domain},Quinn,Q,`));
      const second = await hostedMail(["mailboxes", "import", "people.csv"]);
      expect(second).toMatchObject({ code: 0 });
      expect(JSON.parse(second.stdout)).toEqual({ created: 1, existed: 101, failed: 0, report: null });
      expect((await client.mailboxes.list({ account_id: account.id, domain })).total).toBe(102);
    },
  );

  test("the valid rows of a file, and reports the line of each row with a wrong quota, name or address", async () => {
    const long = "x".repeat(101);
    const file = [
      "email,first_name,last_name,quota_allowed",
      ...["10 GB", "1.5", "-1", "99999999999999999999"].map((quota, index) => `quota${index}@${domain},Una,Q,${quota}`),
      "",
      `long@${domain},${long},N,`,
      `none@${domain},No,,`,
      `${long}@${domain},Long,L,`,
      `u@${domain},Una,U,${2 ** 30}`,
      `v@${domain},${long.slice(1)},V,`,
    ];
    await writeFile(join(folder, "quotas.csv"), file.join("\n"));
    const dry = await hostedMail(["mailboxes", "import", "quotas.csv", "--dry-run"]);
    expect(dry).toMatchObject({ code: 1, stderr: expect.stringContaining("7 rows failed.") });
    expect(JSON.parse(dry.stdout)).toMatchObject({ to_create: 2, existed: 0, failed: 7 });
    const reasons = () => {
      const report = readFileSync(join(folder, "quotas.failed.csv"), "utf8");
      return parse<Record<string, string>>(report, { columns: true }).map((row) => [row["error_code"], row["error"]]);
    };
    const expected = [
      ...[2, 3, 4, 5].map((line) => [
        "invalid_quota",
        `Line ${line}: quota_allowed must be a number of bytes, such as 10737418240.`,
      ]),
      ["invalid_name", "Line 7: first_name needs 1 to 100 characters."],
      ["invalid_name", "Line 8: last_name needs 1 to 100 characters."],
      ["invalid_local_part", "Line 9: The part before the @ has more than 64 characters."],
    ];
    expect(reasons()).toEqual(expected);
    const { stdout } = await hostedMail(["mailboxes", "import", "quotas.csv"]);
    expect(JSON.parse(stdout)).toEqual({ created: 2, existed: 0, failed: 7, report: "quotas.failed.csv" });
    expect(reasons()).toEqual(expected);
    const { quota } = await client.mailboxes.get({ account_id: account.id, mailbox: `u@${domain}` });
    expect(quota.allowed).toBe(2 ** 30);
  });

  test("the valid rows of a file, and a dry run reports the same local parts as the API refuses", async () => {
    const wrong = ["a..b", ".a", "a.", "-a", "a_", "a+b", "a'b", "j\u00f6rg", "\u212aelvin\u00e9", "a/b"];
    const right = ["a.b-c_d", "7", `${"x".repeat(63)}y`, "UP"];
    const rows = [...wrong, ...right].map((local) => `${local}@${domain},Lo,Cal,`);
    await writeFile(join(folder, "locals.csv"), csv(...rows, `"m,x@${domain}",Lo,Cal,`));
    const dry = await hostedMail(["mailboxes", "import", "locals.csv", "--dry-run"]);
    expect(JSON.parse(dry.stdout)).toMatchObject({ to_create: 4, existed: 0, failed: 11 });
    const report = readFileSync(join(folder, "locals.failed.csv"), "utf8");
    expect(new Set(parse<Record<string, string>>(report, { columns: true }).map((row) => row["error_code"]))).toEqual(
      new Set(["invalid_local_part"]),
    );
    await Promise.all(
      [...wrong, "m,x"].map(async (local_part) => {
        const { failed } = await client.mailboxes.bulk({
          account_id: account.id,
          domain,
          items: [{ local_part, first_name: "Lo", last_name: "Cal" }],
        });
        expect(failed, local_part).toMatchObject([{ code: "invalid_local_part" }]);
      }),
    );
    const { stdout } = await hostedMail(["mailboxes", "import", "locals.csv"]);
    expect(JSON.parse(stdout)).toMatchObject({ created: 4, failed: 11 });
  });

  test("the valid rows of a file, and reports the rows whose domain the API refuses", async () => {
    const wrong = ["example", "example..com", "example.com>", "example.com/", "ex%61mple.com", ".."];
    const rows = [...wrong.map((name) => `ann@${name},Ann,A,`), `w@${domain},Wes,W,`];
    await writeFile(join(folder, "domains.csv"), csv(...rows));
    const dry = await hostedMail(["mailboxes", "import", "domains.csv", "--dry-run"]);
    expect(JSON.parse(dry.stdout)).toMatchObject({ to_create: 1, existed: 0, failed: 6 });
    const { stdout } = await hostedMail(["mailboxes", "import", "domains.csv"]);
    expect(JSON.parse(stdout)).toEqual({ created: 1, existed: 0, failed: 6, report: "domains.failed.csv" });
    const report = parse<Record<string, string>>(readFileSync(join(folder, "domains.failed.csv"), "utf8"), {
      columns: true,
    });
    expect(report.map(({ error_code }) => error_code)).toEqual(wrong.map(() => "invalid_email"));
  });

  test("no mailbox twice into a domain whose name the API writes in ASCII", async () => {
    const { name } = await client.domains.add({ account_id: account.id, workspace_id, name: "bücher-imports.com" });
    expect(name).toBe("xn--bcher-imports-wob.com");
    await writeFile(join(folder, "idn.csv"), csv("anna@bücher-imports.com,Anna,A,"));
    for (const [created, existed] of [
      [1, 0],
      [0, 1],
    ]) {
      const imported = await hostedMail(["mailboxes", "import", "idn.csv"]);
      expect(imported).toMatchObject({ code: 0 });
      expect(JSON.parse(imported.stdout)).toEqual({ created, existed, failed: 0, report: null });
    }
  });

  test("no mailbox of a file without the required columns", async () => {
    await writeFile(join(folder, "odd.csv"), "email,name\na@b.c,A");
    const failed = await hostedMail(["mailboxes", "import", "odd.csv"]);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining("Missing: first_name, last_name.") });
  });

  test.each([
    ["", "is empty. It needs the columns email, first_name, last_name."],
    ["email,name\n", "Missing: first_name, last_name."],
    ["email;first_name;last_name\na@b.c;A;B\n", 'separates its columns by ";". Separate them by commas.'],
    ["email\tfirst_name\tlast_name\n", "separates its columns by tabs. Separate them by commas."],
  ])("no mailbox of the file %j", async (file, message) => {
    await writeFile(join(folder, "header.csv"), file);
    const failed = await hostedMail(["mailboxes", "import", "header.csv"]);
    expect(failed).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  test("no mailbox of a file that is not UTF-8", async () => {
    const text = csv(`j@${domain},J\u00f6rg,Lee,`);
    await writeFile(join(folder, "latin.csv"), Buffer.from(text, "latin1"));
    const failed = await hostedMail(["mailboxes", "import", "latin.csv"]);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining("latin.csv is not UTF-8.") });
  });

  test("no mailbox with an invalid token and exits with 3, and exits with 1 if the report cannot be written", async () => {
    await writeFile(join(folder, "some.csv"), csv(`r@${domain},Ria,R,`, "nobody,No,Mail,"));
    const args = ["mailboxes", "import", "some.csv", "--account", account.id];
    const stopped = await hostedMail(args, { env: { ...asOwner(), HOSTED_MAIL_TOKEN: "sat_no" } });
    expect(stopped).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("Stopped after 1 of 2 rows."),
    });
    expect(stopped.stderr).toContain("Log in again: hosted-mail login");
    const unwritten = await hostedMail([...args, "--dry-run", "--report", "no-folder/failed.csv"]);
    expect(unwritten).toMatchObject({ code: 1, stderr: expect.stringContaining("no-folder/failed.csv") });
  });

  test("a zone for the domain of its $ORIGIN, after a dry run", async () => {
    await writeFile(
      join(folder, "zone.txt"),
      `$ORIGIN .\n$ORIGIN ${domain}. ; main\n$TTL 3600\nwww IN A 192.0.2.1\n@ IN MX 10 old.example.\n`,
    );
    const dry = JSON.parse((await hostedMail(["dns", "import", "zone.txt", "--dry-run"])).stdout);
    expect(dry).toMatchObject({ dry_run: true, created_count: 1, skipped_count: 1 });
    const done = JSON.parse((await hostedMail(["dns-records", "import", "zone.txt"])).stdout);
    expect(done.created).toMatchObject([{ name: "www", type: "A", value: "192.0.2.1" }]);
    const again = await hostedMail(["dns", "import", "zone.txt"]);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ created_count: 0, skipped_count: 2 });
  });

  test.each([
    ["", "zone-length.txt is empty. It needs at least one record."],
    [" \n\n", "zone-length.txt is empty. It needs at least one record."],
    ["; a\n".repeat(250_001), "zone-length.txt has more than 1000000 characters."],
  ])("no zone from a file that is empty or too long, and names the file (%#)", async (zone, message) => {
    await writeFile(join(folder, "zone-length.txt"), zone);
    const failed = await hostedMail(["dns", "import", "zone-length.txt", "--domain", domain]);
    expect(failed).toMatchObject({ code: 2, stdout: "", stderr: `hosted-mail: ${message}\n` });
  });

  test("no zone from a file without any record, and exits with 1", async () => {
    await writeFile(join(folder, "odd-zone.txt"), "email,name\nann@example.com,Ann\n");
    const failed = await hostedMail(["dns", "import", "odd-zone.txt", "--domain", domain]);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("No record was imported. Line 1: ") });
    expect(JSON.parse(failed.stdout)).toMatchObject({ created_count: 0, skipped_count: 2 });
  });
});

test("audit tail prints the last changes and then each new one, and Ctrl-C ends it", { timeout: 30_000 }, async () => {
  const own = await newAccount();
  const mine = new HostedMail({ baseUrl: product.base, token: own.owner.token });
  await mine.tags.add({ account_id: own.id, name: "Before" });
  const env = environment({ ...asOwner(), HOSTED_MAIL_TOKEN: own.owner.token });
  const args = ["audit", "tail", "--lines", "1", "--interval", "0.1"];
  const tail: ChildProcess = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => tail.once("exit", resolve));
  onTestFinished(() => void tail.kill("SIGKILL"));
  const names: string[] = [];
  if (!tail.stdout) throw new Error("there is no output");
  for await (const line of createInterface({ input: tail.stdout })) {
    names.push(JSON.parse(line).after.name);
    if (names.length === 1) await mine.tags.add({ account_id: own.id, name: "After" });
    else tail.kill("SIGINT");
  }
  expect(names).toEqual(["Before", "After"]);
  expect(await ended).toBe(130);
});

test("audit tail goes on after a failure of the server, and prints every entry of a log that was empty", async () => {
  const entry = { id: "e", occurred_at: "2026-01-01T00:00:00.000Z", after: { name: "First" } };
  const pageOf = (...items: object[]) => ({ items, page: 1, page_size: 100, total: items.length });
  const replies: [number, object][] = [
    [200, pageOf()],
    [500, { code: "internal_error" }],
    [200, pageOf(entry)],
    [401, { code: "unauthenticated" }],
  ];
  const asked: URL[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(new URL(url, "http://127.0.0.1"));
    const [status, body] = replies.shift() ?? [404, {}];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const env = { HOSTED_MAIL_BASE_URL: `http://127.0.0.1:${await portOf(server)}`, HOSTED_MAIL_TOKEN: "t" };
  onTestFinished(() => void server.close());
  const tail = await hostedMail(["audit", "tail", "--interval", "0.01", "--account", "a", "--jsonl"], { env });
  expect(tail).toMatchObject({ code: 3, stdout: `${JSON.stringify(entry)}\n` });
  expect(lines(tail.stderr)[0]).toMatch(/^hosted-mail: internal_error.* The command tries again in 1 seconds\.$/);
  // After an entry, the command asks again for the last minute before the entry, because an older entry can appear
  // late.
  expect(asked.map(({ searchParams }) => searchParams.get("since"))).toEqual([
    null,
    "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00.000Z",
    "2025-12-31T23:59:00.000Z",
  ]);
});
