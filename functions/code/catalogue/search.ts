import { closestName } from "../language/spelling.ts";
import type { Catalogue, CodeFunction } from "./function.ts";

const maxResults = 10;
/** The number of words of a query that are searched for. */
const searchedWords = 12;

/** What a word in each part of a function's description weighs. */
const weights = { name: 5, summary: 3, synonyms: 3, parameters: 0.5, description: 0.5 };
type IndexedPart = keyof typeof weights;
/** BM25's k1. Its b is 0: a long list of synonyms makes none of them worth less. */
const saturation = 1.2;
/** What a longer word that begins with the sought word, and a similar word, count of an exact match. */
const [beginning, misspelt] = [0.5, 0.8];

const ignored = new Set(["a", "an", "and", "for", "in", "is", "of", "the", "to"]);

/** The words of a text without endings of plurals and verbs: `stopped` and `stops` are `stop`. */
const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((word) => !ignored.has(word)).map(stemOf));

const stemOf = (word: string): string =>
  word
    .replace(/ies$/, "y")
    .replace(/(?<=...)(?:ing|ed|es|s)$/, "")
    .replace(/(?<=..)([^aeiouy])\1$/, "$1")
    .replace(/(?<=...)e$/, "")
    .replace(/y$/, "i");

/** The weight of each word by function. */
type Index = ReadonlyMap<string, ReadonlyMap<CodeFunction, number>>;
const cache = new WeakMap<Catalogue, Index>();

/**
 * Finds the ten functions that match a query best, by BM25.
 * - Best match first; equal matches keep the catalogue's order.
 * - A word also matches longer words that begin with it. If there is none, it matches the most similar word with its first letter.
 * - Only the first twelve words are searched for.
 */
export function searchFunctions(catalogue: Catalogue, query: string): CodeFunction[] {
  const index = indexOf(catalogue);
  const ranks = [...wordsOf(query)].slice(0, searchedWords).map((word) => ranksOf(word, index, catalogue.size));
  return [...catalogue.values()]
    .map((fn) => ({ fn, rank: ranks.reduce((sum, rank) => sum + (rank.get(fn) ?? 0), 0) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, maxResults)
    .map(({ fn }) => fn);
}

function indexOf(catalogue: Catalogue): Index {
  const cached = cache.get(catalogue);
  if (cached) return cached;
  const index = new Map<string, Map<CodeFunction, number>>();
  for (const fn of catalogue.values()) {
    for (const [part, text] of Object.entries(textsOf(fn))) {
      const words = wordsOf(text);
      // A word is more of a short name than of a long one.
      const weight = weights[part as IndexedPart] / (part === "name" ? Math.sqrt(words.size) : 1);
      for (const word of words) {
        const found = index.get(word) ?? new Map<CodeFunction, number>();
        index.set(word, found.set(fn, (found.get(fn) ?? 0) + weight));
      }
    }
  }
  cache.set(catalogue, index);
  return index;
}

const textsOf = ({ route, argumentParts }: CodeFunction): Record<IndexedPart, string> => ({
  name: route.name,
  summary: route.summary,
  synonyms: route.synonyms.join(" "),
  parameters: [...argumentParts.keys()].join(" "),
  description: route.description,
});

/** What a word of the query adds to the rank of each function: its best match there. */
function ranksOf(word: string, index: Index, size: number): Map<CodeFunction, number> {
  const ranks = new Map<CodeFunction, number>();
  for (const { match, share } of matchesOf(word, index)) {
    const found = index.get(match) ?? new Map<CodeFunction, number>();
    const rarity = Math.log(1 + (size - found.size + 0.5) / (found.size + 0.5));
    for (const [fn, weight] of found) {
      const rank = (share * rarity * weight) / (weight + saturation);
      ranks.set(fn, Math.max(rank, ranks.get(fn) ?? 0));
    }
  }
  return ranks;
}

function matchesOf(word: string, index: Index): { match: string; share: number }[] {
  // A first letter is rarely wrong, and comparing all words would take 20 times as long.
  const words = [...index.keys()].filter((other) => other.startsWith(word.charAt(0)));
  const begun = words.filter((other) => other === word || (word.length > 2 && other.startsWith(word)));
  if (begun.length > 0) return begun.map((match) => ({ match, share: match === word ? 1 : beginning }));
  const similar = word.length > 4 ? closestName(word, words) : undefined;
  return similar === undefined ? [] : [{ match: similar, share: misspelt }];
}
