import { posix } from "node:path";

import { Marked, type Tokens } from "marked";

import { productName } from "../../shared/core/product.ts";
import { escapeHtml } from "../../shared/core/text.ts";
import { type DocsPage, groups, shownAs } from "./pages.ts";

/**
 * The anchor that GitHub gives a heading, so that links work on both sites. `taken` has the anchors of the same page.
 */
export function slugOf(heading: string, taken: Set<string> = new Set()): string {
  const slug = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-");
  let unique = slug;
  for (let count = 1; taken.has(unique); count++) unique = `${slug}-${count}`;
  taken.add(unique);
  return unique;
}

/** The target of a document's link on the site; undefined if the site does not show the target. */
export function linkTarget(href: string, file: string): string | undefined {
  if (href.startsWith("#") || /^(?:https?|mailto):/.test(href)) return href;
  if (/^[a-z][\w+.-]*:/i.test(href)) throw new Error(`${file} links to ${href}`);
  const [path = "", anchor] = href.split("#");
  const target = path.startsWith("/") ? path : posix.normalize(posix.join(posix.dirname(file), path));
  const shown = shownAs(target);
  return shown && shown.path + (anchor === undefined ? "" : `#${anchor}`);
}

const plain = (html: string): string => html.replaceAll(/<[^>]+>/g, "");

/** Turns a code span that names a page into a link; undefined for other code spans. */
function linkToPage(text: string): string | undefined {
  const shown = shownAs(text);
  return shown && `<a href="${shown.path}">${text.startsWith("/") ? escapeHtml(text) : escapeHtml(shown.title)}</a>`;
}

/**
 * Renders a document of the project as HTML. HTML in a document is shown as text, although the documents are trusted.
 * Links may lead to web pages, mail addresses and pages of the site. A link to any other file becomes plain text.
 */
export function renderMarkdown(markdown: string, file: string): string {
  const taken = new Set<string>();
  const sections: Section[] = [];
  let isInLink = false;
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const id = slugOf(unescapeHtml(plain(html)), taken);
        if (depth === 2) sections.push({ id, html });
        // The address of the page itself leads to its main heading.
        const anchor = depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${html}${anchor}</h${depth}>\n`;
      },
      codespan: ({ text }) => (isInLink ? undefined : linkToPage(text)) ?? `<code>${escapeHtml(text)}</code>`,
      link({ href, tokens, text }) {
        const address = linkTarget(href, file);
        const shown = address === undefined ? undefined : shownAs(posix.join("docs", posix.basename(href)));
        isInLink = true;
        // A file's name means nothing to a reader of the site.
        const html = /^`.*\.md`$/.test(text) && shown ? escapeHtml(shown.title) : this.parser.parseInline(tokens);
        isInLink = false;
        return address === undefined ? html : `<a href="${escapeHtml(address)}">${html}</a>`;
      },
      code: ({ text, lang }) =>
        `<pre tabindex="0"${lang ? ` data-language="${escapeHtml(lang)}"` : ""}><code>${escapeHtml(text)}\n</code></pre>\n`,
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: string): string =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`;
        const body = rows.map((row) => cells(row, "td")).join("\n");
        return `<div class="table" tabindex="0"><table>\n<thead>${cells(header, "th")}</thead>\n<tbody>\n${body}\n</tbody>\n</table></div>\n`;
      },
    },
  });
  return withSections(marked.parse(markdown, { async: false }), sections);
}

type Section = { id: string; html: string };

/** The heading of the section for operators, which is the last section of a page. */
export const operatorsHeading = "For operators";

const operatorsId = slugOf(operatorsHeading);

/** Pages with more sections than this get a table of contents. */
const fewSections = 4;

/** Adds a table of contents to a long page, and marks the section for operators. */
function withSections(html: string, sections: readonly Section[]): string {
  const [before, ...rest] = html.split(`<h2 id="${operatorsId}">`);
  const divided =
    rest.length === 0
      ? html
      : `${before}<section class="operators" aria-labelledby="${operatorsId}">\n<h2 id="${operatorsId}">${rest.join("")}</section>\n`;
  const [first] = sections;
  if (first === undefined || sections.length <= fewSections) return divided;
  const items = sections.map(({ id, html: title }) => `<li><a href="#${id}">${withoutLinks(title)}</a></li>`);
  const list = `<details class="sections">\n<summary>On this page</summary>\n<nav aria-label="On this page"><ul>\n${items.join("\n")}\n</ul></nav>\n</details>\n`;
  const start = divided.indexOf(first.id === operatorsId ? '<section class="operators"' : `<h2 id="${first.id}">`);
  return divided.slice(0, start) + list + divided.slice(start);
}

const withoutLinks = (html: string): string => html.replaceAll(/<\/?a\b[^>]*>/g, "");

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
const unescapeHtml = (html: string): string =>
  html.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (one) => entities[one] ?? one);

const ariaCurrent = (isHere: boolean): string => (isHere ? ' aria-current="page"' : "");

const linkTo = ({ name, title }: DocsPage, here: string): string =>
  `<li><a href="/docs/${name}"${ariaCurrent(name === here)}>${escapeHtml(title)}</a></li>`;

const groupOf = ({ title, pages }: (typeof groups)[number], here: string): string =>
  `<h2>${escapeHtml(title)}</h2>\n<ul>\n${pages.map((page) => linkTo(page, here)).join("\n")}\n</ul>`;

/**
 * Lays out a page of the site around its article. The page works without its script, and loads nothing from other
 * sites.
 */
export const layOut = ({ name, title }: Pick<DocsPage, "name" | "title">, article: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${productName} · ${escapeHtml(title)}</title>
    <link rel="icon" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/base.css" />
    <link rel="stylesheet" href="/docs/pages.css" />
    <script src="/docs/pages.js" type="module"></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to the text</a>
    <nav class="site" aria-label="Site">
      <strong>${productName}</strong>
      <a href="/docs/overview"${ariaCurrent(name === "overview")}>Docs</a>
      <a href="/docs">Reference</a>
      <a href="/docs/playground">Playground</a>
      <a href="/docs/errors"${ariaCurrent(name === "errors")}>Errors</a>
      <a href="/v1/public/openapi.json">OpenAPI document</a>
    </nav>
    <div class="columns">
      <details class="pages">
        <summary>All pages</summary>
        <nav aria-label="Pages">
${groups.map((group) => groupOf(group, name)).join("\n")}
        </nav>
      </details>
      <main id="content" tabindex="-1">
        <article>
${article}
        </article>
      </main>
    </div>
  </body>
</html>
`;
