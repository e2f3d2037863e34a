import { expect, test } from "vitest";

import { catalogue } from "../../../../functions/code/catalogue.ts";
import { searchFunctions } from "../../../../functions/code/catalogue/search.ts";
import { check } from "../../../../functions/code/checker/checker.ts";
import { parseProgram } from "../../../../functions/code/interpreter/builtins.ts";
import { runFor } from "../../../support/code-door.ts";
import { newUser } from "../../../support/world.ts";

const user = newUser();
const valueOf = async (code: string) => (await runFor(user, code)).result.last_value as never;

test("functions.list answers every function, or those that begin with a prefix", async () => {
  const all: { functions: { name: string }[] } = await valueOf("functions.list()");
  expect(all.functions.map(({ name }) => name)).toEqual([...catalogue.keys()]);
  const some: string[] = await valueOf('[f.name for f in functions.list(prefix="tags.").functions]');
  expect(some).toEqual([...catalogue.keys()].filter((name) => name.startsWith("tags.")));
});

test.each([
  ["create a workspace", "workspaces.add"],
  ["mailboxes", "mailboxes.list"],
  ["reveal password", "mailboxes.reveal_credentials"],
  ["wallet balance", "billing.wallet_balance.get"],
  ["invoices", "billing.invoices.list"],
  ["catch-all alias", "mailboxes.aliases.create"],
  ["delegation nameservers verify", "domains.verify"],
  ["who am i identity", "me.get"],
  ["workspce delete", "workspaces.delete"],
])("functions.search finds %s", async (query, name) => {
  const found: string[] = await valueOf(`[f.name for f in functions.search(query=${JSON.stringify(query)}).functions]`);
  expect(found.length).toBeLessThanOrEqual(10);
  expect(found.slice(0, 3)).toContain(name);
});

test("a search without a hit answers nothing", () => {
  expect(searchFunctions(catalogue, "zzzzqq !!")).toEqual([]);
});

test("functions.explain tells all there is to know, and its example is a call that is right", async () => {
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

test("functions.explain says which name was meant", async () => {
  const { error } = await runFor(user, 'functions.explain(name="workspace.ad")');
  expect(error).toMatchObject({ code: "invalid_argument", line: 1, column: 24 });
  expect(error?.message).toContain("did you mean workspaces.add?");
});
