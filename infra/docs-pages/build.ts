import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import { errorGuidance } from "./errors.ts";
import { keepHighlighted, loadHighlighted } from "./highlight.ts";
import { contentsOf, layOut, sitePartOf, neighbourPages } from "./layout.ts";
import { llmsText } from "./llms.ts";
import { type DocsPage, docsPages } from "./pages.ts";
import { familyMarkdown, operationMarkdown } from "./reference/markdown.ts";
import { familiesWithOperations, operations } from "./reference/operations.ts";
import { familyPage, startPage } from "./reference/overview-pages.ts";
import { operationPages } from "./reference/page.ts";
import { renderMarkdown } from "./render.ts";
import { scripts } from "./scripts.ts";
import { searchIndex, type TextPage } from "./search-index.ts";

const root = resolve(import.meta.dirname, "../..");

/** A file of the site, at its path below the folder of the `docs` function. */
export type SiteFile = { to: string; content: string };

const statusTitles: Record<string, string> = {
  400: "The request cannot be read",
  401: "No valid token",
  403: "Not allowed",
  404: "Not found",
  405: "The method is not allowed",
  409: "In conflict with the present state",
  410: "Gone",
  412: "Changed in the meantime",
  413: "Too large",
  415: "The format is not supported",
  429: "Too many requests",
  500: "A fault of the API",
  503: "Temporarily not available",
};

/**
 * The errors as Markdown: a section for each status, with a subsection for each code. The `type` in an error's body
 * links to the code's subsection.
 */
function problemSections(): string {
  const byStatus = Map.groupBy(problemCodes, (code) => String(problemOf(code).status));
  return [...byStatus]
    .map(([status, codes]) => {
      const rows = codes.map((code) => `### ${code}\n\n**${problemOf(code).title}.** ${errorGuidance[code]}`);
      return `## ${status}: ${statusTitles[status] ?? ""}\n\n${rows.join("\n\n")}`;
    })
    .join("\n\n");
}

function markdownOf({ name, file }: DocsPage): string {
  const text = readFileSync(join(root, file), "utf8");
  return name === "errors" ? `${text}\n${problemSections()}\n` : text;
}

/** The page for browsers at an unknown path. */
const notFound = layOut({
  path: "",
  title: "Page not found",
  part: "none",
  article: `<h1 id="top">This page does not exist</h1>
<p>Search with <kbd>/</kbd>, start with the <a href="/docs/overview">overview</a>, or look up an operation in the <a href="/docs">reference</a>.</p>`,
});

const playground = (): string =>
  layOut({
    path: "/docs/playground",
    title: "Playground",
    part: "playground",
    article: readFileSync(resolve(import.meta.dirname, "../docs/playground.html"), "utf8"),
    scripts: ["playground"],
    styles: ["playground"],
  });

function textFiles(): { files: SiteFile[]; texts: TextPage[] } {
  const rendered = docsPages.map((page) => {
    const markdown = markdownOf(page);
    return { page, markdown, ...renderMarkdown(markdown, page.file) };
  });
  const files = rendered.flatMap(({ page, markdown, html, headings }) => [
    {
      to: `docs/${page.name}.html`,
      content: layOut({
        path: `/docs/${page.name}`,
        title: page.title,
        part: sitePartOf(page),
        article: `${html}${neighbourPages(page)}`,
        aside: contentsOf(headings),
        hasMarkdown: true,
      }),
    },
    { to: `docs/${page.name}.md`, content: markdown },
  ]);
  return { files, texts: rendered.map(({ page, html }) => ({ name: page.name, title: page.title, html })) };
}

function referenceFiles(): SiteFile[] {
  const families = familiesWithOperations.flatMap((family) => [
    { to: `docs/reference/${family.name}.html`, content: familyPage(family) },
    { to: `docs/reference/${family.name}.md`, content: familyMarkdown(family) },
  ]);
  const pages = operationPages().map(([id, content]) => ({ to: `docs/reference/${id}.html`, content }));
  const markdown = [...operations.values()].map((operation) => ({
    to: `docs/reference/${operation.id}.md`,
    content: operationMarkdown(operation),
  }));
  return [...families, ...pages, ...markdown];
}

/** Renders all generated files of the site: pages, scripts, the search index, and texts for agents. */
export async function buildSite(): Promise<SiteFile[]> {
  // esbuild runs in its own process, so it can work while the rest is rendered.
  const bundled = scripts();
  await loadHighlighted();
  const { files, texts } = textFiles();
  const reference = referenceFiles();
  await keepHighlighted();
  const llms = llmsText();
  return [
    ...files,
    ...reference,
    { to: "docs/index.html", content: startPage() },
    { to: "docs/index.md", content: llms },
    { to: "llms.txt", content: llms },
    { to: "docs/llms.txt", content: llms },
    { to: "docs/playground.html", content: playground() },
    { to: "docs/search.json", content: searchIndex(texts) },
    { to: "not-found.html", content: notFound },
    ...Object.entries(await bundled).map(([name, content]) => ({ to: `docs/${name}`, content })),
  ];
}
