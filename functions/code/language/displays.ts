import { isDictComprehension } from "./hints.ts";
import { checkKey } from "./names.ts";
import { accept, at, expected, fault, nested, peek, readBracketed, take, takeName, type Reader } from "./reader.ts";
import { clip, says } from "./sentences.ts";
import type { Clause, Dict, Expression } from "./syntax.ts";

export const clauseLimit = 8;

/** Reads an f-string, each of its values from tokens of its own. */
export function readFormat(reader: Reader): Expression {
  const { parts = [], at: place } = take(reader);
  const { tokens, next } = reader;
  const read = parts.map((part) => {
    if (typeof part === "string") return part;
    Object.assign(reader, { tokens: part, next: 0 });
    const value = nested(reader, () => reader.read(reader));
    if (!at(reader, "")) throw expected(reader, "`}` after the value of the f-string");
    return value;
  });
  Object.assign(reader, { tokens, next });
  return { kind: "format", parts: read, at: place };
}

/** Reads what stands in parentheses: one expression. */
export function readParenthesized(reader: Reader): Expression {
  const { line, column } = peek(reader).at;
  return nested(reader, () => {
    take(reader);
    if (at(reader, ")")) throw fault(reader, says.tuple);
    const value = reader.read(reader);
    if (at(reader, ",")) throw fault(reader, says.tuple);
    if (at(reader, "for")) throw fault(reader, says.generator);
    if (!accept(reader, ")")) throw expected(reader, `\`)\` after the \`(\` of line ${line}, column ${column}`);
    return value;
  });
}

/** Reads one index in brackets. */
export function readIndex(reader: Reader): Expression {
  const items: Expression[] = [];
  readBracketed(reader, "]", () => {
    if (items.length > 0) throw fault(reader, says.twoIndexes);
    if (!at(reader, ":")) items.push(reader.read(reader));
    if (at(reader, ":")) throw fault(reader, says.slice);
  });
  const [index] = items;
  if (!index) throw fault(reader, says.noIndex);
  if (index.kind === "literal") checkKey(String(index.value), index.at);
  return index;
}

/** Reads a list or a comprehension. */
export function readList(reader: Reader): Expression {
  const place = peek(reader).at;
  const items: Expression[] = [];
  const clauses: Clause[] = [];
  readBracketed(reader, "]", () => {
    items.push(reader.read(reader));
    if (!at(reader, "for")) return;
    if (items.length > 1) throw fault(reader, says.twoElements);
    clauses.push(...readClauses(reader));
    if (!at(reader, "]")) throw expected(reader, "`]` after the comprehension");
  });
  const [element] = items;
  return element && clauses.length > 0
    ? { kind: "comprehension", element, clauses, at: place }
    : { kind: "list", items, at: place };
}

function readClauses(reader: Reader): Clause[] {
  const clauses: Clause[] = [];
  while (at(reader, "for", "if")) {
    if (clauses.length >= clauseLimit) throw fault(reader, says.clauses(clauseLimit));
    const { kind, at: place } = take(reader);
    if (kind === "if") clauses.push({ kind, test: reader.read(reader), at: place });
    else {
      const name = takeName(reader);
      if (at(reader, ",")) throw fault(reader, says.twoNames);
      if (!accept(reader, "in")) throw expected(reader, "`in` after the name of a `for`");
      clauses.push({ kind: "for", name, over: reader.read(reader), at: place });
    }
  }
  return clauses;
}

/** Reads a dict; a literal key may be there once. */
export function readDict(reader: Reader): Expression {
  const place = peek(reader).at;
  const members: Dict["members"] = [];
  const known = new Set<unknown>();
  readBracketed(reader, "}", () => {
    const { kind, text } = peek(reader);
    if (kind === "name" && /^[:=]$/.test(peek(reader, 1).kind)) {
      const isComprehension = isDictComprehension(reader.tokens.slice(reader.next));
      throw fault(reader, isComprehension ? says.dictComprehension : says.keyQuotes(clip(text)));
    }
    const start = reader.next;
    const key = reader.read(reader);
    if (at(reader, ",", "}")) throw fault(reader, says.set);
    if (key.kind === "literal") {
      reader.next = start;
      if (typeof key.value !== "string") throw fault(reader, says.keyNotText);
      checkKey(key.value, key.at);
      if (known.has(key.value)) throw fault(reader, says.twice(clip(text)));
      reader.next = start + 1;
    }
    known.add(key.kind === "literal" ? key.value : key);
    if (!accept(reader, ":")) throw expected(reader, `\`:\` after ${clip(text)}`);
    members.push({ key, value: reader.read(reader) });
    if (at(reader, "for")) throw fault(reader, says.dictComprehension);
  });
  return { kind: "dict", members, at: place };
}
