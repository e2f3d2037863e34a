const pattern =
  /(?<comment>#[^\n]*)|(?<string>f?(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(?<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.?)|(?<number>\d[\d.]*(?:[eE][+-]?\d+)?)|(?<bracket>[()[\]{}])|(?<other>\s+|[\s\S])/g;

const keywords = new Set([
  ..."for in if and or not True False None true false null".split(" "),
  ..."len range".split(" "),
]);

/** The parts of a program as they are painted: each with its kind, text and place. Never fails. */
export function tokensOf(text) {
  const tokens = [];
  for (const { 0: part, index, groups } of text.matchAll(pattern)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    tokens.push({ kind: kind === "word" && keywords.has(part) ? "keyword" : kind, text: part, at: index });
  }
  return tokens;
}

const closers = { ")": "(", "]": "[", "}": "{" };

/** Whether a token is a text that does not end. */
const isOpenText = ({ kind, text }) => {
  if (kind !== "string") return false;
  const [, quote] = /^f?("""|'''|"|')/.exec(text);
  return text.length < quote.length * 2 + (text.startsWith("f") ? 1 : 0) || !text.endsWith(quote);
};

/**
 * What stands at the caret: the word before it, the call it is an argument of (`call`, with the names that were given),
 * whether a name is wanted there or the value of an argument (`argument`), and the text it is inside of, if any. Nothing
 * inside of a comment.
 */
export function placeAt(text, caret) {
  const tokens = tokensOf(text.slice(0, caret));
  const last = tokens.at(-1);
  if (last?.kind === "comment") return undefined;
  const word = last?.kind === "word" || last?.kind === "keyword" ? last.text : "";
  const open = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "bracket") continue;
    const opener = closers[token.text];
    if (opener === undefined) open.push({ bracket: token.text, name: nameBefore(tokens, index), index });
    else if (open.at(-1)?.bracket === opener) open.pop();
  }
  const inner = open.at(-1);
  const openText = last !== undefined && isOpenText(last) ? last.text : undefined;
  const before = tokens.slice(inner ? inner.index + 1 : 0, word === "" && openText === undefined ? undefined : -1);
  const [name, previous] = before
    .filter(({ text }) => text.trim() !== "")
    .slice(-2)
    .map(({ text }) => text);
  const isCall = inner?.bracket === "(" && inner.name !== undefined;
  return {
    word,
    openText,
    start: caret - (openText ?? word).length,
    call: isCall ? { name: inner.name, given: givenIn(text, inner, tokens) } : undefined,
    wantsName: isCall && (name === undefined || name === "," || previous === ","),
    argument: isCall && previous === "=" ? name : undefined,
  };
}

const nameBefore = (tokens, index) => {
  const before = tokens[index - 1];
  return before?.kind === "word" ? before.text : undefined;
};

/** The names of the arguments of a call, those behind the caret too. */
function givenIn(text, { index }, tokens) {
  const names = new Set();
  let depth = 0;
  const all = tokensOf(text).filter(({ text }) => text.trim() !== "");
  const start = tokens[index].at;
  for (const [place, token] of all.entries()) {
    if (token.at <= start) continue;
    if (token.kind === "bracket") depth += token.text in closers ? -1 : 1;
    if (depth < 0) break;
    if (depth === 0 && token.kind === "word" && all[place + 1]?.text === "=") names.add(token.text);
  }
  return names;
}

/** Where a one-based line and column are in a text; columns count characters, not units of UTF-16. */
export function offsetOf(text, { line, column }) {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

/** A line of a program with a caret under a column; of a long line, the part around it. */
export function pointAt(text, { line, column }) {
  const characters = [...(text.split(/\r\n|\r|\n/)[line - 1] ?? "")];
  const from = Math.max(0, column - 51);
  const padding = characters.slice(from, column - 1).map((one) => (one === "\t" ? "\t" : " "));
  return `${characters.slice(from, from + 100).join("")}\n${padding.join("")}^`;
}

/** The variables that a program gives a value. */
export const variablesOf = (text) =>
  new Set([...text.matchAll(/(?:^|[\n;])[ \t]*([A-Za-z_]\w*)[ \t]*=(?!=)/g)].map(([, name]) => name));
