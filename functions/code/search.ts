import type { Catalogue, CodeFunction } from "./code-function.ts";
import { nearest } from "./nearest.ts";

const shown = 10;
/** What a word of the query counts where it is found, and how much of that where it only begins a word, or is misspelt. */
const weights = { name: 8, summary: 3, parameters: 1, description: 1 };
const [beginning, misspelt] = [0.6, 0.4];

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

/** The functions that a query's words fit best, best first; equals in the catalogue's order, those without a hit left out. */
export function searchFunctions(catalogue: Catalogue, query: string): CodeFunction[] {
  const words = [...new Set(wordsIn(query))];
  return [...catalogue.values()]
    .map((fn) => ({ fn, rank: words.reduce((sum, word) => sum + rankOf(word, fn), 0) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, shown)
    .map(({ fn }) => fn);
}

function rankOf(word: string, { route, places }: CodeFunction): number {
  const texts = {
    name: route.name,
    summary: route.summary,
    parameters: [...places.keys()].join(" "),
    description: route.description,
  };
  return Object.entries(texts).reduce((sum, [part, text]) => {
    const words = wordsIn(text);
    // A name that says little else fits better.
    const share = part === "name" ? Math.sqrt(words.length) : 1;
    return sum + (weights[part as keyof typeof weights] * fit(word, words)) / share;
  }, 0);
}

const singular = (one: string): string => one.replace(/(?<=..)(es|s)$/, "");

/** 1 where the word is there; a plural counts as the word itself. */
function fit(word: string, words: readonly string[]): number {
  if (words.some((other) => singular(other) === singular(word))) return 1;
  if (word.length > 2 && words.some((other) => other.startsWith(word))) return beginning;
  return word.length > 4 && nearest(word, words) !== undefined ? misspelt : 0;
}
