import { createCssVariablesTheme, createHighlighterCoreSync } from "@shikijs/core";
import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import go from "@shikijs/langs/go";
import http from "@shikijs/langs/http";
import javascript from "@shikijs/langs/javascript";
import json from "@shikijs/langs/json";
import nginx from "@shikijs/langs/nginx";
import python from "@shikijs/langs/python";
import shell from "@shikijs/langs/shellscript";
import typescript from "@shikijs/langs/typescript";

import { escapeHtml } from "../../shared/core/text.ts";
import { hashOfFiles, lockFile, readCache, writeCache } from "./cache.ts";

const highlighter = createHighlighterCoreSync({
  themes: [createCssVariablesTheme({ name: "classes" })],
  langs: [go, http, javascript, json, nginx, python, shell, typescript],
  engine: createJavaScriptRegexEngine(),
});

const languages: ReadonlyMap<string, string> = new Map([
  ["bash", "shellscript"],
  ["cli", "shellscript"],
  ["curl", "shellscript"],
  ["sh", "shellscript"],
  // Code mode's language is a part of Starlark. Python's grammar can read Starlark.
  ["code-mode", "python"],
  ["js", "javascript"],
  ["ts", "typescript"],
  ...["go", "http", "json", "nginx", "python", "typescript"].map((name) => [name, name] as const),
]);

/** The kind of a token, such as `keyword`. The theme gives each kind the colour `var(--shiki-token-<kind>)`. */
const classOf = (color = ""): string | undefined => /--shiki-token-([a-z]+)/.exec(color)?.[1];

/** Highlights code in a known language. */
function render(code: string, lang: string): string {
  // There is no time limit. On a busy machine, a time limit could leave the rest of a line without highlighting.
  const lines = highlighter.codeToTokensBase(code, { lang, theme: "classes", tokenizeTimeLimit: 0 });
  return lines
    .map((tokens) =>
      tokens
        .map(({ content, color }) => {
          const name = content.trim() === "" ? undefined : classOf(color);
          return name === undefined ? escapeHtml(content) : `<span class="s-${name}">${escapeHtml(content)}</span>`;
        })
        .join(""),
    )
    .join("\n");
}

const cacheName = "highlight";
const hashOfInputs = (): Promise<string> => hashOfFiles([import.meta.filename, lockFile]);

/** The blocks that the last build highlighted, as HTML. To highlight all blocks again takes two seconds. */
let last: Record<string, string> = {};
/** The highlighted blocks of this build. */
const used: Record<string, string> = {};

/** Loads the blocks that the last build highlighted. */
export async function loadHighlighted(): Promise<void> {
  last = ((await readCache(cacheName, await hashOfInputs())) ?? {}) as typeof last;
}

/** Stores the blocks of this build for the next build. */
export const keepHighlighted = async (): Promise<void> => writeCache(cacheName, await hashOfInputs(), used);

/**
 * Highlights code as HTML: spans with the classes `s-keyword`, `s-string` and so on, and no inline styles. For an
 * unknown language, only escapes the code.
 */
export function highlight(code: string, language = ""): string {
  const lang = languages.get(language);
  if (lang === undefined) return escapeHtml(code);
  const key = `${lang}\n${code}`;
  return (used[key] ??= last[key] ?? render(code, lang));
}
