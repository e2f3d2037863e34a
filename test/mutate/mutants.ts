import { createRequire } from "node:module";
import { join } from "node:path";

import type TypeScript from "./typescript-6/node_modules/typescript/lib/typescript.js";

const require = createRequire(join(import.meta.dirname, "typescript-6/package.json"));
// The compiler as a library. TypeScript 7 does not have it, so this is TypeScript 6.
const ts = require("typescript") as typeof TypeScript;
const { SyntaxKind } = ts;

type Range = { start: number; end: number };
/** One small mistake in a file: `to` replaces the text from `start` to `end`. */
export type Mutant = Range & {
  line: number;
  from: string;
  to: string;
  /** The name of the mistake: the expression around it, right and wrong. It does not depend on the line. */
  name: string;
  /** The expression that gets the switch. When it runs, the switch chooses the right code or the mistake. */
  host: Range;
  /** Whether the code runs only once, when the file is loaded. */
  isStatic: boolean;
};

const operators: Partial<Record<TypeScript.SyntaxKind, readonly string[]>> = {
  [SyntaxKind.EqualsEqualsEqualsToken]: ["!=="],
  [SyntaxKind.ExclamationEqualsEqualsToken]: ["==="],
  [SyntaxKind.LessThanToken]: ["<=", ">"],
  [SyntaxKind.LessThanEqualsToken]: ["<", ">"],
  [SyntaxKind.GreaterThanToken]: [">=", "<"],
  [SyntaxKind.GreaterThanEqualsToken]: [">", "<"],
  [SyntaxKind.AmpersandAmpersandToken]: ["||"],
  [SyntaxKind.BarBarToken]: ["&&"],
  [SyntaxKind.PlusToken]: ["-"],
  [SyntaxKind.MinusToken]: ["+"],
  [SyntaxKind.AsteriskToken]: ["/"],
  [SyntaxKind.SlashToken]: ["*"],
  [SyntaxKind.PlusEqualsToken]: ["-="],
  [SyntaxKind.MinusEqualsToken]: ["+="],
};

const methods: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  ceil: "floor",
  floor: "ceil",
};

/** The whole chain of members and calls that begins with a node. */
function chainFrom(node: TypeScript.Node): TypeScript.Node {
  const { parent } = node;
  const goesOn =
    ts.isPropertyAccessExpression(parent) ||
    ts.isElementAccessExpression(parent) ||
    ts.isCallExpression(parent) ||
    ts.isNonNullExpression(parent);
  return goesOn && parent.expression === node ? chainFrom(parent) : node;
}

/** The mistakes at a node: `to` replaces the text of `of`. `host` gets the switch. Without it, `of` gets the switch. */
function replacements(node: TypeScript.Node): { of: TypeScript.Node; to: string; host?: TypeScript.Node }[] {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const others = operators[kind] ?? [];
    const sides = kind === SyntaxKind.QuestionQuestionToken ? [node.right.getText(), `(${node.left.getText()})!`] : [];
    return [
      ...others.map((to) => ({ of: node.operatorToken, to, host: node })),
      ...sides.map((to) => ({ of: node, to: `(${to})` })),
    ];
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) {
    return [{ of: node, to: node.operand.getText() }];
  }
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
    const condition = ts.isIfStatement(node) ? node.expression : node.condition;
    return ["true", "false"].map((to) => ({ of: condition, to }));
  }
  if (node.kind === SyntaxKind.TrueKeyword) return [{ of: node, to: "false" }];
  if (node.kind === SyntaxKind.FalseKeyword) return [{ of: node, to: "true" }];
  if (ts.isNumericLiteral(node)) return [{ of: node, to: `(${node.getText()} + 1)` }];
  if (ts.isExpressionStatement(node)) return [{ of: node.expression, to: "undefined" }];
  if (ts.isPropertyAccessExpression(node)) {
    const to = Object.hasOwn(methods, node.name.text) ? methods[node.name.text] : undefined;
    return to === undefined ? [] : [{ of: node.name, to, host: chainFrom(node) }];
  }
  if (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.parent)) return [{ of: node.expression, to: "[]" }];
  return [];
}

/** Whether a node gets no mistake: types, imports, descriptions and log lines. No test has to notice their changes. */
const isLeftAlone = (node: TypeScript.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isImportDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  (ts.isCallExpression(node) && /\.(?:meta|describe)$|^(?:log|work\.log)\./.test(node.expression.getText()));

/** The text of the expression around a mistake, with the mistake in it. */
const wrongHost = (source: string, { start, end, to, host }: Pick<Mutant, "start" | "end" | "to" | "host">): string =>
  source.slice(host.start, start) + to + source.slice(end, host.end);

/** All mutants of a TypeScript source. */
export function mutantsOf(source: string): Mutant[] {
  const file = ts.createSourceFile("a.ts", source, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const rangeOf = (node: TypeScript.Node): Range => ({ start: node.getStart(file), end: node.getEnd() });
  const visit = (node: TypeScript.Node, isStatic: boolean): void => {
    if (isLeftAlone(node)) {
      // A description is the end of a chain. The rest of the chain says what the schema accepts, and gets mistakes.
      if (ts.isCallExpression(node)) visit(node.expression, isStatic);
      return;
    }
    for (const { of, to, host = of } of replacements(node)) {
      const { start, end } = rangeOf(of);
      const { line } = file.getLineAndCharacterOfPosition(start);
      const one = { start, end, line: line + 1, from: source.slice(start, end), to, host: rangeOf(host), isStatic };
      const name = `${source.slice(one.host.start, one.host.end)} → ${wrongHost(source, one)}`.replaceAll(/\s+/g, " ");
      found.push({ ...one, name });
    }
    ts.forEachChild(node, (child) => visit(child, isStatic && !ts.isFunctionLike(node)));
  };
  visit(file, true);
  return found;
}

/**
 * The source with all of these mistakes in it. Whenever the place of a mistake runs, it calls `globalThis.isMutant`
 * with the number of the mistake. If the result is false, the right code runs.
 */
export function withSwitches(source: string, numbered: readonly (Mutant & { id: number })[]): string {
  const hosts = [...Map.groupBy(numbered, ({ host }) => `${host.start} ${host.end}`).values()]
    // Outer hosts first.
    .toSorted(([a], [b]) => (a && b ? a.host.start - b.host.start || b.host.end - a.host.end : 0));
  /** The text of a range, with switches for the hosts inside it. `first` is the index of the first host that counts. */
  const textOf = ({ start, end }: Range, first: number): string => {
    const parts: string[] = [];
    let at = start;
    for (const [index, mutants] of hosts.entries()) {
      const host = mutants[0]?.host;
      if (index < first || !host || host.start < at || host.end > end) continue;
      const wrong = mutants.map((one) => `globalThis.isMutant(${one.id}) ? (${wrongHost(source, one)}) : `);
      parts.push(source.slice(at, host.start), `(${wrong.join("")}(${textOf(host, index + 1)}))`);
      at = host.end;
    }
    return parts.join("") + source.slice(at, end);
  };
  return textOf({ start: 0, end: source.length }, 0);
}
