import { describe, expect, test } from "vitest";

import { runFor } from "../../support/code-context.ts";
import { request } from "../../support/request.ts";
import { newUser } from "../../support/world.ts";

const keys = (count: number, prefix = ""): string =>
  Array.from({ length: count }, (_, index) => `"${prefix}${index.toString(36)}": 1`).join(", ");
const names = (count: number): string => Array.from({ length: count }, (_, index) => `v${index}`).join(", ");
/** A program that gives the variable `a` the text `chars`, repeated 2 to the power of `doublings` times. */
const long = (chars: string, doublings: number): string => `a = "${chars}"\n${"a = a + a\n".repeat(doublings)}`;

const name = "n".repeat(5_000);
/** Comprehensions in comprehensions, 20 deep. Each comprehension has eight `for` clauses. */
let chain = "1";
for (let depth = 0; depth < 20; depth += 1) {
  chain = `[${chain} ${Array.from({ length: 8 }, (_, index) => `for v${depth}_${index} in [0]`).join(" ")}]`;
}

describe("a program that is made to run long takes less than 500 ms of processor time:", () => {
  test.each([
    [
      "a key of 16,384 characters beside another",
      `${long("x".repeat(16), 10)}b = {a + "1": 1}\nb[a + "2"]`,
      "no_such_member",
    ],
    [
      "a key beside thousands of similar keys",
      `d = {${keys(5_000, "k".repeat(2))}}\nd["k" + "kzzzz"]`,
      "no_such_member",
    ],
    ["a variable of 5,000 characters", `${name} = 1\n${name}b`, "unknown_variable"],
    ["a member of 5,000 characters", `d = {"${name}": 1}\nd.${name}b`, "no_such_member"],
    ["a function of thousands of words", `${"abc.".repeat(15_000)}d()`, "unknown_function"],
    [
      "the length of a large dict, again and again",
      `d = {${keys(5_000)}}\nx = [len(d) for i in range(5000)]\nme.get()`,
      "",
    ],
    [
      "a large dict as a condition, again and again",
      `d = {${keys(5_000)}}\nx = [1 for i in range(5000) if d]\nme.get()`,
      "",
    ],
    [
      "two large dicts compared again and again",
      `d = {${keys(2_500)}}\ne = {${keys(2_500, "e")}}\nx = [d == e for i in range(5000)]\nme.get()`,
      "too_much_work",
    ],
    [
      "names of comprehensions in comprehensions",
      `z = 1\nx = [${chain} for q in range(400)]\nme.get()`,
      "too_much_work",
    ],
    [
      "a comprehension with a call among thousands of literals, again and again",
      `x = [[[me.get(), ${"0, ".repeat(6_000)}] for y in []] for i in range(10000)]\nme.get()`,
      "",
    ],
    [
      "an expression with thousands of operands, of which only the first is evaluated, again and again",
      `x = [True ${"or 0 ".repeat(6_000)} for i in range(30000)]\nme.get()`,
      "",
    ],
    [
      "a name among thousands of names of one `for`, again and again",
      `x = [[v0 for i in range(60000)] for ${names(6_000)} in [range(6000)]]\nme.get()`,
      "too_much_work",
    ],
    [
      "tens of thousands of items with a call that is never made",
      `x = [[me.get() for y in [1] if False] for i in range(60000)]\nme.get()`,
      "too_much_work",
    ],
    [
      "an f-string of large texts",
      `${long("x".repeat(1_000), 10)}b = f"${"{a}".repeat(600)}"\nme.get()`,
      "too_much_work",
    ],
    [
      "thousands of unknown arguments",
      `mailboxes.add(${Array.from({ length: 8_000 }, (_, index) => `x${index.toString(36)}=1`).join(",")})`,
      "unknown_argument",
    ],
  ])("%s", async (_, code, error) => {
    // A first program does the work that is done once in a process.
    await runFor(newUser(), "me.get()");
    const before = process.threadCpuUsage();
    const { status, error: found } = await runFor(newUser(), code);
    const { user, system } = process.threadCpuUsage(before);
    expect([status, found?.code ?? ""]).toEqual([error === "" ? "completed" : "failed", error]);
    expect((user + system) / 1_000).toBeLessThan(500);
  });
});

describe("an answer is at most 5 MB, over each protocol:", () => {
  const quotes = `a = "${'\\"'.repeat(16_000)}"\n${"a = a + a\n".repeat(5)}`;
  const programs = [
    ["a value of half a million quotes", `${quotes}a`],
    ["a value of two million control characters", `${long("\\x01".repeat(2_000), 10)}a`],
    ["a key given twice", `${long("\\x01".repeat(1_000), 10)}b = {a + "": 1, a + "": 2}`],
    ["an unknown key of a dict with a long key", `${long("\\x01".repeat(1_000), 10)}b = {a + "": 1}\nb["zzz"]`],
    ["a path of thousands of steps", `x = {"a": 1}\nx${".b".repeat(30_000)}`],
    [
      "thousands of variables that are too large to keep",
      `b = "${"x".repeat(20_000)}"\n${"b = b + b\n".repeat(4)}${Array.from({ length: 4_000 }, (_, index) => `v${index.toString(36)} = b`).join("\n")}`,
    ],
  ] as const;
  test.each(programs)("%s", async (_, code) => {
    const { token } = newUser();
    const data = { request_id: "r", session_id: "s", code };
    const message = { messageId: "m", contextId: "s2", role: "ROLE_USER", parts: [{ data: { code } }] };
    const args = { code, session_id: "s3" };
    const answers = [
      await request("POST", "/v1/public/a2a", { token, body: data }),
      await request("POST", "/v1/public/a2a", {
        token,
        headers: { "a2a-version": "1.0" },
        body: {
          jsonrpc: "2.0",
          id: 1,
          method: "SendMessage",
          params: { message, configuration: { acceptedOutputModes: ["text/plain"] } },
        },
      }),
      await request("POST", "/v1/public/mcp", {
        token,
        body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "service_execute", arguments: args } },
      }),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      // The Lambda returns the answer as a string in JSON, so its quotes are escaped once more.
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(5_500_000);
      expect(Buffer.byteLength(text)).toBeLessThan(5_000_000);
    }
  });

  test("an error message shortens the text that it quotes", async () => {
    const mistakes = [
      `${name} = 1\n${name}b`,
      `d = {"${name}": 1}\nd.x`,
      `${name}()`,
      `me.get(${name}=1)`,
      `x = [1]\nx${".b".repeat(5_000)}`,
    ];
    for (const code of mistakes) {
      const { error } = await runFor(newUser(), code);
      expect(error?.message.length, code.slice(0, 20)).toBeLessThan(2_000);
    }
  });

  test("a JSON-RPC id of 500,000 characters is refused, and the answer has a null id", async () => {
    const body = { jsonrpc: "2.0", id: "x".repeat(500_000), method: "ping" };
    const answer = await request("POST", "/v1/public/mcp", { token: newUser().token, body });
    expect(answer).toMatchObject({ status: 400, body: { id: null, error: { code: -32600 } } });
  });
});
