import { tokensOf } from "./playground-text.js";

const openers = { ")": "(", "]": "[", "}": "{" };
const closers = { "(": ")", "[": "]", "{": "}" };

/** Names, dots, brackets and signs of a program, each with its place; line ends only where they end a statement. */
function atomsOf(text) {
  const atoms = [];
  let depth = 0;
  for (const { kind, text: part, at } of tokensOf(text)) {
    if (kind === "comment") continue;
    if (part.trim() === "") {
      if (depth === 0 && part.includes("\n")) atoms.push({ kind: "end", text: "\n", at });
    } else if (kind === "word") {
      for (const { 0: piece, index } of part.matchAll(/\.|[^.]+/g)) {
        atoms.push({ kind: piece === "." ? "sign" : "name", text: piece, at: at + index });
      }
    } else {
      if (part in closers) depth += 1;
      if (part in openers) depth = Math.max(0, depth - 1);
      atoms.push({ kind: part === ";" ? "end" : kind === "other" ? "sign" : kind, text: part, at });
    }
  }
  return atoms;
}

/** What is known of the values in a program: `answers` says what functions answer, `shapes` what values hold. */
class Program {
  constructor(text, { functions, shapes }) {
    Object.assign(this, { atoms: atomsOf(text), functions, shapes });
  }

  is(index, text) {
    return this.atoms[index]?.text === text;
  }

  isName(index) {
    return this.atoms[index]?.kind === "name";
  }

  /** The bracket that belongs to the one at an index, in either direction; -1 or the number of atoms where there is none. */
  match(index) {
    const step = this.atoms[index].text in closers ? 1 : -1;
    let depth = 0;
    for (let at = index; at >= 0 && at < this.atoms.length; at += step) {
      const { kind, text } = this.atoms[at];
      if (kind === "bracket") depth += text in closers === step > 0 ? 1 : -1;
      if (depth === 0) return at;
    }
    return step > 0 ? this.atoms.length : -1;
  }

  /** The place of the first of some words between two places, outside of the brackets in between. */
  find(words, from, to) {
    for (let at = from; at < to; at++) {
      if (words.includes(this.atoms[at].text)) return at;
      if (this.atoms[at].text in closers) at = this.match(at);
    }
    return to;
  }

  /** The list or call that an atom is in. */
  around(index) {
    for (let at = index - 1; at >= 0; at--) {
      if (this.atoms[at].text in closers) return at;
      if (this.atoms[at].text in openers) at = this.match(at);
    }
    return -1;
  }

  /** The shape of the path that ends before an atom, and where it begins; undefined where it is none. */
  pathBefore(end, depth) {
    const steps = [];
    let at = end - 1;
    for (; at >= 0; at -= 1) {
      if (this.isName(at) && this.is(at - 1, ".")) {
        steps.unshift(this.atoms[at].text);
        at -= 1;
      } else if (this.is(at, "]")) {
        const open = this.match(at);
        if (!this.isName(open - 1) && !(this.atoms[open - 1]?.text in openers)) break;
        const index = this.atoms[open + 1];
        steps.unshift(index?.kind === "string" ? index.text.slice(1, -1) : 0);
        at = open;
      } else break;
    }
    const root = this.root(at, steps, depth);
    return root && { from: root.from, shape: root.steps.reduce((shape, step) => this.step(shape, step), root.shape) };
  }

  /** What a path begins with: a variable, a call, or a list. */
  root(at, steps, depth) {
    if (this.is(at, ")")) {
      let from = this.match(at) - 1;
      const names = [];
      for (; this.isName(from); from -= 2) {
        names.unshift(this.atoms[from].text);
        if (!this.is(from - 1, ".")) break;
      }
      const called = this.functions.get(names.join("."));
      return called && { from, shape: this.shapes[called.answer], steps };
    }
    if (this.is(at, "]")) return { from: this.match(at), shape: this.listShape(this.match(at), at, depth), steps };
    if (!this.isName(at)) return undefined;
    return { from: at, shape: this.variable(this.atoms[at].text, at, depth), steps };
  }

  step(shape, step) {
    if (typeof step === "string") return this.shapes[shape?.members?.[step] ?? 0];
    return shape?.of ?? this.shapes[shape?.items ?? 0];
  }

  /** The shape of a list or of what a comprehension makes. */
  listShape(open, close, depth) {
    return { of: this.shapeOf(open + 1, this.find(["for", ","], open + 1, close), depth + 1) };
  }

  shapeOf(from, to, depth = 0) {
    if (depth > 8 || from >= to) return undefined;
    const path = this.pathBefore(to, depth + 1);
    return path?.from === from ? path.shape : undefined;
  }

  /** The shape of a name at a place: of a comprehension around it, or else of the statement that gave it a value last. */
  variable(name, at, depth) {
    for (let open = this.around(at); open >= 0; open = this.around(open)) {
      const close = this.match(open);
      for (let word = this.find(["for"], open + 1, close); word < close; word = this.find(["for"], word + 1, close)) {
        if (!this.is(word + 1, name)) continue;
        const end = this.find(["for", "if"], word + 3, close);
        return this.step(this.shapeOf(word + 3, end, depth + 1), 0);
      }
    }
    for (let before = at - 1; before >= 0; before--) {
      const isStart = before === 0 || this.atoms[before - 1].kind === "end";
      if (!isStart || !this.is(before, name) || !this.is(before + 1, "=") || this.is(before + 2, "=")) continue;
      const end = this.atoms.findIndex(({ kind }, index) => index > before && kind === "end");
      return this.shapeOf(before + 2, end < 0 ? this.atoms.length : end, depth + 1);
    }
    return undefined;
  }
}

/** The names that comprehensions around a place give to their items. */
export function boundAt(text, caret) {
  const program = new Program(text, { functions: new Map(), shapes: [] });
  const names = [];
  const here = program.atoms.findIndex(({ at }) => at >= caret);
  for (let open = program.around(here < 0 ? program.atoms.length : here); open >= 0; open = program.around(open)) {
    const close = program.match(open);
    for (
      let word = program.find(["for"], open + 1, close);
      word < close;
      word = program.find(["for"], word + 1, close)
    ) {
      if (program.isName(word + 1)) names.push(program.atoms[word + 1].text);
    }
  }
  return names;
}

/**
 * What can stand behind the dot before the caret, where a value is before it of which something is known: the word that
 * was begun, and the members.
 */
export function membersAt(text, caret, known) {
  const [word] = /\w*$/.exec(text.slice(0, caret));
  const start = caret - word.length;
  if (text[start - 1] !== ".") return undefined;
  const program = new Program(text, known);
  const dot = program.atoms.findIndex(({ at }) => at === start - 1);
  const { shape } = (dot > 0 && program.pathBefore(dot, 0)) || {};
  return (
    shape && {
      word,
      start,
      members: Object.entries(shape.members ?? {}).map(([name, number]) => ({ name, shape: program.shapes[number] })),
    }
  );
}
