import type { Catalogue } from "../catalogue/code-function.ts";
import { parametersOf } from "../catalogue/signature.ts";
import { among, noItem } from "../interpreter/value.ts";
import { nearest } from "../language/nearest.ts";
import { clip } from "../language/sentences.ts";
import type { Misstep } from "./shape.ts";

/** What a program may name where it stands: variables, those of its session that are gone, and functions. */
export type Known = { variables: Iterable<string>; gone: string | undefined; catalogue: Catalogue };

/** What is wrong with a name that no variable has; `members` are those that are read of it. */
export function noVariable(name: string, members: readonly string[], { variables, gone, catalogue }: Known): string {
  const sentence = `There is no variable ${clip(name)}.`;
  if (gone !== undefined) return `${sentence} ${gone}`;
  const dotted = [name, ...members.slice(0, 5)];
  const prefixes = dotted.map((_, place) => dotted.slice(0, dotted.length - place).join("."));
  const called = prefixes.find((prefix) => catalogue.has(prefix));
  if (called !== undefined) {
    return `${called} is a function: a call needs its arguments in brackets, \`${callOf(called, catalogue)}\`.`;
  }
  const meant = nearest(name, variables);
  if (meant !== undefined) return `${sentence} Did you mean ${meant}?`;
  const names = [...catalogue.keys()];
  const namespace = prefixes.find((prefix) => names.some((other) => other.startsWith(`${prefix}.`)));
  if (namespace === undefined) return `${sentence} Give it a value before this, or put text in quotes.`;
  const there = names.filter((other) => other.startsWith(`${namespace}.`));
  const likely = nearest(dotted.join("."), there) ?? there.find((other) => other.endsWith(".list")) ?? there[0] ?? "";
  return `${sentence} A call needs its arguments in brackets: \`${callOf(likely, catalogue)}\`.`;
}

/** A call with the names of the arguments it needs. */
function callOf(name: string, catalogue: Catalogue): string {
  const fn = catalogue.get(name);
  const needed = fn ? parametersOf(fn).filter(({ required }) => required) : [];
  return `${name}(${needed.map(({ name }) => `${name}=…`).join(", ")})`;
}

/** What is wrong with a step into a value, by a key as far as that is known; `of` is how the program calls the value. */
export function misstep(stepped: Misstep, key: string | number | undefined, of: string): string {
  const step = clip(String(key));
  if ("index" in stepped) return stepped.index;
  if ("length" in stepped) return noItem(of, stepped.length, step);
  if ("members" in stepped) return `${of} has no member ${step}.${among(String(key), stepped.members(), "members")}`;
  if (stepped.type === "list") return `${of} is a list: write ${of}[0].${step}, or [x.${step} for x in ${of}].`;
  const what = key === undefined ? "items" : `${typeof key === "number" ? "item" : "member"} ${step}`;
  return `${of} is a ${stepped.type}, which has no ${what}.`;
}
