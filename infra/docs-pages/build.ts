import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import MiniSearch from "minisearch";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import { productName } from "../../shared/core/product.ts";
import { indexOptions } from "../docs/site/terms.ts";
import { errorGuidance } from "./errors.ts";
import { keepHighlighted, loadHighlighted } from "./highlight.ts";
import { contentsOf, layOut, sitePartOf, neighbourPages } from "./layout.ts";
import { withSiteLinks } from "./markdown-links.ts";
import { type DocsPage, docsPages, groups, operatorGroups, operatorPages } from "./pages.ts";
import { membersOf } from "./reference/fields.ts";
import { familyMarkdown, operationMarkdown } from "./reference/markdown.ts";
import { familiesWithOperations, operations, type Family, type ReferenceOperation } from "./reference/operations.ts";
import { familyPage, startPage } from "./reference/overview-pages.ts";
import { operationPages } from "./reference/page.ts";
import { renderMarkdown, renderText, sectionsOf, textOf } from "./render.ts";
import { scripts } from "./scripts.ts";

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
<p>Search with <kbd>Ctrl</kbd>+<kbd>K</kbd>, start with the <a href="/docs/overview">overview</a>, or look up an operation in the <a href="/docs">reference</a>.</p>`,
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

/** A page of text: its name, title, and HTML. */
type TextPage = { name: string; title: string; html: string };

/**
 * An entry of the search index: a section of a page, a family, or an operation. The search shows `kind` beside the
 * entry: `Docs`, `Operators`, `Reference`, or the id of an operation. `names` has the names and the synonyms of what
 * the entry is about.
 */
type IndexEntry = { title: string; section: string; path: string; kind: string; names: string; text: string };

function sectionsIn({ name, title, html }: TextPage): IndexEntry[] {
  const kind = operatorPages.some((page) => page.name === name) ? "Operators" : "Docs";
  return sectionsOf(html).map(({ id, heading, text }) => ({
    title,
    section: heading,
    path: `/docs/${name}${id === "" ? "" : `#${id}`}`,
    kind,
    names: name,
    text: text.slice(0, 1_500),
  }));
}

const indexEntryOf = (operation: ReferenceOperation): IndexEntry => ({
  title: operation.summary,
  section: "",
  path: `/docs/reference/${operation.id}`,
  kind: operation.id,
  names: [operation.id, ...(operation.route.synonyms ?? [])].join(" "),
  text: [
    operation.method,
    operation.path,
    textOf(renderText(operation.description)),
    ...operation.parameters.filter((parameter) => parameter.in !== "header").map(({ name }) => name),
    ...(operation.body ? membersOf(operation.body.schema).flatMap(({ fields }) => fields.map(({ name }) => name)) : []),
  ].join(" "),
});

/** The search index of all pages and operations, as JSON. */
function searchIndex(pages: readonly TextPage[]): string {
  const index = new MiniSearch<IndexEntry & { id: number }>(indexOptions);
  const families = familiesWithOperations.map(({ name, title, description }) => ({
    title,
    section: "",
    path: `/docs/reference/${name}`,
    kind: "Reference",
    names: name,
    text: description,
  }));
  const inReference = familiesWithOperations.flatMap(({ operations: own }) => own.map(indexEntryOf));
  const entries = [...inReference, ...families, ...pages.flatMap(sectionsIn)];
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return JSON.stringify(index);
}

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
    { to: `docs/${page.name}.md`, content: withSiteLinks(markdown, page.file) },
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

const familyLines = ({ title, description, name, operations }: Family): string[] => [
  `- [${title}](/docs/reference/${name}.md): ${description}`,
  ...operations.map(({ id, summary, method }) => `  - [${id}](/docs/reference/${id}.md): ${method}. ${summary}`),
];

const groupLines = (all: typeof groups): string[] =>
  all.flatMap(({ title, pages }) => pages.map((page) => `- [${page.title}](/docs/${page.name}.md): ${title}`));

/** The list of all pages as Markdown, in the form of llmstxt.org. */
const llmsText = (): string =>
  [
    `# ${productName}`,
    "> An API to manage hosted mail: domains, DNS records, mailboxes, forwarding, dedicated IPs, billing and permissions. Every operation is a REST route. Nearly all are also functions of code mode, under the same names.",
    "Send `Authorization: Bearer <token>`. The base path is `/v1/public`. The OpenAPI 3.1 document is at `/v1/public/openapi.json`. MCP clients connect to `/v1/public/mcp`, A2A clients to `/v1/public/a2a`.",
    "## Docs",
    groupLines(groups).join("\n"),
    "## Reference",
    familiesWithOperations.flatMap(familyLines).join("\n"),
    "## Optional",
    groupLines(operatorGroups).join("\n"),
  ].join("\n\n") + "\n";

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
