import { closestName } from "../language/spelling.ts";
import type { Catalogue, CodeFunction } from "./function.ts";

const shown = 10;
/** What a word of the query counts where it is found, and how much of that where it only begins a word, or is misspelt. */
const weights = { name: 8, summary: 3, parameters: 1, description: 1 };
const [beginning, misspelt] = [0.6, 0.4];

/** How many words of a query are looked for. */
export const searchedWords = 8;

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
const singular = (one: string): string => one.replace(/(?<=..)(es|s)$/, "");

/** The words of one part of a function, as they are and without what makes them plurals. */
type Words = { words: string[]; singulars: Set<string> };
type Indexed = Record<keyof typeof weights, Words>;
const indexed = new WeakMap<CodeFunction, Indexed>();

/**
 * The functions that a query's words fit best, best first; equals in the catalogue's order, those without a hit left out.
 * Looks for the first eight words.
 */
export function searchFunctions(catalogue: Catalogue, query: string): CodeFunction[] {
  const words = [...new Set(wordsIn(query))].slice(0, searchedWords);
  return [...catalogue.values()]
    .map((fn) => ({ fn, rank: words.reduce((sum, word) => sum + rankOf(word, indexOf(fn)), 0) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, shown)
    .map(({ fn }) => fn);
}

function indexOf(fn: CodeFunction): Indexed {
  const known = indexed.get(fn);
  if (known) return known;
  const { route, places } = fn;
  const made = {
    name: wordsOf(route.name),
    summary: wordsOf(route.summary),
    parameters: wordsOf([...places.keys()].join(" ")),
    description: wordsOf(route.description),
  };
  indexed.set(fn, made);
  return made;
}

function wordsOf(text: string): Words {
  const words = [...new Set(wordsIn(text))];
  return { words, singulars: new Set(words.map(singular)) };
}

function rankOf(word: string, index: Indexed): number {
  return Object.entries(index).reduce((sum, [part, words]) => {
    // A name that says little else fits better.
    const share = part === "name" ? Math.sqrt(words.words.length) : 1;
    return sum + (weights[part as keyof typeof weights] * fit(word, words, part === "name")) / share;
  }, 0);
}

/** 1 where the word is there; a plural counts as the word itself. Only names are looked through for a misspelt one. */
function fit(word: string, { words, singulars }: Words, isName: boolean): number {
  if (singulars.has(singular(word))) return 1;
  if (word.length > 2 && words.some((other) => other.startsWith(word))) return beginning;
  return isName && word.length > 4 && closestName(word, words) !== undefined ? misspelt : 0;
}
