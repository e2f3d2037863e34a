import { describe, expect, test } from "vitest";
import * as z from "zod";

import { catalogue } from "../../../../functions/code/catalogue.ts";
import { catalogueOf } from "../../../../functions/code/catalogue/function.ts";
import { check } from "../../../../functions/code/checker/checker.ts";
import { explain } from "../../../../functions/code/execution/diagnostics.ts";
import { parseProgram } from "../../../../functions/code/interpreter/builtins.ts";
import { pageQuery } from "../../../../shared/core/page.ts";
import { defineRoute, Empty } from "../../../../shared/http/route.ts";

const id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

const contact = defineRoute({
  name: "contacts.add",
  http: { method: "POST", path: "/v1/public/contacts" },
  summary: "Add contacts",
  capability: null,
  open: "It is only for this test.",
  access: "write",
  query: z.strictObject({ ...pageQuery, page_size: z.int().max(100_000).default(25) }),
  body: z.strictObject({
    list: z
      .array(z.strictObject({ email: z.string(), tags: z.array(z.int()).optional() }))
      .nullable()
      .optional(),
  }),
  output: Empty,
  run: async () => ({}),
});
const anything = { method: "GET", access: "read", query: Empty, body: Empty, output: z.unknown() } as const;
const withContacts = catalogueOf([contact, { ...contact, ...anything, name: "contacts.get" }]);

/** What is wrong with a program, as `line:column code message`. */
const faultsOf = (program: string, functions = catalogue) =>
  check(parseProgram(program), { catalogue: functions }).diagnostics.map(
    ({ at, code, message }) => `${at.line}:${at.column} ${code} ${message}`,
  );

const scoreOf = (program: string, functions = catalogue) =>
  check(parseProgram(program), { catalogue: functions }).score;

test("a program without a mistake resolves to its calls, in order", () => {
  const { calls, diagnostics } = check(parseProgram(`me.get()\naccounts.get(account_id="${id}")`), {
    catalogue,
  });
  expect(diagnostics).toEqual([]);
  expect([...calls.values()].map(({ fn }) => fn.route.name)).toEqual(["me.get", "accounts.get"]);
});

test("the message for an unknown function names the intended function and its parameters", () => {
  expect(faultsOf("me.get()\n  \nworkspaces.lst()")).toEqual([
    "3:1 unknown_function There is no function workspaces.lst. Did you mean workspaces.list?",
  ]);
  expect(faultsOf("Workspaces.List()")).toEqual([
    "1:1 unknown_function There is no function Workspaces.List. Did you mean workspaces.list?",
  ]);
  const { message, parameters } = explainFirst("workspaces.lst()");
  expect(message).toContain("Use: workspaces.list(account_id: string (uuid), page?: integer");
  expect(parameters?.map(({ name }) => name)).toEqual(["account_id", "page", "page_size"]);
});

test("the message for a name in the style of another API names the function that is meant", () => {
  for (const [name, meant] of [
    ["workspaces.create", "workspaces.add"],
    ["workspace.create", "workspaces.add"],
    ["createWorkspace", "workspaces.add"],
    ["list_mailboxes", "mailboxes.list"],
    ["dnsRecords.remove", "dns_records.delete"],
    ["mailboxes.revealCredentials", "mailboxes.reveal_credentials"],
    ["billing.walletBalance.fetch", "billing.wallet_balance.get"],
  ] as const) {
    expect(faultsOf(`${name}()`)[0]).toBe(`1:1 unknown_function There is no function ${name}. Did you mean ${meant}?`);
  }
});

test("without a similar name, the message names the functions of the namespace, functions with the same words, or functions.search", () => {
  const [fault] = faultsOf("workspace.frobnicate()");
  expect(fault).toContain(
    "There is no function workspace.frobnicate. The functions of workspaces are: workspaces.list(account_id, page?",
  );
  expect(fault).not.toContain("me.get");
  expect(faultsOf("frobnicate_invoice()")[0]).toContain(
    "Similar functions are: billing.invoices.list, billing.invoices.get.",
  );
  expect(faultsOf("zzz()")[0]).toContain('There is no function zzz. functions.search(query="…") finds functions.');
  for (const name of ["zzz", "lst", "get", "x.list", "a.b.c", "update_all"]) {
    expect(faultsOf(`${name}()`)[0]?.length).toBeLessThan(700);
  }
});

test("names that every JavaScript object has, such as toString, are neither functions nor arguments", () => {
  expect(faultsOf("toString()")[0]).toContain("1:1 unknown_function");
  expect(faultsOf("me.get(toString=1, hasOwnProperty=2)")).toHaveLength(2);
});

test("the message for an unknown argument names the intended one, and for a missing argument its name", () => {
  expect(faultsOf(`workspaces.get(accountId="${id}", workspace_id="${id}", x=1)`)).toEqual([
    "1:16 unknown_argument workspaces.get has no argument accountId. Did you mean account_id?",
    `1:${"workspaces.get(accountId='', workspace_id='', ".length + 2 * id.length + 1} unknown_argument workspaces.get has no argument x. It takes account_id, workspace_id.`,
    "1:1 missing_argument workspaces.get needs the argument account_id.",
  ]);
});

test("a small literal list, dict or None in a variable is checked by the schema, unless a condition mentions the variable", () => {
  expect(faultsOf('c = [{"tags": [1]}]\ncontacts.add(list=c)', withContacts)).toHaveLength(1);
  expect(faultsOf('c = {"tags": ["a"], "email": "b"}\ncontacts.add(list=[c])', withContacts)).toEqual([
    "2:20 invalid_argument contacts.add does not take this list[0].tags[0]: Write a number, not a string.",
  ]);
  expect(faultsOf('e = "b"; c = {"email": e}\ncontacts.add(list=[c, c])', withContacts)).toEqual([]);
  expect(faultsOf('c = {"email": "b"}\nc = contacts.get()\ncontacts.add(list=c)', withContacts)).toEqual([]);
  expect(faultsOf("c = [{}]\ncontacts.add(list=c) if len(c) > 2 else 1", withContacts)).toEqual([]);
  expect(faultsOf("n = None\ncontacts.add(page_size=n)", withContacts)).toHaveLength(1);
  const long = JSON.stringify([{ email: "b" }, ...Array.from({ length: 99 }, () => ({}))]);
  expect(faultsOf(`c = ${long}\ncontacts.add(list=c)`, withContacts)).toEqual([]);
});

test("a literal argument is checked by the schema of its function", () => {
  expect(faultsOf("accounts.list(page=0,\n page_size=101, status=false, client_id=12)")).toEqual([
    "2:41 invalid_argument accounts.list does not take this client_id: Write a string, not a number.",
    expect.stringMatching(/^2:24 invalid_argument accounts.list does not take this status: .*string/),
    "1:20 invalid_argument accounts.list does not take this page: Write a number of at least 1.",
    "2:12 invalid_argument accounts.list does not take this page_size: Write a number of at most 100.",
  ]);
});

test("a mistake inside a list or dict is shown at its own place", () => {
  const program = 'contacts.add(list=[{"email": "a"},\n  {"email": 1, "tags": [1, "x"], "more": 2}, {}])';
  expect(faultsOf(program, withContacts)).toEqual([
    expect.stringContaining(
      "2:4 invalid_argument contacts.add does not take this list[1].email: Write a string, not a number.",
    ),
    expect.stringContaining("2:28 invalid_argument contacts.add does not take this list[1].tags[1]: Write a number"),
    "2:34 invalid_argument contacts.add does not take this list[1].more: This member is not known here.",
    "2:46 invalid_argument contacts.add does not take this list[2].email: This is required.",
  ]);
  expect(faultsOf("contacts.add(list=None)", withContacts)).toEqual([]);
});

test("the score of a call is 1; the score of a list is its page size divided by 25, but at least 1", () => {
  expect(scoreOf("me.get()")).toBe(1);
  expect(scoreOf("accounts.list()")).toBe(1);
  expect(scoreOf("accounts.list(page_size=1)")).toBe(1);
  expect(scoreOf("accounts.list(page_size=100)")).toBe(4);
  expect(scoreOf("accounts.list(page_size=30)\n".repeat(3))).toBe(3.6);
  expect(scoreOf("accounts.list(page_size=100)\nme.get()\nme.nothing()")).toBe(0);
});

test("a score of 1000 is allowed, and a higher one is refused", () => {
  expect(faultsOf("contacts.add(page_size=25000)", withContacts)).toEqual([]);
  expect(faultsOf("contacts.add(page_size=25001)", withContacts)).toEqual([
    expect.stringContaining("1:1 score_too_high The program's complexity score is 1000.04; 1000 is the most."),
  ]);
});

test("an explanation has the message, the signature, the place and the other mistakes", () => {
  const program = `workspaces.add(account_id="${id}", nam="Sales")\nme.gt()\nme.get(x=1)`;
  expect(explainFirst(program)).toEqual({
    code: "unknown_argument",
    message: [
      "workspaces.add has no argument nam. Did you mean name?",
      "Use: workspaces.add(account_id: string (uuid), name: string (1 to 255 characters))",
      "line 1, column 67:",
      'ccount_id="3f2504e0-4f89-41d3-9a0c-0305e82c3301", nam="Sales")',
      `${" ".repeat(50)}^`,
      "3 more mistakes:",
      "line 1, column 1: workspaces.add needs the argument name.",
      "line 2, column 1: There is no function me.gt. Did you mean me.get?",
      "line 3, column 8: me.get has no argument x. It takes no arguments.",
    ].join("\n"),
    line: 1,
    column: 67,
    parameters: [
      { name: "account_id", type: "string (uuid)", required: true, description: "The account's id." },
      {
        name: "name",
        type: "string (1 to 255 characters)",
        required: true,
        description: expect.stringContaining("1 to 255 characters after trimming"),
      },
    ],
  });
});

function explainFirst(program: string) {
  const [first, ...others] = check(parseProgram(program), { catalogue }).diagnostics;
  if (!first) throw new Error("nothing is wrong");
  return explain([first, ...others], program, catalogue);
}

test("an explanation shows at most five mistakes, and counts all of them", () => {
  const { message } = explainFirst("x.y()\n".repeat(200));
  expect(message).toContain("199 more mistakes, the first 4 of them:");
  expect(message.match(/^line \d+, column 1: /gm)).toHaveLength(4);
});

test("an argument that is only partly known before the run is checked in its known parts", () => {
  const program = (list: string) => `p = contacts.get()\ncontacts.add(list=${list}, page=p)`;
  expect(faultsOf(program('[{"email": p, "tags": [p, 1]}, p]'), withContacts)).toEqual([]);
  expect(faultsOf(program('[{"email": p, "tags": [p, "x"], "more": 1}, {"tags": p}]'), withContacts)).toEqual([
    expect.stringContaining("does not take this list[0].tags[1]: Write a number"),
    expect.stringContaining("does not take this list[0].more: This member is not known here."),
    expect.stringContaining("does not take this list[1].email: This is required."),
  ]);
  expect(faultsOf("contacts.add(list=contacts.get(), page=0)", withContacts)).toHaveLength(1);
});

test("a variable is known after its assignment, and a loop variable only inside its comprehension", () => {
  const codes = (program: string) => check(parseProgram(program), { catalogue }).diagnostics.map(({ code }) => code);
  expect(codes("x = me.get()\nx")).toEqual([]);
  expect(codes("x = [x]\nme.get()")).toEqual(["unknown_variable"]);
  expect(codes("x = [y for y in [1]]\ny")).toEqual(["unknown_variable"]);
  expect(codes("[y for y in y]")).toEqual(["unknown_variable"]);
  expect(codes("[[x, y] for x in [1] if x for y in [x]]")).toEqual([]);
  expect(faultsOf("name = me.get()\nnam")[0]).toBe("2:1 unknown_variable There is no variable nam. Did you mean name?");
});

test("a member that a result cannot have is reported before anything runs, with the most similar member", () => {
  const account = `account_id="${id}"`;
  expect(faultsOf(`w = workspaces.add(${account}, name="S")\nw.nmae`)).toEqual([
    "2:3 no_such_member w has no member nmae. Did you mean name? It has: id, account_id, name, status, created_at, updated_at.",
  ]);
  expect(faultsOf(`[m.mail for m in mailboxes.list(${account}).items]`)[0]).toContain(
    "no_such_member m has no member mail.",
  );
  expect(faultsOf(`workspaces.list(${account}).items.name`)[0]).toContain(
    "is a list: write workspaces.list(…).items[0].name",
  );
  for (const access of ["[0]", "[0].id", "[:1]"]) {
    expect(faultsOf(`workspaces.list(${account})${access}`)[0]).toContain(
      "no_such_member workspaces.list(…) is a page: its items are in workspaces.list(…).items.",
    );
  }
  expect(faultsOf(`p = workspaces.list(${account})\np + p`)[0]).toContain(
    "not a dict and a dict. The items of a page are in its member items: `a.items + b.items`.",
  );
  expect(faultsOf(`[w.id for w in workspaces.list(${account})]`)[0]).toContain(
    "its items are in workspaces.list(…).items",
  );
  expect(faultsOf(`workspaces.list(${account}).items[0].name`)).toEqual([]);
  expect(
    faultsOf(`feedback.submit(${account}, category="other", title="t", description="d").attributes.anything`),
  ).toEqual([]);
});

test("a call in a comprehension counts once for each item that the list can have, and a call of an outside provider counts 5", () => {
  const add = "contacts.add()";
  expect(scoreOf(`[${add} for x in [1, 2, 3]]`, withContacts)).toBe(3);
  expect(scoreOf(`[${add} for x in range(7)]`, withContacts)).toBe(7);
  expect(scoreOf(`[[${add}, ${add}] for x in range(2) for y in range(3)]`, withContacts)).toBe(12);
  expect(scoreOf(`[me.get() for x in accounts.list(page_size=50).items]`)).toBe(52);
  expect(scoreOf("p = accounts.list()\nq = p.items\n[me.get() for x in q]")).toBe(26);
  expect(scoreOf("[me.get() for x in [1, 2, 3][1:]]")).toBe(2);
  expect(scoreOf("[me.get() for x in accounts.list(page_size=50).items[:20]]")).toBe(22);
  expect(scoreOf("[me.get() for i, x in enumerate(accounts.list(page_size=50).items[-10:])]")).toBe(12);
  expect(scoreOf("me.get() if me.get().email else me.get()")).toBe(3);
  expect(scoreOf("n = 100\naccounts.list(page_size=n)")).toBe(4);
  expect(scoreOf("[me.get() for x in [y for y in range(9)]]")).toBe(9);
  expect(scoreOf("x = [1]\nlen(x)")).toBe(0);
  expect(scoreOf(`domains.verify(account_id="${id}", domain="example.com")`)).toBe(5);
  expect(scoreOf(`feedback.submit(account_id="${id}", category="other", title="t", description="d")`)).toBe(5);
  expect(scoreOf("accounts.list(page_size=30)\n".repeat(5))).toBe(6);
});

test("a list of unknown length counts as if the program made 200 calls, with the most expensive calls first", () => {
  expect(scoreOf("[me.get() for x in me.get().email and [1]]")).toBe(200);
  expect(scoreOf("xs = contacts.get()\n[[contacts.get() for y in xs] for x in xs]", withContacts)).toBe(200);
  expect(scoreOf("xs = contacts.get()\n[contacts.add(page_size=50) for x in xs]", withContacts)).toBe(400);
  expect(
    scoreOf("xs = contacts.get()\n[contacts.get() for x in xs[150:]]\ncontacts.add(page_size=50)", withContacts),
  ).toBe(201);
  expect(scoreOf("xs = [x for x in contacts.get()]\n[contacts.get() for x in xs[150:]]", withContacts)).toBe(200);
  expect(scoreOf("[me.get() for x in accounts.list(page_size=100).items]")).toBe(104);
  expect(scoreOf("p = accounts.list(page_size=100)\n[me.get() for x in p.items if x.name]")).toBe(104);
  expect(scoreOf("xs = [[x, y] for x in range(50) for y in range(2)]\n[me.get() for x in xs]")).toBe(100);
  expect(scoreOf("[me.get() for x in [1, 2] for y in [1, 2, 3]]")).toBe(6);
});

test("a comprehension that certainly makes more than 200 calls is refused before anything runs", () => {
  const fault = "1:11 too_many_calls A program makes 200 calls at most, and these 201 items need 201";
  expect(faultsOf("[me.get() for x in range(201)]")).toEqual([expect.stringContaining(fault)]);
  expect(faultsOf(`[me.get() for x in [${"1,".repeat(201)}]]`)).toEqual([expect.stringContaining(fault)]);
  expect(faultsOf("[[me.get(), me.get()] for x in range(101)]")).toEqual([
    expect.stringContaining("go on with `xs[100:]`"),
  ]);
  expect(faultsOf("[me.get() for x in range(201) if x < 3]")).toEqual([]);
  expect(faultsOf("[x > 9 and me.get() for x in range(201)]")).toEqual([]);
  expect(faultsOf("[me.get() for x in range(201)[:200]]")).toEqual([]);
  expect(faultsOf("[x for x in range(201)]")).toEqual([]);
});

test("a program whose lines certainly make more than 200 calls together is refused before anything runs, at the first place beyond the limit", () => {
  const many = (count: number) => `[me.get() for x in range(${count})]`;
  const left = (count: number) => expect.stringContaining(`need 100, with ${count} left: filter them`);
  expect(faultsOf(`a = ${many(150)}\nb = ${many(100)}\nc = ${many(100)}`)).toEqual([left(50)]);
  expect(faultsOf(`a = ${many(150)}\nb = ${many(100)}`)[0]).toMatch(/^2:15 too_many_calls/);
  expect(faultsOf(`[${many(150)}, ${many(100)}]`)).toEqual([left(50)]);
  expect(faultsOf(`${"me.get()\n".repeat(101)}${many(100)}`)).toEqual([left(99)]);
  expect(faultsOf(`a = ${many(150)}\n${"me.get()\n".repeat(52)}`)).toEqual([
    "52:1 too_many_calls A program makes 200 calls at most: send the remaining calls as the next program.",
  ]);
  expect(faultsOf("[me.get() for x in [me.get()] for y in range(199)]")[0]).toBeUndefined();
  expect(faultsOf("[me.get() for x in [me.get()] for y in range(200)]")[0]).toContain("with 199 left");
  expect(faultsOf("[x for x in range(150) if me.get() for y in [me.get()]]")).toEqual([]);
  expect(faultsOf(`${many(150)}\n${"me.get()\n".repeat(50)}`)).toEqual([]);
  expect(faultsOf(`a = ${many(150)}\nb = ${many(100)} if a[0].email else ${many(40)}`)).toEqual([]);
  expect(faultsOf(`a = ${many(150)}\na[0].email == "" and ${many(100)}`)).toEqual([]);
  expect(faultsOf(`a = ${many(150)}\n[me.get() for x in range(100) if a[x].email]`)).toEqual([]);
});

test("a nested comprehension with too many calls or steps is refused", () => {
  const fault = faultsOf("[me.get() for a in range(60) for b in range(60) for c in range(60)]")[0];
  expect(fault).toContain("too_many_calls A program makes 200 calls at most, and these 216000 items need 216000");
  const tooMuch = expect.stringContaining("too_much_work The program takes more than 200000 steps");
  expect(faultsOf("n = 1e308\n[me.get() for a in range(n) for b in [y for y in range(1e308)] for c in [] ]")).toEqual([
    tooMuch,
    tooMuch,
  ]);
});

test("a line without an effect is refused, except the last line", () => {
  expect(faultsOf("x = me.get()\nx\nx.email")).toEqual([
    "2:1 no_effect This line does nothing. Give its value a name, `x = x`, or make it the last line, so that its value is last_value.",
  ]);
});

describe("a failure that is certain is reported before anything runs:", () => {
  const account = `account_id="${id}"`;
  const before = `page = workspaces.list(${account})\nw = workspaces.add(${account}, name="S")\n`;
  test.each([
    ["len(page.total)", "type_error len takes a text, a list or a dict, not a number."],
    ["-w.name", "type_error `-` takes a number, not a string."],
    ['"a" in page.total', "not for a value in a number."],
    ["page.total in w.name", "not for a number in a text."],
    ["[i for i in range(w.name)]", "type_error range takes a whole number, not a string."],
    ["n = 200001\n[i for i in range(n)]", "too_much_work"],
    [`n = 201\n[tags.list(${account}) for i in range(n)]`, "too_many_calls"],
    ["{page.total: 1}", "type_error A key of a dict is a text, not a number."],
    ["page.items[w.name]", "no_such_member An index of a list is a whole number, not a string."],
    ["page.items[w.name == 1]", "no_such_member An index is a whole number or a key, not a boolean."],
    ["w.name[w.name]", "no_such_member w.name is a string, which has no items."],
    ["w[page.total]", "no_such_member A key of a dict is a text, not a number."],
    ["x = None\nx.a", "no_such_member x is a null, which has no member a."],
    ["x = None\nx + 1", "type_error `+` takes two numbers, two texts or two lists, not a null and a number."],
    [`e = ""\ntags.add(${account}, name=e)`, "invalid_argument tags.add does not take this name"],
    [`workspaces.get(${account}, workspace_id=w)`, "it takes a string, and w is a dict. Did you mean w.id?"],
    [`workspaces.get(${account}, workspace_id=page.total)`, 'is a number. Write f"{page.total}".'],
    [`workspaces.list(${account}, page_size=f"{page.total}")`, "it takes a number, and the value is a string."],
    [`n = 500\nworkspaces.list(${account}, page_size=n)`, "invalid_argument workspaces.list does not take this"],
    [`workspaces.list(${account}, page_size=-5)`, "invalid_argument workspaces.list does not take this"],
  ])("%s", (line, fault) => {
    expect(faultsOf(before + line)).toEqual([expect.stringContaining(fault)]);
  });
});

describe("the values that a member can have", () => {
  const account = `account_id="${id}"`;
  const list = `ds = domains.list(${account}).items\n`;
  const values =
    'd.status is never "verified": it is one of "pending_registration", "pending_transfer", "pending_delegation"';
  test.each([
    ['[d for d in ds if d.status == "verified"]', `2:31 unknown_value ${values}`],
    ['[d for d in ds if "verified" != d.status]', `2:19 unknown_value ${values}`],
    ['s = "verified"\n[d for d in ds if d.status == s]', `3:31 unknown_value ${values}`],
    ['[d for d in ds if d.status in ["active", "verified"]]', `2:42 unknown_value ${values}`],
    ['ds[0].status not in ["actve"]', 'unknown_value ds[0].status is never "actve"'],
    ['[d for i, d in enumerate(sorted(ds, key="name")) if d.status == "actve"]', 'Did you mean "active"?'],
    ['x = "a" if ds[0].status == "actve" else "b"', 'Did you mean "active"?'],
    ['"actve" in [d.status for d in ds]', 'Did you mean "active"?'],
  ])("are in the report of a comparison with another value: %s", (line, fault) => {
    expect(faultsOf(list + line)).toEqual([expect.stringContaining(fault)]);
  });

  test("are checked in a filter argument by the schema, as over REST", () => {
    expect(faultsOf(`domains.list(${account}, status="verified")`)).toEqual([
      expect.stringContaining(
        "invalid_argument domains.list does not take this status: Write one of pending_registration",
      ),
    ]);
    expect(faultsOf('accounts.list(status="verified")')).toEqual([]);
  });

  test.each([
    '[d for d in ds if d.status == "active" and d.name == "verified"]',
    '[d for d in ds if d.status in ["active", "degraded"]]',
    "[d for d in ds if d.status != None]",
    "[d for d in ds if d.status == ds[0].name]",
    '[d for d in ds if d.registration == None or d.redirect_url == "x"]',
  ])("are not reported for %s", (line) => {
    expect(faultsOf(list + line)).toEqual([]);
  });
});

describe("an access that the program tests first is not checked before the run:", () => {
  test.each([
    'opts = {"name": "x"}\n"nick" in opts and opts.nick',
    '[i.alias for i in [{"name": "a"}] if "alias" in i]',
    'x = {"a": 1}\n"b" in x and x["b"]',
    'x = {"a": 1}\n"b" not in x or x.b',
    'people = [{"name": "a"}]\nok = [p for p in people if "nick" in p]\n[p.nick for p in ok]',
    'people = [{"name": "a"}]\nsorted([p for p in people if "nick" in p], key="nick")',
    'x = {"a": 1}\nx == {"a": 1} or x.b',
    "xs = []\nlen(xs) > 0 and xs[0]",
    "xs = []\nxs == [] or xs[0].name",
    "xs = []\n[xs[0].name for x in xs]",
    "x = None\nx and x.name",
    "x = None\nx == None or x + 1",
    "x = None\nx != None and len(x)",
    'x = ""\nx != "" and x.name',
    `name = ""\nname != "" and tags.add(account_id="${id}", name=name)`,
    `q = None\nq and functions.search(query=q)`,
    `n = 0\n[accounts.list(page_size=n) for x in [1] if n > 0]`,
    "x = None\nx.name if x else None",
    "x = None\nNone if x == None else len(x)",
    "x = None\nx.lower() if x else None",
  ])("%s", (program) => {
    expect(faultsOf(program)).toEqual([]);
  });
});

test("a test of a variable ends the check of every access to this variable, and of no other access", () => {
  expect(faultsOf('x = {"name": 1}\n"b" in x and x.nmae')).toEqual([]);
  expect(faultsOf('x = {"name": 1}\ny = {"b": 1}\n"b" in y and x.nmae')).toEqual([
    expect.stringContaining("x has no member nmae. Did you mean name?"),
  ]);
  expect(faultsOf('[p.nmae for p in [{"name": "a"}] if 1 == 1]')).toHaveLength(1);
});

describe("a value that the program computes is not checked before the run:", () => {
  test.each([
    "[][0]",
    'xs = ["a"]\nxs[0 + 1]',
    '{"a": 1, f"a": 2}',
    "n = 200000 + 1\n[i for i in range(n)]",
    "[accounts.list() for i in range(200 + 1)]",
    'workspaces.list(account_id="not an" + " id")',
    'ids = ["not an id"]\nworkspaces.list(account_id=ids[0])',
    'of = {"account": "not an id"}\nworkspaces.list(account_id=of.account)',
  ])("%s", (program) => {
    expect(faultsOf(program)).toEqual([]);
  });
});

test("the score uses the value of a range or page size that is a literal or a variable, and otherwise the maximum", () => {
  expect(scoreOf("n = 7\n[me.get() for x in range(n)]")).toBe(7);
  expect(scoreOf("n = 50\naccounts.list(page_size=n)")).toBe(2);
  expect(scoreOf("[me.get() for x in range(3 + 4)]")).toBe(200);
  expect(scoreOf("accounts.list(page_size=25 + 25)")).toBe(4);
});

test("the account of a call is known if its id is a literal or a variable with a literal value", () => {
  const accountsOf = (program: string) =>
    [...check(parseProgram(program), { catalogue }).calls.values()].map(({ account }) => account);
  expect(accountsOf(`a = "${id.toUpperCase()}"\n[workspaces.list(account_id=a) for i in range(2)]`)).toEqual([id]);
  expect(accountsOf(`tags.list(account_id="${id}")\ntags.list(account_id=me.get().id)`)).toEqual([
    id,
    undefined,
    undefined,
  ]);
});

describe("before the run, the checker finds arguments that can never be valid:", () => {
  const a = `account_id="${id}"`;
  const record = (rest: string, domain = '"example.com"') => `dns_records.add(${a}, domain=${domain}, ${rest})`;
  test.each([
    [record('name="mail", type="MX", value="mx.example.net"'), "priority"],
    [record('name="www", type="A", value="host.example.net"'), "value"],
    [record('name="www", type="A", value="192.0.2.1", priority=1'), "priority"],
    [record('name="@", type="CNAME", value="a.example.net"'), "name"],
    [record('name="sub dom", type="A", value="192.0.2.1"'), "name"],
    [record('name="mail", type="MX", value="mx.example.net"', `"${id}"`), "priority"],
    [record('name="www", type="A", value="host.example.net"', `"${id}"`), "value"],
    [`credentials.add(${a}, name="A", generate=True, domain="example.com", workspace_id="${id}")`, "workspace_id"],
    [`mailboxes.aliases.create(${a}, mailbox="${id}", alias="sales", is_catch_all=True)`, "is_catch_all"],
    [`mailboxes.aliases.create(${a}, mailbox="${id}", alias="*@example.com", is_catch_all=False)`, "is_catch_all"],
    [`statistics.get(${a}, domain="example.com", since="2026-02-02", until="2026-02-01")`, "since"],
    [`statistics.get(${a}, domain="example.com", since="2025-02-02", until="2026-02-01")`, "since"],
    [`statistics.get(${a}, domain="example.com", dedicated_ip_id="${id}")`, "dedicated_ip_id"],
  ])("%s", (program, name) => {
    expect(faultsOf(program)).toEqual([expect.stringContaining(`does not take this ${name}:`)]);
  });

  test("but it accepts valid arguments, and arguments whose faults depend on a value of the run", () => {
    const d = `domains.get(${a}, domain="example.com").id`;
    expect(faultsOf(record('name="www.example.com.", type="CNAME", value="a.example.net"'))).toEqual([]);
    expect(faultsOf(record('name="www.example.com.", type="CNAME", value="@"', `"${id}"`))).toEqual([]);
    expect(faultsOf(record('name="@", type="CNAME", value="a.example.net"', d))).toEqual([]);
    expect(faultsOf(`mailboxes.aliases.create(${a}, mailbox="${id}", alias="*", is_catch_all=True)`)).toEqual([]);
    expect(faultsOf(`statistics.get(${a}, domain=${d}, since="2026-02-01", until="2026-02-01")`)).toEqual([]);
  });
});
