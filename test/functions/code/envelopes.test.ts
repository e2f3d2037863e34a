import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { CodeResponse } from "../../../functions/code/envelope.ts";
import type { Run } from "../../../functions/code/execution/execute.ts";
import { runFor } from "../../support/code-context.ts";
import { newAccount } from "../../support/world.ts";

/** Replaces a value that differs from run to run by the name of its member. */
const masked = (key: string, value: unknown): unknown =>
  typeof value === "string" && (/_at$|^(account_)?id$|^token/.test(key) || /^[\da-f]{8}-[\da-f-]{27}$/.test(value))
    ? `<${key}>`
    : value;

const missing = "99999999-9999-4999-8999-999999999999";

test.each<[string, string, Partial<Run>?]>([
  ["completed", 'workspaces.add(account_id=a, name="Sales")\nworkspaces.list(account_id=a, page_size=50)'],
  [
    "nested",
    'w = workspaces.add(account_id=a, name="Sales")\n[workspaces.get(account_id=a, workspace_id=x.id).name for x in [w]]',
  ],
  ["failed", `workspaces.add(account_id=a, name="Sales")\ntags.delete(account_id=a, tag_id="${missing}")\nme.get()`],
  ["mistake", 'tags.add(account_id=a, nam="VIP")'],
  ["dry-run", 'workspaces.add(account_id=a, name="Sales")', { dryRun: true }],
  ["no-call", "x = 1\nx + 2"],
  ["not-kept", 'made = auth.service_accounts.create(account_id=a, name="Bot")\nmade.name', { sessionId: "s" }],
])("an answer has the specified members, in their order: %s", async (name, program, run = {}) => {
  const { id, owner } = await newAccount();
  const code = run.dryRun ? program.replace("account_id=a", `account_id="${id}"`) : `a = "${id}"\n${program}`;
  const answer = CodeResponse.parse(await runFor(owner, code, { requestId: "req-1", ...run }));
  const text = JSON.stringify(answer, masked);
  const golden = await readFile(join(import.meta.dirname, `golden/${name}.json`), "utf8");
  const message = `if this change is intended, write the received value to test/functions/code/golden/${name}.json`;
  expect(JSON.stringify(JSON.parse(text), null, 2), message).toBe(JSON.stringify(JSON.parse(golden), null, 2));
});
