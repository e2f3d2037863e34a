import { docsPages } from "./pages.ts";
import { linkTarget } from "./render.ts";

/** Matches a block of code, a code span, or a link or picture with its text and its target. */
const codeOrLink =
  /^ *(?<fence>`{3,})[^]*?^ *\k<fence>|(?<ticks>`+)(?:(?!\n\s*\n)[^])*?[^`]\k<ticks>(?!`)|(?<mark>!?)\[(?<text>(?:[^[\]]|\[[^\]]*\])*)\]\((?<href>[^()\s]+)\)/gm;

const withMarkdown: ReadonlySet<string> = new Set(docsPages.map(({ name }) => `/docs/${name}`));

/** The address of the Markdown of a page. Another address stays as it is. */
function markdownAddress(address: string): string {
  const [path = "", anchor] = address.split("#");
  if (!withMarkdown.has(path) && !path.startsWith("/docs/reference/")) return address;
  return `${path}.md${anchor === undefined ? "" : `#${anchor}`}`;
}

/**
 * Rewrites the links of the document `file` for its page in Markdown. Links to pages lead to their Markdown. A link to
 * a file that the site does not show becomes plain text, as in HTML. A picture becomes its text, because the site shows
 * pictures only inside its HTML.
 */
export const withSiteLinks = (markdown: string, file: string): string =>
  markdown.replaceAll(codeOrLink, (whole: string, ...found: unknown[]) => {
    const { mark, text = "", href } = found.at(-1) as Partial<Record<string, string>>;
    if (href === undefined) return whole;
    if (mark === "!") return text;
    const target = linkTarget(href, file);
    return target ? `[${text}](${markdownAddress(target.address)})` : text;
  });
