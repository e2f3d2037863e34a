import { productName } from "../../shared/core/product.ts";
import { escapeHtml } from "../../shared/core/text.ts";
import { type DocsPage, groups, operatorGroups, operatorPages } from "./pages.ts";
import { familiesWithOperations } from "./reference/operations.ts";
import type { Heading } from "./render.ts";

const ariaCurrent = (isHere: boolean): string => (isHere ? ' aria-current="page"' : "");

/** A link in a list of pages. `note` is the HTTP method of an operation. */
export type NavLink = { path: string; title: string; note?: string };

function item({ path, title, note }: NavLink, here: string): string {
  const verb = note === undefined ? "" : `<span class="verb ${note.toLowerCase()}">${note}</span> `;
  const breakableTitle = escapeHtml(title).replaceAll(/[._]/g, "$&<wbr />");
  return `<li><a href="${path}"${ariaCurrent(path === here)}>${verb}<span>${breakableTitle}</span></a></li>`;
}

const listed = (links: readonly NavLink[], here: string): string =>
  `<ul>\n${links.map((link) => item(link, here)).join("\n")}\n</ul>`;

const linkTo = ({ name, title }: DocsPage): NavLink => ({ path: `/docs/${name}`, title });

const textNav = (shown: typeof groups, here: string): string =>
  shown.map(({ title, pages }) => `<h2>${escapeHtml(title)}</h2>\n${listed(pages.map(linkTo), here)}`).join("\n");

/** The list of the reference's families. The family of the current page also lists its operations. */
function referenceNav(here: string): string {
  const family = /^\/docs\/reference\/([a-z_0-9]+)/.exec(here)?.[1];
  const items = familiesWithOperations.map(({ name, title, operations }) => {
    const own = item({ path: `/docs/reference/${name}`, title }, here);
    if (name !== family) return own;
    const links = operations.map(({ id, method }) => ({
      path: `/docs/reference/${id}`,
      title: id.slice(name.length + 1) || id,
      note: method,
    }));
    return own.replace("</li>", `\n${listed(links, here)}\n</li>`);
  });
  return `<ul class="families">\n${item({ path: "/docs", title: "All operations" }, here)}\n${items.join("\n")}\n</ul>`;
}

/** The parts of the site. The part of a page decides its header and its list of pages. */
type SitePart = "docs" | "reference" | "playground" | "operate" | "none";

const mark = `<svg class="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M7.5 11.5 16 18.5l8.5-7M7.5 11.5v10M24.5 11.5v10"/></svg>`;

const header = (part: SitePart): string => `<header class="site">
      <a class="home" href="/docs">${mark} <strong>${productName}</strong></a>
      <nav aria-label="Site">
        <a href="/docs/overview"${ariaCurrent(part === "docs")}>Docs</a>
        <a href="/docs"${ariaCurrent(part === "reference")}>Reference</a>
        <a href="/docs/playground"${ariaCurrent(part === "playground")}>Playground</a>
        <a href="/docs/errors">Errors</a>
      </nav>
      <button type="button" class="find" id="find" hidden aria-haspopup="dialog"><span>Search</span> <kbd>Ctrl K</kbd></button>
    </header>`;

const footer = `<footer class="site-end">
      <nav aria-label="More">
        <a href="/docs/changelog">Changelog</a>
        <a href="/v1/public/openapi.json">OpenAPI document</a>
        <a href="/llms.txt">llms.txt</a>
        <a href="/docs/deploy">For operators</a>
      </nav>
    </footer>`;

const navs: Record<SitePart, (here: string) => string> = {
  docs: (here) => textNav(groups, here),
  operate: (here) => textNav(operatorGroups, here),
  reference: referenceNav,
  playground: () => "",
  none: (here) => textNav(groups, here),
};

/** A link to the previous or the next page. Without a page, an empty element that keeps the place of the link. */
const neighbourLink = (link: NavLink | undefined, rel: "prev" | "next"): string =>
  link === undefined
    ? "<span></span>"
    : `<a rel="${rel}" href="${link.path}"><small>${rel === "prev" ? "Previous" : "Next"}</small> ${escapeHtml(link.title)}</a>`;

/** The links to the previous and the next page in a list of pages. */
export function neighbourLinks(links: readonly NavLink[], here: string): string {
  const index = links.findIndex(({ path }) => path === here);
  const [before, after] = [links[index - 1], links[index + 1]];
  return index < 0 || (!before && !after)
    ? ""
    : `<nav class="turns" aria-label="Previous and next">${neighbourLink(before, "prev")}${neighbourLink(after, "next")}</nav>`;
}

const textLinks = (all: typeof groups): NavLink[] => all.flatMap(({ pages }) => pages.map(linkTo));

/** The part of the site to which a page of text belongs. */
export const sitePartOf = ({ name }: Pick<DocsPage, "name">): "docs" | "operate" =>
  operatorPages.some((page) => page.name === name) ? "operate" : "docs";

/** The links to the previous and the next page of text. */
export const neighbourPages = (page: DocsPage): string =>
  neighbourLinks(textLinks(sitePartOf(page) === "operate" ? operatorGroups : groups), `/docs/${page.name}`);

const withoutLinks = (html: string): string => html.replaceAll(/<\/?a\b[^>]*>/g, "");

/** The fewest sections of a page with a table of contents. */
const fewestSections = 3;

/**
 * The table of contents of a page. Empty for a page with few sections. The table is beside the text on wide screens,
 * and above the text on narrow screens.
 */
export function contentsOf(headings: readonly Heading[]): string {
  const sections = headings.filter(({ depth }) => depth === 2);
  if (sections.length < fewestSections) return "";
  const items = sections.map(({ id, html }) => `<li><a href="#${id}">${withoutLinks(html)}</a></li>`);
  return `<details class="contents">\n<summary>On this page</summary>\n<nav aria-label="On this page"><strong>On this page</strong><ul>\n${items.join("\n")}\n</ul></nav>\n</details>`;
}

type Page = {
  path: string;
  title: string;
  part: SitePart;
  /** A sentence about the page for search engines. */
  summary?: string;
  /** HTML. */
  article: string;
  /** HTML beside the article: the table of contents, or samples. */
  aside?: string;
  /** Whether the page also exists as Markdown, at its path with `.md`. */
  hasMarkdown?: boolean;
  /** The names of further scripts of the site. */
  scripts?: readonly string[];
  /** The names of further style sheets of the site. */
  styles?: readonly string[];
};

/** The CSS class of a page. The class decides the place of `aside`. */
function bodyClassOf(part: SitePart, aside: string): "plain" | "operation" | "text" {
  if (aside === "") return "plain";
  return part === "reference" ? "operation" : "text";
}

/**
 * Returns the HTML of a page of the site around its article. Every page except the playground works without scripts. No
 * page loads anything from other sites.
 */
export function layOut(page: Page): string {
  const { path, title, part, summary, article, aside = "", hasMarkdown = false, scripts = [], styles = [] } = page;
  const nav = navs[part](path);
  const beside = aside === "" ? "" : `<aside>${aside}</aside>\n`;
  const bodyClass = bodyClassOf(part, aside);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escapeHtml(title)} · ${productName}</title>${
      summary === undefined ? "" : `\n    <meta name="description" content="${escapeHtml(summary)}" />`
    }
    <link rel="icon" href="/docs/favicon.svg" type="image/svg+xml" />${
      hasMarkdown
        ? `\n    <link rel="alternate" type="text/markdown" href="${path === "/docs" ? "/docs/index" : path}.md" />`
        : ""
    }
${["base", "site", ...styles].map((name) => `    <link rel="stylesheet" href="/docs/${name}.css" />`).join("\n")}
${["site", ...scripts].map((name) => `    <script src="/docs/${name}.js" type="module"></script>`).join("\n")}
  </head>
  <body class="${bodyClass}">
    <a class="skip" href="#content">Skip to the text</a>
    ${header(part)}
    <div class="columns">
${
  nav === ""
    ? ""
    : `      <details class="pages">
        <summary>All pages</summary>
        <nav aria-label="Pages">
${nav}
        </nav>
      </details>
`
}      <main id="content" tabindex="-1">
${bodyClass === "text" ? beside : ""}<article>
${article}
</article>
${bodyClass === "operation" ? beside : ""}      </main>
    </div>
    ${footer}
  </body>
</html>
`;
}
