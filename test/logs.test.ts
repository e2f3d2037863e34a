import { expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { callCode, callRest } from "./support/call.ts";
import { exampleOf, type Example } from "./support/examples.ts";
import { logged } from "./support/logged.ts";
import { sampleOf } from "./support/sample.ts";
import { newAccount, newUser } from "./support/world.ts";

const caller = { email: "marked.caller@example.com", given_name: "Markedgiven", family_name: "Markedfamily" };

/** Members whose texts describe a person, or were written by a person. */
const personal =
  /email|name|address|street|city|phone|message|title|description|subject|detail|password|secret|token|recipient|target|local_part/;

/** The texts of a call that no line of the log may have. Leaves out short texts, which a line can have by chance. */
function privateTexts(value: unknown, member = ""): string[] {
  if (typeof value === "string")
    return (personal.test(member) || value.includes("@")) && value.length > 7 ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => privateTexts(one, Array.isArray(value) ? member : name));
}

const isId = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

const inCodeMode = new Set(sampleOf(routes, 15, "logs").map(({ name }) => name));

test("a private text is one of a personal member, or has an @", () => {
  const example: Example = {
    account_id: "1234567890",
    list: ["ada@example.com"],
    contact: { first_name: "Ada Lovelace" },
  };
  expect(privateTexts(example)).toEqual(["ada@example.com", "Ada Lovelace"]);
});

// An exhaustive run tests all routes, and another run tests 50 of them.
test.each(sampleOf(routes, 50, "what is logged").map((route) => ({ name: route.name, route })))(
  "$name logs neither the name nor the address of its caller, and no personal text of the call",
  async ({ name, route }) => {
    const owner = newUser(caller);
    const account = await newAccount({ owner });
    const example = await exampleOf(route, account);
    const lines = logged();
    const answer = await callRest(route, example, owner.token);
    if (inCodeMode.has(name)) await callCode(route, example, owner.token);
    const text = lines.join("");
    expect(text).toContain('"message":"request"');
    const marks = [...Object.values(caller), ...privateTexts(example), ...privateTexts(answer.body)];
    // A name of the product, such as the name of a function, is not a personal text. An id is not a personal text
    // either.
    const allowed = (mark: string): boolean =>
      routes.some((one) => one.name === mark) || /^[a-z_]+$/.test(mark) || isId(mark);
    expect(marks.filter((mark) => !allowed(mark) && text.includes(mark))).toEqual([]);
  },
);
