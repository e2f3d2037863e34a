import { encode as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";

import { catalogue } from "../../../../../functions/code/catalogue.ts";
import { parametersOf } from "../../../../../functions/code/catalogue/signature.ts";
import { tools } from "../../../../../functions/code/protocols/mcp/tools.ts";
import { newWorkspace } from "../../../../support/auth.ts";
import { request } from "../../../../support/request.ts";
import { newAccount } from "../../../../support/world.ts";

type Tool = { name: string; description: string; inputSchema: object; annotations: object };
const [execute, query] = tools() as [Tool, Tool];

type Described = { args: string[]; changes: boolean };

/**
 * Reads the functions from the lines of a description: the arguments of each function, and whether it changes
 * something. A line is `prefix #=common: verb(args) verb(args) | verb(args)`. The functions after the bar change
 * something. In the arguments, `#` stands for `common`, and `…` for `page` and `page_size`.
 */
function readCatalogue({ description }: Tool): Map<string, Described> {
  const free = /All need account_id but (.*?)\.(?: |\n)/.exec(description)?.[1]?.split(", ") ?? [];
  const needsAccount = (name: string) => !free.includes(name) && !free.includes(`${prefixOf(name)}.*`);
  const lines = description.split("\n");
  const first = lines.findIndex((line) => line.startsWith("Functions,")) + 1;
  const read = lines.slice(first).flatMap((line) => {
    const [, prefix = "", common = "", members = ""] = /^([a-z_.]+)(?: #=(\w+))?: (.*)$/.exec(line) ?? [];
    const argsOf = (arg: string): string[] => {
      if (arg === "…") return ["page?", "page_size?"];
      return arg === "#" ? [common] : [arg];
    };
    const functionsIn = (text: string, changes: boolean) =>
      [...text.matchAll(/([a-z_.]+)\(([^)]*)\)/g)].map(([, verb, written = ""]): [string, Described] => {
        const name = `${prefix}.${verb}`;
        const args = (written.match(/\w+\{[^}]*\}|\S+/g) ?? []).flatMap(argsOf);
        if (needsAccount(name)) args.push("account_id");
        return [name, { args: args.toSorted(), changes }];
      });
    const [reads = "", writes = ""] = members.split("|");
    return [...functionsIn(reads, false), ...functionsIn(writes, true)];
  });
  return new Map(read);
}

const prefixOf = (name: string): string => name.slice(0, name.lastIndexOf("."));

/** The functions as the description should have them. Optional arguments are a `+`, except `page` and `page_size`. */
const real = new Map(
  [...catalogue.values()].map((fn) => {
    const { route } = fn;
    const payload = "payload{account_id name +}";
    const parameters = parametersOf(fn);
    const isPaging = (name: string): boolean => name === "page" || name === "page_size";
    const optional = parameters.filter(({ name, required }) => !required && !isPaging(name));
    const args = [
      ...parameters.filter(({ required }) => required).map(({ name }) => (name === "payload" ? payload : name)),
      ...parameters.filter(({ name }) => isPaging(name)).map(({ name }) => `${name}?`),
      ...(optional.length > 0 ? ["+"] : []),
    ];
    return [route.name, { args: args.toSorted(), changes: route.access === "write" }] as const;
  }),
);

test("the description of service_execute names every function, its required arguments, whether it has others, and whether it changes something", () => {
  expect(readCatalogue(execute)).toEqual(real);
});

test("the description of service_query leaves the catalogue to service_execute", () => {
  expect(readCatalogue(query)).toEqual(new Map());
  expect(query.description).toContain("those of service_execute, without the functions after |");
});

test.each([
  ["o200k_base", o200k],
  ["cl100k_base", cl100k],
])("both descriptions together take fewer than 1,250 tokens of %s", (_, encode) => {
  // The encodings of OpenAI's models. The encodings of other models are not public, or differ by a few per cent.
  const counts = [execute, query].map(({ description }) => encode(description).length);
  expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(1_250);
});

test("the first 2 KB of the description say how to write programs, because some clients cut the rest", () => {
  expect(execute.description.slice(0, 2_048)).toContain("functions.search");
  expect(execute.description.indexOf("Functions, by prefix")).toBeLessThan(2_048);
});

test("the example of each description is a program that its tool accepts", async () => {
  for (const { name, description } of [execute, query]) {
    const account = await newAccount();
    const { id, owner } = account;
    await newWorkspace(account, "Support");
    const lines = description.split("\n").filter((line) => /^(\w+ = [a-z]|\[)/.test(line));
    expect(lines).toHaveLength(name === execute.name ? 3 : 2);
    const params = { name, arguments: { code: lines.join("\n").replaceAll("…", id), dry_run: true } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const answer = await request("POST", "/v1/public/mcp", { token: owner.token, body });
    expect([answer.body.result.content[0].text, answer.body.result.isError]).toEqual([expect.any(String), false]);
  }
});

test("the tools refuse unknown arguments, and their annotations describe the most that a program can do", () => {
  for (const { inputSchema } of [execute, query]) {
    expect(inputSchema).toMatchObject({ type: "object", required: ["code"], additionalProperties: false });
    expect(Object.keys((inputSchema as { properties: object }).properties)).toEqual([
      "code",
      "dry_run",
      "session_id",
      "request_id",
      "results",
    ]);
  }
  const { description: _, inputSchema: __, ...hints } = execute;
  expect(hints).toEqual({
    name: "service_execute",
    title: "Run API calls",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  });
  expect(query.annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  });
});
