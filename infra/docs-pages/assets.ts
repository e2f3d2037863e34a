import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import type { Asset } from "../assets.ts";
import { adviceOf } from "./errors.ts";
import { layOut } from "./layout.ts";
import { docsPages } from "./pages.ts";
import { renderMarkdown } from "./render.ts";

const root = resolve(import.meta.dirname, "../..");

/** One row per problem code, where the `type` member of an error body points. */
function withProblems(page: string): string {
  const rows = problemCodes.map((code) => {
    const { status, title } = problemOf(code);
    return `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}. ${adviceOf[code]}</td></tr>`;
  });
  return page.replace("<!-- rows -->", rows.join("\n"));
}

const articleOf = (source: string, file: string): string =>
  file.endsWith(".md") ? renderMarkdown(source, file) : withProblems(source);

const notFound = `<h1>There is no such page</h1>
<p>Begin at the <a href="/docs/overview">overview</a>, or look a function up in the <a href="/docs">reference</a>.</p>`;

/** The pages beside the reference, as they are served, and the one instead of a page that is not there. */
export const pageAssets = (): Asset[] => [
  ...docsPages.map((page) => ({
    to: `docs/${page.name}.html`,
    content: layOut(page, articleOf(readFileSync(join(root, page.file), "utf8"), page.file)),
  })),
  { to: "not-found.html", content: layOut({ name: "", title: "No such page" }, notFound) },
];
