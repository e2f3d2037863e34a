import { createRequire } from "node:module";
import { join } from "node:path";

import type TypeScript from "../../infra/client/typescript-6/node_modules/typescript/lib/typescript.js";

const require = createRequire(join(import.meta.dirname, "../../infra/client/typescript-6/package.json"));
// The compiler as a library: TypeScript 7 has none.
const ts = require("typescript") as typeof TypeScript;
const { SyntaxKind } = ts;

/** One small mistake in a file: what stands in place of the text from `start` to `end`. */
export type Mutant = { start: number; end: number; line: number; from: string; to: string };

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

/** What stands in place of a node, as ranges of the file and their replacements. */
function replacements(node: TypeScript.Node): { of: TypeScript.Node; to: string }[] {
  if (ts.isBinaryExpression(node)) {
    const others = operators[node.operatorToken.kind] ?? [];
    const kind = node.operatorToken.kind;
    const sides = kind === SyntaxKind.QuestionQuestionToken ? [node.right.getText(), `(${node.left.getText()})!`] : [];
    return [
      ...others.map((to) => ({ of: node.operatorToken, to })),
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
  if (ts.isExpressionStatement(node)) return [{ of: node, to: ";" }];
  if (ts.isPropertyAccessExpression(node)) {
    const to = Object.hasOwn(methods, node.name.text) ? methods[node.name.text] : undefined;
    return to === undefined ? [] : [{ of: node.name, to }];
  }
  if (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.parent)) return [{ of: node, to: "...[]" }];
  return [];
}

/** Types and words for people: no test has to notice a change of them. */
const isLeftAlone = (node: TypeScript.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isImportDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  (ts.isCallExpression(node) && /\.(?:meta|describe)$|^(?:log|work\.log)\./.test(node.expression.getText()));

/** All mutants of a TypeScript source. */
export function mutantsOf(source: string): Mutant[] {
  const file = ts.createSourceFile("a.ts", source, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const visit = (node: TypeScript.Node): void => {
    if (isLeftAlone(node)) {
      // What a schema is described by ends the chain that says what it takes.
      if (ts.isCallExpression(node)) visit(node.expression);
      return;
    }
    for (const { of, to } of replacements(node)) {
      const [start, end] = [of.getStart(file), of.getEnd()];
      const { line } = file.getLineAndCharacterOfPosition(start);
      found.push({ start, end, line: line + 1, from: source.slice(start, end), to });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The source with a mutant's mistake in it. */
export const mutated = (source: string, { start, end, to }: Mutant): string =>
  source.slice(0, start) + to + source.slice(end);
