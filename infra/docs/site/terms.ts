import type MiniSearch from "minisearch";

/** Words that say nothing about a page. */
const fillers = new Set(
  "a an and are as at be by can do does for from get has have how i if in is it its my of on or our that the there this to use we what when where which who why will with you your".split(
    " ",
  ),
);

/**
 * The form of a word in the search index: in lower case and in the singular. Null for a word that says nothing about a
 * page.
 */
export function termOf(word: string): string | null {
  const lower = word.toLowerCase();
  if (lower === "" || fillers.has(lower)) return null;
  if (lower.length > 4 && lower.endsWith("ies")) return `${lower.slice(0, -3)}y`;
  if (lower.length > 4 && /(?:[sx]|ch|sh)es$/.test(lower)) return lower.slice(0, -2);
  return lower.length > 3 && lower.endsWith("s") && !lower.endsWith("ss") ? lower.slice(0, -1) : lower;
}

/** The weight of a match in each member of an index entry. */
const weights = { title: 6, section: 5, names: 3, text: 1 };

/** The words of a text. A name of several words, such as `mailboxes.add` or `If-Match`, is also one word. */
const wordsOf = (text: string): string[] => [
  ...text.split(/[\n\r\p{Z}\p{P}]+/u),
  ...(text.match(/[\p{L}\p{N}]+(?:[._-][\p{L}\p{N}]+)+/gu) ?? []),
];

/** The settings of the index, which the build and the page share. */
export const indexOptions = {
  fields: ["title", "section", "names", "text"],
  storeFields: ["title", "section", "path", "kind"],
  tokenize: wordsOf,
  processTerm: termOf,
};

/** An index entry in the result of a search. */
export type SearchResult = { id: number; title: string; section: string; path: string; kind: string };

/**
 * The weight of an index entry. Operations and families have the largest weight. Pages for operators and the changelog
 * have the smallest.
 */
function weightOf({ kind, path }: SearchResult): number {
  if (path.startsWith("/docs/reference/")) return 1.5;
  return kind === "Operators" || path.startsWith("/docs/changelog") ? 0.35 : 1;
}

const shownResults = 12;

/** Replaces some words that readers search for, but that the site does not use, by the words of the site. */
const inOurWords = (words: string): string =>
  words.replaceAll(/\bsdks?\b/gi, "client").replaceAll(/\bapi[ -]?keys?\b/gi, "service account token");

/**
 * The best results for some words, the best first. A search word also matches longer words that begin with it, and
 * words with a small spelling mistake.
 */
export const bestResults = (index: MiniSearch<SearchResult>, words: string): SearchResult[] =>
  index
    .search(inOurWords(words), {
      boost: weights,
      boostDocument: (_, __, stored) => weightOf(stored as SearchResult),
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    })
    .slice(0, shownResults) as unknown as SearchResult[];
