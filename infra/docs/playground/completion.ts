import {
  insertCompletionText,
  pickedCompletion,
  startCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState, Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";

import {
  sourceOf,
  variablesAt,
  type BuiltinEntry,
  type FunctionEntry,
  type Parameter,
  type ValueShapes,
} from "./value-shapes.ts";

/** The longest time that one completion may spend on parsing, in milliseconds. */
const parseBudgetMs = 100;

const nodeBefore = (state: EditorState, position: number): SyntaxNode =>
  (ensureSyntaxTree(state, position, parseBudgetMs) ?? syntaxTree(state)).resolveInner(position, -1);

/** The innermost brackets around a position. Undefined if there are none. */
function bracketsAround(node: SyntaxNode, position: number): SyntaxNode | undefined {
  for (let around: SyntaxNode | null = node; around; around = around.parent) {
    const [open, close] = [around.firstChild, around.lastChild];
    // The bracket of an index comes after the indexed value.
    const opener = around.name === "Index" ? around.getChild("BracketL") : open;
    if (!opener?.name.endsWith("L") || opener.to > position) continue;
    if (!close?.name.endsWith("R") || close.to > position) return around;
  }
  return undefined;
}

/** The parentheses of a call, if they are the innermost brackets around a position. */
function argumentsAround(node: SyntaxNode, position: number): SyntaxNode | undefined {
  const brackets = bracketsAround(node, position);
  return brackets?.name === "Arguments" ? brackets : undefined;
}

/**
 * The function of the call whose arguments enclose a position. Undefined if there is no such call, or if the function
 * is unknown.
 */
export function functionAt(state: EditorState, position: number, shapes: ValueShapes): FunctionEntry | undefined {
  const args = argumentsAround(nodeBefore(state, position), position);
  return args && shapes.calledBy(state.doc, args);
}

/**
 * Replaces the word with `before` and `after`, and puts the caret between the two. With `completesOn`, shows the
 * completions at the caret.
 */
const insert =
  (before: string, after = "", { completesOn = false } = {}) =>
  (view: EditorView, completion: Completion, from: number, to: number): void => {
    const caret = from + before.length;
    view.dispatch({
      ...insertCompletionText(view.state, before + after, from, to),
      selection: { anchor: caret },
      annotations: pickedCompletion.of(completion),
    });
    if (completesOn) startCompletion(view);
  };

/**
 * The completion of a function's name. It adds parentheses, and puts the caret between them if the function has
 * parameters. If `isCalled`, an opening parenthesis already follows the caret, and the completion adds only the name.
 */
const functionOption = ({ name, summary, parameters }: FunctionEntry, isCalled: boolean): Completion => {
  const hasParameters = parameters.length > 0;
  const apply = hasParameters ? insert(`${name}(`, ")", { completesOn: true }) : insert(`${name}()`);
  return { label: name, detail: summary, type: "function", apply: isCalled ? name : apply };
};

const builtinOption = ({ name, form }: BuiltinEntry): Completion => ({
  label: name,
  detail: form,
  type: "function",
  apply: insert(`${name}(`, ")", { completesOn: true }),
});

/**
 * The values that a parameter allows, as a program writes them. Empty if the parameter's type does not list all its
 * values.
 */
function valuesOf(type: string): string[] {
  if (type.startsWith("boolean")) return ["True", "False"];
  return /^"[^"]*"( or ("[^"]*"|null))*$/.test(type) ? (type.match(/"[^"]*"/g) ?? []) : [];
}

function parameterOption({ name, type, required, description }: Parameter): Completion {
  const apply = type.startsWith("string") ? insert(`${name}="`, '"') : insert(`${name}=`, "", { completesOn: true });
  const detail = required ? type : `optional, ${type}`;
  return { label: name, detail, info: description, type: "property", apply };
}

const valueOptions = ({ type, description }: Parameter): Completion[] =>
  valuesOf(type).map((label) => ({ label, info: description, type: "constant" }));

/**
 * The completions of a parameter's value after an opening quote. A completion also adds the closing quote if it is
 * missing.
 */
function quotedOptions(parameter: Parameter, quote: string): Completion[] {
  const apply = (view: EditorView, { label }: Completion, from: number, to: number): void => {
    const end = view.state.sliceDoc(to, to + 1) === quote ? to + 1 : to;
    insert(label + quote)(view, { label }, from, end);
  };
  return valueOptions(parameter)
    .filter(({ label }) => label.startsWith('"'))
    .map((option) => ({ ...option, label: option.label.slice(1, -1), apply }));
}

/** The parameter of the called function that is named directly before a position, as `name=`. */
function parameterBefore(doc: Text, position: number, called: FunctionEntry | undefined): Parameter | undefined {
  const line = doc.lineAt(position);
  const [, name] = /(\w+)\s*=\s*$/.exec(line.text.slice(0, position - line.from)) ?? [];
  return called?.parameters.find((one) => one.name === name);
}

/**
 * The parameters without an argument in a call, required parameters first. The argument that begins at `from` does not
 * count.
 */
function missingParameters(doc: Text, args: SyntaxNode, { parameters }: FunctionEntry, from: number): Parameter[] {
  const others = args.getChildren("NamedArgument").filter((argument) => argument.from !== from);
  const names = new Set(others.map((argument) => sourceOf(doc, argument.getChild("ArgumentName") ?? argument)));
  return parameters
    .filter(({ name }) => !names.has(name))
    .toSorted((one, other) => Number(other.required) - Number(one.required));
}

/** Whether an argument can begin at a position inside the parentheses of a call. */
function isArgumentStart(args: SyntaxNode, position: number): boolean {
  let before = args.childBefore(position);
  while (before?.name === "Comment") before = before.prevSibling;
  return before?.name === "ParenL" || before?.name === ",";
}

/**
 * The beginning of a string literal, if a position is between its quotes. `opening` is the optional `f` with the
 * quotes, and `quotes` only the quotes.
 */
function quotesAround(text: string, offset: number): { opening: string; quotes: string } | undefined {
  const [opening = "", quotes = ""] = /^f?("""|'''|"|')/.exec(text) ?? [];
  const isClosed = text.length >= opening.length + quotes.length && text.endsWith(quotes);
  return offset >= opening.length && (offset < text.length || !isClosed) ? { opening, quotes } : undefined;
}

const result = (from: number, options: Completion[], validFor: RegExp): CompletionResult | null =>
  options.length > 0 ? { from, options, validFor } : null;

/** The completions in a string literal that is the value of an argument. */
function completeText(doc: Text, text: SyntaxNode, position: number, called?: FunctionEntry): CompletionResult | null {
  const { opening, quotes } = quotesAround(sourceOf(doc, text), position - text.from) ?? {};
  const parameter = parameterBefore(doc, text.from, called);
  if (opening === undefined || quotes === undefined || !parameter) return null;
  return result(text.from + opening.length, quotedOptions(parameter, quotes), /^[^"'\n]*$/);
}

/** Whether the expression before a dot is the beginning of a function's name, such as `auth.groups`. */
function isFamily(doc: Text, expression: SyntaxNode, position: number): boolean {
  let head: SyntaxNode | null = expression;
  while (head?.name === "Member") head = head.firstChild;
  return head?.name === "Variable" && ![...variablesAt(doc, expression, position)].includes(sourceOf(doc, head));
}

/** The members and the methods of the value before a dot. */
function completeMember(doc: Text, node: SyntaxNode, position: number, shapes: ValueShapes): CompletionResult | null {
  const value = node.parent?.name === "Member" && node.prevSibling ? node.parent.firstChild : null;
  if (!value || isFamily(doc, value, position)) return null;
  const members = shapes.membersOf(doc, value);
  const options = members.map(({ name, kind }): Completion => ({ label: name, detail: kind, type: "property" }));
  const methods = shapes.builtins(doc, value).map(builtinOption);
  return result(node.name === "." ? position : node.from, [...options, ...methods], /^\w*$/);
}

/**
 * Completions at the caret: members of a value, names and values of arguments, variables and functions.
 * - In a comment or a number: none.
 * - In a string: none, unless the string is the value of a parameter with fixed values.
 * - Before the first letter of a name: members, arguments and their values. Variables and functions only if the user
 *   asks for completions.
 */
export function complete({ state, pos, explicit }: CompletionContext, shapes: ValueShapes): CompletionResult | null {
  const { doc } = state;
  const node = nodeBefore(state, pos);
  if (node.name === "Comment" || node.name === "Number") return null;
  const args = argumentsAround(node, pos);
  const called = args && shapes.calledBy(doc, args);
  if (node.name === "String" && quotesAround(sourceOf(doc, node), pos - node.from)) {
    return completeText(doc, node, pos, called);
  }
  const members = completeMember(doc, node, pos, shapes);
  if (members) return members;
  const line = doc.lineAt(pos);
  const [word = ""] = /[A-Za-z_][\w.]*$/.exec(line.text.slice(0, pos - line.from)) ?? [];
  const from = pos - word.length;
  if (args && called && isArgumentStart(args, from)) {
    return result(from, missingParameters(doc, args, called, from).map(parameterOption), /^\w*$/);
  }
  const parameter = parameterBefore(doc, from, called);
  const values = parameter ? valueOptions(parameter) : [];
  if (word === "" && !explicit) return result(from, values, /^\w*$/);
  const isCalled = state.sliceDoc(pos, pos + 1) === "(";
  const variables = [...variablesAt(doc, node, from)].map((label) => ({ label, detail: "variable", type: "variable" }));
  const functions = [...shapes.functions.values()].map((one) => functionOption(one, isCalled));
  const builtins = shapes.builtins(doc).map(builtinOption);
  return result(from, [...values, ...variables, ...functions, ...builtins], /^[\w.]*$/);
}
