import { ContextTracker, ExternalTokenizer } from "@lezer/lr";

import * as terms from "./code-mode.grammar.terms";

const lineFeed = 10;

const depthChanges = new Map([
  ...[terms.ParenL, terms.BracketL, terms.BraceL].map((opener) => [opener, 1] as const),
  ...[terms.ParenR, terms.BracketR, terms.BraceR].map((closer) => [closer, -1] as const),
]);

/** Tracks the number of open brackets. */
export const brackets = new ContextTracker<number>({
  start: 0,
  shift: (depth, term) => Math.max(0, depth + (depthChanges.get(term) ?? 0)),
  hash: (depth) => depth,
});

/** Reads line ends. A line end ends a statement, except inside brackets. */
export const lineEnds = new ExternalTokenizer((input, stack) => {
  if (input.next !== lineFeed) return;
  input.advance();
  input.acceptToken(stack.context > 0 ? terms.bracketedNewline : terms.newline);
});
