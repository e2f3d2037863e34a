import { readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";

import { Marked, type Tokens } from "marked";

import { escapeHtml } from "../../shared/core/text.ts";
import { highlight } from "./highlight.ts";
import { pageShowing } from "./pages.ts";

const root = resolve(import.meta.dirname, "../..");

/**
 * Returns the anchor of a heading, and adds the anchor to `taken`, the anchors of the page. GitHub gives the heading
 * the same anchor, so links work on both sites.
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

/**
 * The address on the site for a link in the document `file`, and the title of the linked page. Anchors, web addresses
 * and mail addresses stay as they are, without a title. Undefined if the site does not show the target. Throws for any
 * other scheme, such as `javascript:`.
 */
export function linkTarget(href: string, file: string): { address: string; title?: string } | undefined {
  if (href.startsWith("#") || /^(?:https?|mailto):/.test(href)) return { address: href };
  if (/^[a-z][\w+.-]*:/i.test(href))
    throw new Error(`${file} links to ${href}. A link can only have the scheme http, https or mailto.`);
  const [path = "", anchor] = href.split("#");
  const target = path.startsWith("/") ? path : posix.normalize(posix.join(posix.dirname(file), path));
  const shown = pageShowing(target);
  return shown && { address: shown.path + (anchor === undefined ? "" : `#${anchor}`), title: shown.title };
}

const plain = (html: string): string => html.replaceAll(/<[^>]+>/g, "");

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
const unescapeHtml = (html: string): string =>
  html.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (one) => entities[one] ?? one);

/** The text of HTML, without tags. */
export const textOf = (html: string): string => unescapeHtml(plain(html)).replaceAll(/\s+/g, " ").trim();

/** The link for a code span that names a page or an operation. Undefined for other code spans. */
function linkToPage(text: string): string | undefined {
  const shown = pageShowing(text);
  if (!shown) return undefined;
  if (shown.title === text) return `<a href="${shown.path}"><code>${escapeHtml(text)}</code></a>`;
  return `<a href="${shown.path}">${escapeHtml(text.startsWith("/") ? text : shown.title)}</a>`;
}

/**
 * The languages that become tabs, by their names in a code fence. If a reader chooses a tab, the browser's storage
 * keeps the tab's `key`.
 */
const tabLanguages: Record<string, { key: string; label: string }> = {
  sh: { key: "curl", label: "curl" },
  ts: { key: "typescript", label: "TypeScript" },
  python: { key: "python", label: "Python" },
  cli: { key: "cli", label: "Command" },
  "code-mode": { key: "code-mode", label: "Code mode" },
};

/** A block of code. The page's script adds a button that copies the code. */
export const codeBlock = (code: string, language = ""): string =>
  `<pre tabindex="0"${language ? ` data-language="${escapeHtml(language)}"` : ""}><code>${highlight(code, language)}\n</code></pre>\n`;

/**
 * The same program in several languages. The page's script turns the languages into tabs. Without the script, all
 * languages are shown.
 */
export const languageTabs = (samples: readonly { key: string; label: string; html: string }[]): string =>
  `<div class="tabs">\n${samples
    .map(({ key, label, html }) => `<section data-tab="${key}"><h4>${escapeHtml(label)}</h4>\n${html}</section>`)
    .join("\n")}\n</div>\n`;

/**
 * A picture of the project as inline SVG in the colours of the page. The colours in the file are for GitHub, and are
 * removed.
 */
function picture(href: string, file: string, alt: string): string {
  const path = posix.normalize(posix.join(posix.dirname(file), href));
  if (!/^docs\/(?:images|benchmarks)\/[a-z-]+\.svg$/.test(path))
    throw new Error(`${file} shows ${href}. A picture must be an SVG file in docs/images or docs/benchmarks.`);
  const svg = readFileSync(join(root, path), "utf8").replace(/<style>[^]*?<\/style>\s*/, "");
  // A chart has no title of its own, but the other pictures have a title.
  const named = svg.includes("<title") ? svg : svg.replace("<svg ", `<svg role="img" aria-label="${escapeHtml(alt)}" `);
  return `<span class="picture" tabindex="0">${named.trim()}</span>`;
}

/** A heading of a page. */
export type Heading = { id: string; depth: number; html: string };

/** A heading with its anchor. The main heading needs no anchor, because the page's address leads to it. */
function headingHtml({ id, depth, html }: Heading): string {
  const heading = `<h${depth} id="${id}">${html}</h${depth}>`;
  if (depth === 1) return `${heading}\n`;
  const label = escapeHtml(`Link to: ${textOf(html)}`);
  return `<div class="heading">${heading}<a class="anchor" href="#${id}" aria-label="${label}">#</a></div>\n`;
}

type Rendered = { html: string; headings: readonly Heading[] };

/**
 * Groups code blocks that directly follow each other in different languages of `tabLanguages`. Each group becomes
 * one token of the type `tabs`.
 */
function groupTabs(tokens: Tokens.Generic[]): Tokens.Generic[] {
  const grouped: Tokens.Generic[] = [];
  for (const token of tokens) {
    const last = grouped.findLast(({ type }) => type !== "space");
    const key = token.type === "code" ? tabLanguages[String(token["lang"])] : undefined;
    const isNext = last?.type === "tabs" && !last["codes"].some((code: Tokens.Code) => code.lang === token["lang"]);
    if (key && isNext) last["codes"].push(token);
    else grouped.push(key ? { type: "tabs", raw: token.raw, codes: [token] } : token);
  }
  return grouped;
}

const tabsExtension = {
  name: "tabs",
  renderer({ codes }: Tokens.Generic): string {
    const [only, ...more] = codes as Tokens.Code[];
    if (only && more.length === 0) return codeBlock(only.text, only.lang);
    return languageTabs(
      (codes as Tokens.Code[]).map(({ text, lang = "" }) => ({
        ...(tabLanguages[lang] ?? { key: lang, label: lang }),
        html: codeBlock(text, lang),
      })),
    );
  },
};

/**
 * Renders a document of the project as HTML, and lists its headings. HTML in a document is shown as text. Links may
 * lead to web pages, mail addresses and pages of the site. A link to any other file becomes plain text.
 */
export function renderMarkdown(markdown: string, file: string): Rendered {
  const taken = new Set<string>();
  const headings: Heading[] = [];
  // The number of headings and links around the present text. Inside of them, a code span does not become a link.
  let around = 0;
  const withoutLinks = (render: () => string): string => {
    around += 1;
    const rendered = render();
    around -= 1;
    return rendered;
  };
  const marked = new Marked({
    gfm: true,
    extensions: [tabsExtension],
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
      image: ({ href, text }) => picture(href, file, text),
      heading({ tokens, depth }) {
        const html = withoutLinks(() => this.parser.parseInline(tokens));
        const id = slugOf(unescapeHtml(plain(html)), taken);
        headings.push({ id, depth, html });
        return headingHtml({ id, depth, html });
      },
      codespan: ({ text }) => (around > 0 ? undefined : linkToPage(text)) ?? `<code>${escapeHtml(text)}</code>`,
      link({ href, tokens, text }) {
        const target = linkTarget(href, file);
        // The title of the page replaces the name of a file, because the name means nothing to a reader of the site.
        const title = /^`.*\.md`$/.test(text) ? target?.title : undefined;
        const html = title === undefined ? withoutLinks(() => this.parser.parseInline(tokens)) : escapeHtml(title);
        return target ? `<a href="${escapeHtml(target.address)}">${html}</a>` : html;
      },
      code: ({ text, lang }) => codeBlock(text, lang),
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: string, heads: readonly string[] = []): string =>
          `<tr>${row
            .map(({ tokens, text }, index) => {
              const head = index > 0 && text !== "" ? heads[index] : undefined;
              const label = head ? ` data-head="${escapeHtml(head)}"` : "";
              return `<${tag}${label}>${this.parser.parseInline(tokens)}</${tag}>`;
            })
            .join("")}</tr>`;
        // On a phone, the cells of a row are below each other. Each cell shows the head of its column.
        const heads = header.length > 1 ? header.map(({ tokens }) => textOf(this.parser.parseInline(tokens))) : [];
        const body = rows.map((row) => cells(row, "td", heads)).join("\n");
        return `<div class="table" tabindex="0"><table>\n<thead>${cells(header, "th")}</thead>\n<tbody>\n${body}\n</tbody>\n</table></div>\n`;
      },
    },
  });
  return { html: marked.parser(groupTabs(marked.lexer(markdown))), headings };
}

/**
 * Renders Markdown without headings, such as a description in the OpenAPI document. Names of operations become links.
 */
export const renderText = (markdown: string): string => renderMarkdown(markdown, "docs/text.md").html.trim();

/** Renders one paragraph of Markdown without its `<p>`. */
export const renderLine = (markdown: string): string => {
  const html = renderText(markdown);
  return /^<p>(?![^]*<p>)([^]*)<\/p>$/.exec(html)?.[1] ?? html;
};

/** A part of a page for the search: its heading, anchor, and text. */
export type Section = { id: string; heading: string; text: string };

/** The sections of a rendered page: one before the first heading of depth 2 or 3, and one for each such heading. */
export function sectionsOf(html: string): Section[] {
  const parts = html.split(/(?=<div class="heading"><h[23])/);
  return parts.map((part) => {
    const [headingPart = "", id = "", heading = ""] =
      /^<div class="heading"><h[23] id="([^"]+)">([^]*?)<\/h[23]><a[^]*?<\/div>/.exec(part) ?? [];
    // A space separates the texts of two blocks, such as two cells of a table, or of two lines.
    const spaced = part.slice(headingPart.length).replaceAll(/<\/?(?:p|br|li|td|th|tr|div|dd|dt|pre)\b/g, " $&");
    return { id, heading: textOf(heading), text: textOf(spaced) };
  });
}
