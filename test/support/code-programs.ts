import { builtinMethods, builtins as builtinTable } from "../../functions/code/interpreter/builtins.ts";

/** Random numbers that follow from a seed (xorshift32). */
export type Random = { below: (end: number) => number; pick: <T>(list: readonly T[]) => T };

export function randomOf(seed: number): Random {
  let state = seed | 0 || 1;
  const below = (end: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % end;
  };
  return { below, pick: (list) => list[below(list.length)] as (typeof list)[number] };
}

const id = '"3f2504e0-4f89-41d3-9a0c-0305e82c3301"';
const calls = [
  () => "me.get()",
  (value: string) => `workspaces.get(account_id=${id}, workspace_id=${value})`,
  (value: string) => `workspaces.add(account_id=${id}, name=${value})`,
  (value: string) => `mailboxes.list(account_id=${id}, page_size=50, search=${value})`,
  (value: string) => `mailboxes.get(account_id=${id}, mailbox=${value})`,
  (value: string) => `domains.list(account_id=${id}, page=${value})`,
  (value: string) => `auth.groups.create(account_id=${id}, payload={"account_id": ${id}, "name": ${value}})`,
  (value: string) => `domains.search(account_id=${id}, workspace_id=${id}, query="name", tlds=[${value}])`,
];
/** The variables that programs use without giving them a value. */
export const names = ["a", "b", "page", "m", "x1"];
const members = ["id", "items", "name", "email", "status", "tags"];
const leaves = ['"text"', "'it'", '"""long\n"""', "0", "12", "1.5", "-3", "True", "None", "null", "[]", "{}", id];

const builtins = [...builtinTable.keys()];
const methods = [...builtinMethods.keys()];

/** An expression that can have an index or a method after it. */
const primary = (random: Random, inner: () => string): string =>
  random.pick([
    random.pick(names),
    `${random.pick(names)}.${random.pick(members)}`,
    "'a b,c'",
    "[1, 2, 3]",
    `(${inner()})`,
  ]);

/** An expression of the language, at most `depth` levels deep. */
function expression(random: Random, depth: number): string {
  const inner = () => expression(random, depth - 1);
  if (depth <= 0) return random.pick([random.pick(leaves), random.pick(names)]);
  switch (random.below(22)) {
    case 0:
      return random.pick(leaves);
    case 1:
      return `[${inner()}, ${inner()}]`;
    case 2:
      return `{"k": ${inner()}, 'v': ${inner()}}`;
    case 3:
      return `(${inner()} ${random.pick(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])} ${inner()})`;
    case 4:
      return `${inner()} ${random.pick(["and", "or", "+"])} ${inner()}`;
    case 5:
      return `(${random.pick(["not ", "-"])}${inner()})`;
    case 6:
      return `f"x{${inner().replace(/["\n]/g, "'")}}y"`;
    case 7:
      return `[${inner()} for ${random.pick(names)} in ${random.pick([inner(), "range(3)", `${random.pick(names)}.items`])}]`;
    case 8:
      return `[${inner()} for m in ${inner()} if ${inner()}]`;
    case 9:
      return random.pick([
        `${random.pick(builtins)}(${inner()})`,
        `${random.pick(["str", "bool", "len", "list"])}(${random.pick([`[${inner()}]`, `${random.pick(names)}.items`])})`,
      ]);
    case 10:
      return `${random.pick(names)}.${random.pick(members)}`;
    case 11:
      return `${random.pick(names)}[${random.pick(["0", "-1", "'id'", inner()])}]`;
    case 12: {
      const number = () => random.pick(["0", "12", "-3", "1.5", "len(page)", "(2 - 5)", inner()]);
      return `${number()} ${random.pick(["+", "-", "*", "//", "%"])} ${number()}`;
    }
    case 13:
      return `(${inner()} if ${inner()} else ${inner()})`;
    case 14:
      return `${primary(random, inner)}[${random.pick(["", "1", "-2", inner()])}:${random.pick(["", "2", "-1", inner()])}]`;
    case 15:
      return `${primary(random, inner)}.${random.pick(methods)}(${random.pick(["", inner(), inner(), `${inner()}, ${inner()}`])})`;
    case 16:
      return `[${inner()} for a, b in ${random.pick([`enumerate(${inner()})`, `zip(${inner()}, ${inner()})`, `${random.pick(names)}.items()`])}]`;
    case 17:
      return random.pick([
        `sorted(${inner()}, key=${random.pick(["'id'", "None", inner()])}, reverse=${random.pick(["true", inner()])})`,
        `range(${inner()}, ${inner()})`,
        `range(3, 0, -1)`,
        `max(${inner()}, ${inner()})`,
        `dict([['k', ${inner()}], ['v', ${inner()}]])`,
      ]);
    default:
      return random.pick(calls)(inner());
  }
}

/** A program that the grammar allows. It can fail when it runs. */
function soundProgram(random: Random): string {
  const lines = Array.from({ length: 1 + random.below(6) }, (_, index) => {
    const value = expression(random, 1 + random.below(3));
    return index === 0 || random.below(4) > 0 ? `${random.pick(names)} = ${value}` : value;
  });
  return lines.join(random.pick(["\n", "; ", "\n# comment\n"]));
}

/** Pieces of programs. They also spoil programs. */
export const pieces = [
  ...Array.from("()[]{},:;=.-+#\\\n\r\t \"'`“\u0000\u2028😀<>!&|?*/%^~@$"),
  '"""',
  "'''",
  "\\\n",
  "\\u00",
  "\ud800",
  "0",
  "01",
  "1e",
  "1e999",
  "None",
  "true",
  "__proto__",
  "constructor",
  "workspaces.add",
  "workspaces.add(",
  "accounts.list(",
  "account_id=",
  '{"a": ',
  "page_size=101",
  "for x in ",
  " if ",
  " in ",
  "not ",
  "and ",
  "or ",
  "f'{",
  'f"',
  "{{",
  "}}",
  "x.",
  "x[",
  "range(",
  "len(",
  "sorted(",
  ".get(",
  ".split(",
  " else ",
  "//",
  "[1:",
  "lambda",
  "await ",
  "==",
  "<=",
  "x = ",
  "[x for x in ",
];

const soup = (random: Random, most: number): string =>
  Array.from({ length: random.below(most) }, () => random.pick(pieces)).join("");

/** A sound program with some damage: a part is cut out, doubled, or put in. */
function spoiled(random: Random): string {
  let program = soundProgram(random);
  for (let times = 1 + random.below(4); times > 0; times -= 1) {
    const at = random.below(program.length + 1);
    const length = random.below(12);
    const put = random.pick(["", random.pick(pieces), soup(random, 4), program.slice(at, at + length).repeat(2)]);
    program = program.slice(0, at) + put + program.slice(at + length);
  }
  return program;
}

/** A piece of a program, repeated up to about 64 KiB. */
const stress = (random: Random): string => {
  const piece = random.pick([soup(random, 4), soundProgram(random), spoiled(random)]);
  return piece.repeat(1 + random.below(Math.max(1, Math.ceil(66_000 / Math.max(1, piece.length)))));
};

/** A program for tests of the language: sound, spoiled, random pieces, or sometimes very long. */
export function anyProgram(random: Random): string {
  const kind = random.below(1_000);
  if (kind < 3) return stress(random);
  if (kind < 300) return soundProgram(random);
  return kind < 850 ? spoiled(random) : soup(random, 40);
}
