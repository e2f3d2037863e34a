import { execFileSync } from "node:child_process";

import { describe, expect, onTestFinished, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { check } from "../../../functions/code/checker/checker.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { exampleOf, operationIds } from "../../../infra/openapi/examples.ts";
import { samplesOf, shellQuoted, type Sample } from "../../../infra/openapi/samples.ts";
import { request } from "../../support/request.ts";
import {
  HostedMail,
  hasRequests,
  liveRun,
  hasPython,
  runPython,
  runShell,
  runTypescript,
  typeErrors,
  type SentRequest,
} from "../../support/samples.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount } from "../../support/world.ts";

const base = "https://api.example.com";
const accountId = exampleOf("accounts.get").path["account_id"];
const env = { BASE_URL: base, TOKEN: "token-1", ACCOUNT_ID: String(accountId) };

const sampleOf = (name: string, id: Sample["id"]): string | undefined =>
  samplesOf(name).find((sample) => sample.id === id)?.source;

/** The request that a sample of an operation must send: the request of its example. */
function requestOf(name: string): SentRequest {
  const { route, path, query, body } = exampleOf(name);
  return {
    method: route.http.method,
    path: route.http.path.replace(/\{(\w+)\}/g, (_, member: string) => String(path[member])),
    query: Object.fromEntries(Object.entries(query).map(([member, value]) => [member, String(value)])),
    token: route.public ? undefined : env.TOKEN,
    body: body === undefined || Object.keys(body).length === 0 ? undefined : body,
  };
}

test("each operation has samples with curl and in Python; each function has samples in all four languages", () => {
  const languages = (name: string) => samplesOf(name).map(({ id }) => id);
  for (const name of operationIds.filter((one) => !one.startsWith("code."))) {
    expect(languages(name)).toEqual(["curl", "typescript", "python", "code-mode"]);
  }
  expect(languages("code.a2a")).toEqual(["curl", "typescript", "python"]);
  expect(languages("code.mcp")).toEqual(["curl", "python"]);
});

test("a shell calls curl with the request of the example", () => {
  const sent = runShell(
    operationIds.map((name) => sampleOf(name, "curl") ?? ""),
    env,
  );
  expect(sent).toHaveLength(operationIds.length);
  for (const [index, name] of operationIds.entries()) expect([name, sent[index]]).toEqual([name, requestOf(name)]);
});

test.skipIf(!hasPython)("Python sends the request of the example", () => {
  const sent = runPython(
    operationIds.map((name) => sampleOf(name, "python") ?? ""),
    env,
  );
  for (const [index, name] of operationIds.entries()) expect([name, sent[index]]).toEqual([name, requestOf(name)]);
});

test("code mode accepts each program, and each program calls its function once", () => {
  const callable = operationIds.filter((name) => catalogue.has(name));
  expect(callable.length).toBeGreaterThan(150);
  for (const name of callable) {
    const { diagnostics, calls } = check(parseProgram(sampleOf(name, "code-mode") ?? ""), { catalogue });
    expect([name, diagnostics]).toEqual([name, []]);
    expect([...calls.values()].map(({ fn }) => fn.route.name)).toEqual([name]);
  }
});

describe.skipIf(HostedMail === undefined)("in TypeScript", () => {
  const programs = operationIds.flatMap((name) => {
    const source = sampleOf(name, "typescript");
    return source === undefined ? [] : [[name, source] as const];
  });

  test("all samples have the types of the client", async () => {
    expect(await typeErrors(programs.map(([, source]) => source))).toBe("");
  });

  test("each sample sends the request of the example", async () => {
    for (const [name, source] of programs) {
      const { answer, query } = exampleOf(name);
      const sent = await runTypescript(source, answer, env);
      // The client adds the page and its size to the query of a list.
      const { page: _, page_size: __, ...others } = sent.query;
      const asked = "page" in query ? sent : { ...sent, query: { ...others, ...pageSizeIn(query) } };
      expect([name, asked]).toEqual([name, requestOf(name)]);
    }
  });
});

/** Operations of several families whose examples need nothing but the account. */
const runnable =
  "me.get workspaces.add domains.list tags.add suppressions.add auth.groups.create billing.wallet_balance.get feedback.submit".split(
    " ",
  );

test("samples in every language work with a running product", async () => {
  const { base: served, close } = await serveProduct();
  onTestFinished(close);
  for (const language of ["curl", "typescript", "python", "code-mode"] as const) {
    const isHere = { curl: true, typescript: HostedMail !== undefined, python: hasRequests, "code-mode": true };
    if (!isHere[language]) continue;
    const account = await newAccount();
    const live = { BASE_URL: served, TOKEN: account.owner.token, ACCOUNT_ID: account.id };
    const sources = runnable.map((name) => sampleOf(name, language) ?? "");
    const mine = sources.map((source) => source.replaceAll(String(accountId), account.id));
    await liveRun[language](mine, live);
    const { body } = await request("GET", `/v1/public/accounts/${account.id}/audit-log?page_size=50`, account.owner);
    const done = new Set((body.items as { action: string }[]).map(({ action }) => action));
    const writes = runnable.filter((name) => exampleOf(name).route.access === "write");
    expect([language, writes.filter((name) => !done.has(name))]).toEqual([language, []]);
  }
});

/** The page size in the query of an example, if it has one. The client sends the same size. */
const pageSizeIn = ({ page_size: size }: Record<string, unknown>): Record<string, string> =>
  typeof size === "number" ? { page_size: String(size) } : {};

describe("a sample", () => {
  test("has no placeholder that a shell reads as a redirection, and no line that ends with a space", () => {
    for (const { source } of operationIds.flatMap(samplesOf)) expect(source).not.toMatch(/<[a-z]+>| $/m);
  });

  test("quotes characters that a shell would change", () => {
    const text = `it's "$HOME" \`ls\` \\ !1`;
    expect(execFileSync("sh", ["-c", `printf %s ${shellQuoted(text)}`], { encoding: "utf8" })).toBe(text);
  });
});
