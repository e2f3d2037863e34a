/*
 * The messages of the parser and the lexer. Most say what to write instead.
 */
export const messages = {
  indentation: "Indent every line like the first.",
  nothing: "The program is empty: write a call.",
  target: "Only a name can be assigned a value: `name = value`.",
  unpacking: "There are no tuples: write a list, `[a, b]`, or assign one name on each line.",
  tuple: "There are no tuples: write a list, `[a, b]`.",
  colon: 'Use `:` only in a dict, `{"key": value}`, and in a slice, `xs[0:2]`.',
  chain: "Comparisons do not chain: write `a < b and b < c`.",
  format: "A value in an f-string cannot have a format, such as `{x:.2f}`: write `{x}` alone.",
  conversion: "A value in an f-string cannot have a conversion, such as `{x!r}`: write `{x}` alone.",
  generator: "Write a comprehension in brackets: `[… for x in xs]`.",
  notCallable: "A value cannot be called: call a function by its full name.",
  twoIndexes: "An index is one number or one key.",
  step: "A slice has a beginning and an end, and no step: write `reversed(xs)` for the opposite order.",
  otherwise:
    "A value with `if` needs its `else`, `x if condition else y`; the `if` of a comprehension follows its `for`.",
  noIndex: "An index is a number, or a key in quotes.",
  twoElements: "A comprehension has one value before its `for`.",
  dictComprehension: "There are no dict comprehensions: write `dict([[x.name, x.id] for x in xs])`.",
  set: 'There are no sets: write a list, `[1, 2]`. A dict has keys and values, `{"key": value}`.',
  keyNotText: "A key of a dict is a text.",
  surrogate: "Half of a surrogate pair is not a character.",
  brace: "A single `}` in an f-string is written `}}`.",
  openBrace: "The f-string ends before this `{` is closed: use the other quotes between braces, f\"{x['a']}\".",
  noNumber: "This is not a number: write only digits, in decimal, such as 5000000. Put text in quotes.",
  large: "This number is too large.",
  precise: "This number has too many digits: put it in quotes to keep all of them.",
  integer: "The largest integer is 9007199254740991 (2^53 - 1): put larger ones in quotes.",
  escape: "This is not an escape: write \\\\ for a backslash, \\u00e9 or \\U0001f600 for a character.",
  strange: (text: string) => `${text} is not allowed here.`,
  prefix: (prefix: string) => `There is no prefix ${prefix}: only f"…" is supported.`,
  open: (quotes: string) => `This string is not closed: its second ${quotes} is missing.`,
  forbidden: (name: string) => `The name ${name} is not allowed.`,
  constant: (name: string) => `${name} is a constant: choose another name.`,
  twice: (name: string) => `${name} is given twice.`,
  keyTwice: (key: string) => `${clip(JSON.stringify(key))} is given twice.`,
  word: (name: string) => `\`${name}\` is a reserved word: write ["${name}"] for .${name}.`,
  keyQuotes: (name: string) => `Put a key in quotes: "${name}". If ${name} is a variable, write (${name}).`,
  arrow: (name: string) => `Write \`${name}=value\`: arguments take \`=\`.`,
  nesting: (most: number) => `Brackets, signs and \`else\` nest ${most} deep at most.`,
  bytes: (most: number) => `A program can have ${most} bytes at most.`,
  clauses: (most: number) => `A comprehension has ${most} \`for\` and \`if\` at most: join conditions with \`and\`.`,
  calls: (most: number) => `A program can have ${most} calls at most.`,
  expected: (what: string, found: string, hint?: string) =>
    `Expected ${what}, but found ${found}.${hint === undefined ? "" : ` ${hint}`}`,
};

/** Shortens a name or literal for a message, to `chars` UTF-16 code units. Half a surrogate pair becomes U+FFFD. */
export const clip = (text: string, chars = 60): string =>
  text.length > chars ? `${text.slice(0, chars).toWellFormed()}…` : text;
