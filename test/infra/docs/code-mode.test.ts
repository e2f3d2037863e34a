import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { newAccount } from "../../support/world.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../../docs/code-mode.md"), "utf8");
/** Each program of the page with the block below it: its value as JSON, or the message of its error. */
const examples = [...page.matchAll(/```python\n([^]*?)```\n\n```(json)?\n([^]*?)```/g)];

test("the six examples of docs/code-mode.md, run one after another, have the values and the error below them", async () => {
  expect(examples).toHaveLength(6);
  expect(page.match(/```python/g)).toHaveLength(6);
  const { owner } = await newAccount();
  for (const [index, [, code, kind, expected = ""]] of examples.entries()) {
    const body = { request_id: `example-${index}`, session_id: "examples", code };
    const answer = await request("POST", "/v1/public/a2a", { token: owner.token, body });
    const { result, error } = answer.body;
    if (kind === "json") expect([code, result.last_value, error]).toEqual([code, JSON.parse(expected), undefined]);
    else expect([code, error?.message]).toEqual([code, expected.trimEnd()]);
  }
});
