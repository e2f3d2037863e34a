import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";

import { catalogue } from "../../../../functions/code/catalogue.ts";
import { outputSchemaOf } from "../../../../functions/code/catalogue/function.ts";
import { parametersOf } from "../../../../functions/code/catalogue/signature.ts";
import { check } from "../../../../functions/code/checker/checker.ts";
import { parseProgram } from "../../../../functions/code/interpreter/builtins.ts";
import type { Schema } from "../../../../functions/code/interpreter/types.ts";
import { runFor } from "../../../support/code-context.ts";
import { newUser } from "../../../support/world.ts";

const user = newUser();
const valueOf = async <T = never>(code: string) => (await runFor(user, code)).result.last_value as T;

test("functions.list returns every function, or the functions with a prefix", async () => {
  const all: { functions: { name: string }[] } = await valueOf("functions.list()");
  expect(all.functions.map(({ name }) => name)).toEqual([...catalogue.keys()]);
  const some: string[] = await valueOf('[f.name for f in functions.list(prefix="tags.").functions]');
  expect(some).toEqual([...catalogue.keys()].filter((name) => name.startsWith("tags.")));
});

test("functions.explain describes a function, and the checker finds no mistake in the example of any function", async () => {
  const explained = await valueOf('functions.explain(name="workspaces.add")');
  expect(explained).toMatchObject({
    name: "workspaces.add",
    signature: "workspaces.add(account_id, name)",
    access: "write",
    capability: "workspace.manage",
    score: 1,
    parameters: [
      { name: "account_id", required: true },
      { name: "name", type: "string (1 to 255 characters)" },
    ],
    output: expect.stringContaining("name: string"),
    problems: [{ code: "workspace_name_taken", status: 409, title: "A workspace has this name already" }],
    example: 'workspaces.add(account_id="11111111-1111-4111-8111-111111111111", name="…")',
  });
  for (const name of catalogue.keys()) {
    const { example }: { example: string } = await valueOf(`functions.explain(name="${name}")`);
    const codes = check(parseProgram(example), { catalogue, session: new Map() }).diagnostics.map(({ code }) => code);
    expect([name, codes]).toEqual([name, []]);
  }
});

test("functions.explain lists `plan_required` for a function that needs a plan of the account", async () => {
  const { problems } = await valueOf<{ problems: { code: string }[] }>('functions.explain(name="mailboxes.add")');
  expect(problems.map(({ code }) => code)).toContain("plan_required");
});

test("functions.explain suggests the right name for a misspelled name", async () => {
  const { error } = await runFor(user, 'functions.explain(name="workspace.ad")');
  expect(error).toMatchObject({ code: "invalid_argument", line: 1, column: 24 });
  expect(error?.message).toContain("did you mean workspaces.add?");
});

type Digests = {
  functions: { signature: string; output: string; access: string; capability: string | null; score: number }[];
  types: Record<string, string>;
  notation: string;
};
const digestsOf = (names: readonly string[]) => valueOf<Digests>(`functions.explain(name=${JSON.stringify(names)})`);

test("functions.explain explains a list of functions in brief, and writes each shared type once", async () => {
  expect(await digestsOf(["mailboxes.add", "mailboxes.list", "domains.search"])).toEqual({
    functions: [
      {
        signature:
          "mailboxes.add(account_id: uuid, domain: string(..1000), local_part: string(..1000), first_name: string(1..100), last_name: string(1..100), quota_allowed?: integer(1048576..))",
        output: "Mailbox",
        access: "write",
        capability: "mailbox.create",
        score: 1,
      },
      {
        signature:
          "mailboxes.list(account_id: uuid, page?: integer(1..) = 1, page_size?: integer(1..100) = 25, domain?: string(..1000), workspace_id?: uuid, search?: string(1..320), status?: 'provisioning'|'active'|'paused'|'suspended'|'deleting', sort?: 'created_at'|'primary_email', order?: 'asc'|'desc' = \"asc\")",
        output: "{items: [Mailbox], page: integer, page_size: integer, total: integer}",
        access: "read",
        capability: "mailbox.view",
        score: 1,
      },
      expect.objectContaining({ capability: "domain.view", score: 5 }),
    ],
    types: {
      Mailbox: expect.stringContaining("status: 'provisioning'|'active'|'paused'|'suspended'|'deleting', "),
      MailboxAlias: "{alias, is_catch_all: boolean}",
    },
    notation: expect.stringContaining("`name?` may be left out"),
  });
});

test("one call for all functions takes less than a quarter of the tokens of single calls, and has every argument and member", async () => {
  const names = [...catalogue.keys()];
  const all = await digestsOf(names);
  const each: unknown[] = [];
  for (const name of names) each.push(await valueOf(`functions.explain(name="${name}")`));
  const tokensOf = (value: unknown) => encode(JSON.stringify(value)).length;
  expect(tokensOf(all)).toBeLessThan(tokensOf(each) / 4);
  const written = Object.values(all.types).join(" ");
  for (const [index, fn] of [...catalogue.values()].entries()) {
    const { signature = "", output = "" } = all.functions[index] ?? {};
    const args = parametersOf(fn).map(({ name, required }) => (required ? name : `${name}?`));
    for (const arg of args) expect(signature).toMatch(new RegExp(`[( ]${arg.replace("?", "\\?")}[,:)]`));
    for (const member of membersOf(outputSchemaOf(fn))) expect(`${output} ${written}`).toContain(member);
  }
});

/** The names of all members in a schema, and its listed values. */
function membersOf(schema: Schema | boolean | undefined): string[] {
  if (typeof schema !== "object") return [];
  const { properties = {}, items, anyOf = [], enum: values = [], $defs = {} } = schema;
  const inner = [...Object.values(properties), ...[items ?? []].flat(), ...anyOf, ...Object.values($defs)];
  return [...Object.keys(properties), ...values.map(String), ...inner.flatMap(membersOf)];
}

test("functions.explain suggests the right name for a misspelled name in a list", async () => {
  const { error } = await runFor(user, 'functions.explain(name=["me.get", "workspace.ad"])');
  expect(error).toMatchObject({ code: "invalid_argument", line: 1, column: 35 });
  expect(error?.message).toContain("name[1]: There is no function of this name: did you mean workspaces.add?");
});

test.each([
  ["[]", "Write at least 1 item"],
  ["3", "Write a string or a list"],
  ['""', "Write at least 1 character"],
])("functions.explain refuses the name %s", async (name, reason) => {
  const { error } = await runFor(user, `functions.explain(name=${name})`);
  expect(error?.message).toContain(`functions.explain does not take this name: ${reason}`);
});
