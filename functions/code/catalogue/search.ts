import { closestName } from "../language/spelling.ts";
import type { Catalogue, CodeFunction } from "./function.ts";

const maxResults = 10;
/**
 * The weight of a match in each part of a function. A match of only the beginning of a word, or of a similar word,
 * counts a fraction of it.
 */
const weights = { name: 8, summary: 3, parameters: 1, description: 1 };
const [beginning, misspelt] = [0.6, 0.4];

/** The number of words of a query that are searched for. */
const searchedWords = 8;

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
const singular = (one: string): string => one.replace(/(?<=..)(es|s)$/, "");

/** The words of one part of a function, as written and in the singular. */
type Words = { words: string[]; singulars: Set<string> };
type Indexed = Record<keyof typeof weights, Words>;
const cache = new WeakMap<CodeFunction, Indexed>();

/**
 * Finds the functions that match a query best.
 * - Best match first; equal matches keep the catalogue's order.
 * - Functions without a match are left out.
 * - Only the first eight words are searched for.
 */
export function searchFunctions(catalogue: Catalogue, query: string): CodeFunction[] {
  const words = [...new Set(wordsIn(query))].slice(0, searchedWords);
  return [...catalogue.values()]
    .map((fn) => ({ fn, rank: words.reduce((sum, word) => sum + rankOf(word, indexOf(fn)), 0) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, maxResults)
    .map(({ fn }) => fn);
}

function indexOf(fn: CodeFunction): Indexed {
  const cached = cache.get(fn);
  if (cached) return cached;
  const { route, argumentParts } = fn;
  const index = {
    name: wordsOf(route.name),
    summary: wordsOf(route.summary),
    parameters: wordsOf([...argumentParts.keys()].join(" ")),
    description: wordsOf(route.description),
  };
  cache.set(fn, index);
  return index;
}

function wordsOf(text: string): Words {
  const words = [...new Set(wordsIn(text))];
  return { words, singulars: new Set(words.map(singular)) };
}

function rankOf(word: string, index: Indexed): number {
  return Object.entries(index).reduce((sum, [part, words]) => {
    // A short name that matches is a better hit than a long one.
    const share = part === "name" ? Math.sqrt(words.words.length) : 1;
    return sum + (weights[part as keyof typeof weights] * matchScore(word, words, part === "name")) / share;
  }, 0);
}

/**
 * Scores a word from 0 to 1, where 1 is an exact match. A plural equals its singular. Only names tolerate misspelling.
 */
function matchScore(word: string, { words, singulars }: Words, isName: boolean): number {
  if (singulars.has(singular(word))) return 1;
  if (word.length > 2 && words.some((other) => other.startsWith(word))) return beginning;
  return isName && word.length > 4 && closestName(word, words) !== undefined ? misspelt : 0;
}
