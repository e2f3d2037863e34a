import { describe, expect, test } from "vitest";

import { runFor } from "../../support/code-context.ts";
import { newAccount, newUser } from "../../support/world.ts";

const a = 'account_id="3f2504e0-4f89-41d3-9a0c-0305e82c3301"';
const user = newUser();

describe("common mistakes of models are answered with the correct form:", () => {
  test.each<[what: string, program: string, ...mending: string[]]>([
    ["a generator as any()'s argument", "any(x.id for x in xs)", "in brackets: `[… for x in xs]`"],
    ["a generator as an argument", "len(x for x in xs)", "in brackets: `[… for x in xs]`"],
    [
      "positional arguments",
      'workspaces.add("3f25", "Sales")',
      "Write `account_id=…`",
      "Write `name=…`",
      "Use: workspaces.add(",
    ],
    ["an object as arguments", 'workspaces.add({"name": "Sales"})', "by name, as `name=value`"],
    ["colons in arguments", `workspaces.add(${a}, name: "Sales")`, "Write `name=value`"],
    ["arrows in arguments", `workspaces.add(${a}, name => "Sales")`, "`name=value`"],
    [
      "keys without quotes",
      `webhooks.add(${a}, url="https://x.example", event_types=[{type: 1}])`,
      'Put a key in quotes: "type"',
    ],
    ["await", `await workspaces.list(${a})`, "Leave out `await`"],
    ["await in an assignment", `x = await workspaces.list(${a})`, "Leave out `await`"],
    ["const", `const x = workspaces.list(${a})`, "Leave out `const`", "name = value"],
    ["let", "let x = me.get()", "Leave out `let`"],
    ["print", "x = me.get()\nprint(x)", "There is no print", "value alone on the last line"],
    ["return", "x = me.get()\nreturn x", "value alone on the last line"],
    ["a for loop", `for m in mailboxes.list(${a}).items:\n  me.get()`, "[f(x=m.id) for m in page.items]"],
    [
      "an if statement",
      "x = me.get()\nif x.email:\n  me.get()",
      "filter in a comprehension",
      "len(xs) == 0 and f(x=1)",
    ],
    ["a function", "def f(x):\n  return x", "Functions cannot be defined"],
    ["a lambda", "x = lambda y: y", "Functions cannot be defined"],
    ["a lambda as key", "sorted([], key=lambda x: x.name)", 'sorted(xs, key="name")'],
    ["filter()", `mailboxes.list(${a}).items.filter(1)`, "[m.id for m in x if m.active]"],
    ["a generator in join", "', '.join(x for x in ['a'])", "in brackets: `[… for x in xs]`"],
    ["a namespace in the singular, without a name", 'mailbox.get("ada@example.com")', "Did you mean mailboxes.get?"],
    ["a misspelt method", "x = 'a'\nx.uper()", "There is no method uper. Did you mean upper?"],
    ["an arrow function", "x = me.get()\n[x].map(y => y.id)", "`=>`"],
    ["an import", "import json", "call every function by its full name"],
    ["a try", "try:\n  me.get()", "Errors cannot be caught"],
    ["an f-string with a format", "x = me.get()\nf'{x.email:>10}'", "cannot have a format", "`{x}` alone"],
    ["a conversion in an f-string", "x = me.get()\nf'{x.email!r}'", "cannot have a conversion"],
    ["a template literal", "x = `text ${me.get().email}`", 'f"{x}"'],
    ["a missing comma", `workspaces.add(${a} name="Sales")`, "Expected `,` or `)`", "but found `name`"],
    ["an open bracket", `workspaces.add(${a}, name="Sales"`, "`)` after the `(` of line 1, column 15"],
    ["an open string", `workspaces.add(${a}, name="Sales)`, 'its second " is missing'],
    ["smart quotes", `workspaces.add(${a}, name=“Sales”)`, 'straight quotes: "text"'],
    ["camelCase arguments", 'workspaces.list(accountId="x")', "Did you mean account_id?"],
    ["camelCase functions", `workspaces.revealCredentials(${a})`, "mailboxes.reveal_credentials"],
    ["another verb", `mailbox.create(${a})`, "Did you mean mailboxes.add?", "local_part: string"],
    ["the words in another order", `list_workspaces(${a})`, "Did you mean workspaces.list?"],
    ["the namespace left out", `reveal_credentials(${a})`, "mailboxes.reveal_credentials"],
    ["a prefix before the namespace", `api.workspaces.list(${a})`, "Did you mean workspaces.list?"],
    [
      "no account",
      "workspaces.list()",
      "workspaces.list needs the argument account_id",
      "Use: workspaces.list(account_id: string (uuid)",
    ],
    ["text without quotes", `workspaces.add(${a}, name=Sales)`, "There is no variable Sales", "put text in quotes"],
    ["a page as a list", `[m.id for m in mailboxes.list(${a})]`, "its items are in mailboxes.list(…).items"],
    ["a member of the items of a list", `mailboxes.list(${a}).items.id`, ".items[0].id", "[x.id for x in"],
    ["a member of another name", `mailboxes.list(${a}).items[0].adress`, "has no member adress", "primary_email"],
    ["dict.get by name", "x = me.get()\nx.get(key='email')", "d.get(key, otherwise?), without names"],
    ["dict.get without a key", "x = me.get()\nx.get()", "x is a value, not a function"],
    ["items()", `p = mailboxes.list(${a})\n[m.id for m in p.items()]`, "p.items, without the brackets"],
    ["join of a text", "x = me.get()\n', '.join(x.email)", "join takes a list of texts, not a string"],
    ["join as a method of a list", `p = mailboxes.list(${a})\np.items.join(',')`, "join is a method of texts"],
    ["length", `p = mailboxes.list(${a})\np.items.length`, "write len(p.items)"],
    ["length()", `p = mailboxes.list(${a})\np.items.length()`, "Write `len(p.items)`"],
    [
      "a member that the items do not have",
      `mailboxes.list(${a}).items.mail`,
      ".items[0].id",
      "An item has no member mail",
    ],
    ["a step in a slice", `mailboxes.list(${a}).items[::2]`, "no step", "reversed(xs)"],
    ["str by name", "x = me.get()\n'I am ' + str(x=x.id)", "str has no argument x: it is str(x)"],
    ["next of a generator", "next(x for x in [1] if x > 0)", "There is no next()", "[x for x in xs if x.active][0]"],
    ["json", "x = me.get()\njson.dumps(x)", "no json", 'f"{x}"'],
    ["the time", "datetime.now()", "no datetime", "no clock"],
    ["sleeping", "time.sleep(1)", "no time", "cannot wait"],
    ["isinstance", "isinstance(1, int)", "There is no isinstance()", "int is a built-in function: call it as int(x)."],
    ["input", "input('Name?')", "There is no input()"],
    ["map with a builtin", "map(str, [1])", "There is no map()", "str is a built-in function: call it as str(x)."],
    ["the tool as a function", "service_execute(code='me.get()')", "the tool that runs this program"],
    ["the length of a written list", "[1, 2, 3].length", "This value is a list: write len(xs)."],
    ["a member of a written list", "[{'id': 1}].id", "This value is a list: write xs[0].id, or [x.id for x in xs]."],
    [
      "an amount in a text",
      `billing.wallet_balance.get(${a}).available > 10`,
      "can be put in order",
      "`float(x)` is the number in a text.",
    ],
    ["a conditional without else", "x = me.get()\nx.email if x", "`x if condition else y`"],
    ["a filter before its for", "xs = [1]\n[x if x > 0 for x in xs]", "the `if` of a comprehension follows its `for`"],
    ["a ternary", "x = me.get()\nx ? 1 : 2", "value if condition else other"],
    ["augmented assignment", "x = 1\nx += 1", "`x = x + 1`"],
    ["augmented subtraction", "x = 1\nx -= 1", "`x = x - 1`"],
    ["augmented division", "x = 1\nx //= 1", "`x = x // 1`"],
    ["set", "xs = ['a']\nset(xs)", "There is no set()", "list(dict("],
    ["sort()", "xs = [1]\nxs.sort()", 'sorted(xs, key="name")'],
    ["an else that stands alone", "else:\n  me.get()", "`x if condition else y`"],
    [
      "a status that no domain has",
      `[d for d in domains.list(${a}).items if d.status == "verified"]`,
      "d.status is never",
      '"active"',
    ],
    ["unpacking", "x, y = me.get()", "one name on each line"],
    ["two variables with a comma between them", "a = 1\nb = 2\na, b", "There are no tuples"],
    ["a tuple of variables alone", "a, b", "There are no tuples"],
    ["a tuple of three variables", "a,b , c,\nme.get()", "There are no tuples"],
    ["a chain of comparisons", "x = 1\n0 < x < 2", "`a < b and b < c`"],
    ["&&", "x = 1\nx && 2", "Write `and`"],
    ["!", "x = 1\n!x", "Write `not`"],
    ["===", "x = 1\nx === 1", "Write `==`"],
    ["is None", "x = None\nx is None", "Write `==` for `is`"],
    ["// comments", "// first\nme.get()", "A comment begins with `#`"],
    ["% formatting", "'%s' % me.get().id", "f-string"],
    ["a dict comprehension", `{m.id: m for m in mailboxes.list(${a}).items}`, "no dict comprehensions"],
    [
      "a page that is too large",
      `mailboxes.list(${a}, page_size=1000)`,
      "at most 100",
      "page_size?: integer (1 to 100)",
    ],
    ["a number as text", `mailboxes.list(${a}, page_size="50")`, "Write a number, not a string"],
    [
      "an unknown choice",
      `feedback.submit(${a}, category="bug", title="t", description="d")`,
      "Write one of bug_report, product_feedback",
    ],
    ["an invalid id", 'workspaces.list(account_id="my-account")', "does not take this account_id"],
    ["a namespace alone", "workspaces", "A call needs its arguments in brackets: `workspaces.list(account_id=…)`"],
    ["a function without brackets", "me.get", "me.get is a function", "`me.get()`"],
    ["a function of a deep namespace without brackets", "auth.groups.list", "`auth.groups.list(account_id=…)`"],
    ["an abbreviated namespace", `dns.list(${a})`, "Did you mean dns_records.list?", "Use: dns_records.list("],
    [
      "a request in words",
      "Please list my domains",
      "This is not a program",
      'domains.list(account_id="…")',
      "functions.search",
    ],
    ["a request that begins with a word and a comma", "Please, list my domains", "This is not a program"],
    ["a question", "What domains do I have?", "This is not a program"],
    ["print without brackets", "print x", "There is no print"],
    ["spreading a list", "x = [*[1], 2]", "write `a + [b]`"],
    ["spreading a dict", 'x = {**{"a": 1}}', "Dicts cannot be merged", "write each member"],
    ["spreading arguments", "x = {}\nme.get(**x)", "`name=value`"],
    ["powers", "2 ** 3", "There are no powers"],
    ["division", "10 / 2", "Only whole numbers can be divided"],
    ["a division without a second number", "10 // // 2", "`//` divides two whole numbers"],
    ["a set", "{1, 2}", "There are no sets"],
    ["with", "with me.get() as x:\n  x", "There is no `with`"],
    ["a class", "class Box:\n  pass", "There are no classes"],
    ["global", "global x", "Leave this word out", "every later line"],
    ["None for an optional argument", `mailboxes.list(${a}, page_size=None)`, "page_size: leave the argument out"],
    [
      "the same quotes in an f-string",
      'x = me.get()\nf"{x["email"]}"',
      "the other quotes between braces, f\"{x['a']}\"",
    ],
    ["the quotes of an argument in an f-string", 'f"{len(me.get(a="x"))}"', "the other quotes"],
    ["a fence around a part", "me.get()\n```\nme.get()\n```", "Leave out the ``` lines"],
    [
      "endsWith",
      `[m for m in mailboxes.list(${a}).items if m.primary_email.endsWith("@x.com")]`,
      "m.primary_email.endswith(…)",
    ],
    ["toUpperCase", `[d.name.toUpperCase() for d in domains.list(${a}).items]`, "Write `d.name.upper()`"],
    ["center", `[d.name.center() for d in domains.list(${a}).items]`, "There is no method center"],
    ["a regular expression", `[d for d in domains.list(${a}).items if d.name.match("^x")]`, "There are no patterns"],
    ["help", "help()", "functions.search(query="],
    ["dir", "x = me.get()\ndir(x)", "functions.explain(name="],
  ])("%s", async (_, program, ...mending) => {
    const { status, responses, error } = await runFor(user, program);
    expect({ status, responses }).toEqual({ status: "failed", responses: [] });
    for (const words of mending) expect(error?.message).toContain(words);
    expect(error?.message).toMatch(/\nline \d+, column \d+:\n/);
  });
});

test("no message doubles its punctuation, or lists all functions", async () => {
  for (const program of ['functions.explain(name="mailboxes.ad")', "zzz()", "lst()", "x.list()"]) {
    const { error } = await runFor(user, program);
    expect(error?.message).not.toMatch(/[.?!]\./);
    expect(error?.message.length).toBeLessThan(1_000);
  }
});

test("a Markdown fence around the whole program is ignored, and lines keep their numbers", async () => {
  const fenced = (program: string) => `\n\`\`\`python\n${program}\n\`\`\`\n`;
  expect((await runFor(user, fenced("x = me.get()\nx.email"))).status).toBe("completed");
  expect((await runFor(user, fenced("x = me.get()\nx.emial"))).error).toMatchObject({
    line: 4,
    column: 3,
    message: expect.stringContaining("line 4, column 3:\nx.emial\n  ^"),
  });
});

test("the constants of JSON and of Python, null and None, are both understood", async () => {
  const { id, owner } = await newAccount();
  const program = `tags.add(account_id="${id}", name="A", description=null)\ntags.add(account_id="${id}", name="B", description=None)`;
  expect((await runFor(owner, program)).status).toBe("completed");
});
