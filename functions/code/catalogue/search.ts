import { closestName } from "../language/spelling.ts";
import type { Catalogue, CodeFunction } from "./function.ts";

const maxResults = 10;
/** The largest number of different words of a query that are searched for. */
const maxSearchedWords = 12;

/** The weight of a word, by the part of the function in which it occurs. */
const weights = { name: 5, summary: 3, synonyms: 3, parameters: 0.5, description: 0.5 };
type IndexedPart = keyof typeof weights;
/**
 * The constant k1 of BM25. The constant b is 0, so that a synonym counts the same in a short and in a long list of
 * synonyms.
 */
const saturation = 1.2;
/**
 * The weights of the two inexact matches, as shares of the weight of an exact match:
 * - `prefixShare`: a longer word that begins with the word of the query
 * - `similarShare`: a similar word
 */
const [prefixShare, similarShare] = [0.5, 0.8];

const ignoredWords = new Set(["a", "an", "and", "for", "in", "is", "of", "the", "to"]);

/** The stems of the words of a text: `stopped` and `stops` become `stop`. Words such as `the` are left out. */
const stemsIn = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((word) => !ignoredWords.has(word)).map(stemOf));

const stemOf = (word: string): string =>
  word
    .replace(/ies$/, "y")
    .replace(/(?<=...)(?:ing|ed|es|s)$/, "")
    .replace(/(?<=..)([^aeiouy])\1$/, "$1")
    .replace(/(?<=...)e$/, "")
    .replace(/y$/, "i");

/** The weight of each word in each function that has the word. */
type Index = ReadonlyMap<string, ReadonlyMap<CodeFunction, number>>;
const cache = new WeakMap<Catalogue, Index>();

/**
 * Finds at most ten functions that match a query, by BM25.
 * - The best match is first. Equal matches keep the catalogue's order.
 * - A stem of three or more letters also matches longer words that begin with it.
 * - If a stem of five or more letters matches nothing, the most similar word with the same first letter is its match.
 * - Only the first twelve different words of the query are searched for. Words such as `the` do not count.
 */
export function searchFunctions(catalogue: Catalogue, query: string): CodeFunction[] {
  const index = indexOf(catalogue);
  const ranks = [...stemsIn(query)].slice(0, maxSearchedWords).map((word) => ranksOf(word, index, catalogue.size));
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
      const words = stemsIn(text);
      // A word says more about a function whose name has few words.
      const weight = weights[part as IndexedPart] / (part === "name" ? Math.sqrt(words.size) : 1);
      for (const word of words) {
        const functionWeights = index.get(word) ?? new Map<CodeFunction, number>();
        functionWeights.set(fn, (functionWeights.get(fn) ?? 0) + weight);
        index.set(word, functionWeights);
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

/** The rank that a word of the query gives to each function, by the word's best match in the function. */
function ranksOf(word: string, index: Index, functionCount: number): Map<CodeFunction, number> {
  const ranks = new Map<CodeFunction, number>();
  for (const { match, share } of matchesOf(word, index)) {
    const matching = index.get(match) ?? new Map<CodeFunction, number>();
    const rarity = Math.log(1 + (functionCount - matching.size + 0.5) / (matching.size + 0.5));
    for (const [fn, weight] of matching) {
      const rank = (share * rarity * weight) / (weight + saturation);
      ranks.set(fn, Math.max(rank, ranks.get(fn) ?? 0));
    }
  }
  return ranks;
}

function matchesOf(word: string, index: Index): { match: string; share: number }[] {
  // Only words with the same first letter are compared: a first letter is rarely wrong, and comparing all words would
  // take 20 times as long.
  const candidates = [...index.keys()].filter((other) => other.startsWith(word.charAt(0)));
  const sameOrLonger = candidates.filter((other) => other === word || (word.length > 2 && other.startsWith(word)));
  if (sameOrLonger.length > 0) return sameOrLonger.map((match) => ({ match, share: match === word ? 1 : prefixShare }));
  const similar = word.length > 4 ? closestName(word, candidates) : undefined;
  return similar === undefined ? [] : [{ match: similar, share: similarShare }];
}
