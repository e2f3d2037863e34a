import { HighlightStyle, LanguageSupport, LRLanguage, indentNodeProp, syntaxHighlighting } from "@codemirror/language";
import { styleTags, tags } from "@lezer/highlight";

import { parser } from "./code-mode.grammar";

const highlighting = styleTags({
  "Call/Variable Call/Member/Variable Call/Member/MemberName": tags.function(tags.variableName),
  "Call/Member/Member/Variable Call/Member/Member/MemberName": tags.function(tags.variableName),
  "for in if else and or not": tags.keyword,
  Constant: tags.keyword,
  String: tags.string,
  Number: tags.number,
  Comment: tags.comment,
});

/** All statements begin in the column of the first statement, because a whole program can be indented. */
const indentation = indentNodeProp.add({
  Program: (context) => context.lineIndent(context.node.firstChild?.from ?? 0),
});

const colors = HighlightStyle.define([
  { tag: tags.function(tags.variableName), color: "var(--name)" },
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: [tags.string, tags.number], color: "var(--string)" },
  { tag: tags.comment, color: "var(--soft)" },
]);

/** Code mode's language: its syntax tree and its colors. */
export const codeMode = new LanguageSupport(
  LRLanguage.define({
    name: "code-mode",
    parser: parser.configure({ props: [highlighting, indentation] }),
    languageData: { commentTokens: { line: "#" } },
  }),
  syntaxHighlighting(colors),
);
