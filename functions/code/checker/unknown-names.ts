import type { Catalogue } from "../catalogue/function.ts";
import { parametersOf, signatureOf } from "../catalogue/signature.ts";
import { formOf } from "../interpreter/builtin.ts";
import { builtinMethods, builtins, missingBuiltins, missingModules } from "../interpreter/builtins.ts";
import { type InvalidAccess, isPage, type StaticType } from "../interpreter/types.ts";
import { didYouMean, listHasNoMember, pageHasNoIndex } from "../interpreter/values.ts";
import type { Call } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { methodHintOf } from "../language/hints.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";

/** Frequent verbs of this API's function names, each with the verbs that other APIs use for the same action. */
const verbs: readonly (readonly [string, readonly string[]])[] = [
  ["add", ["create", "new", "insert", "post", "register", "connect"]],
  ["create", ["add", "new", "insert"]],
  ["get", ["fetch", "read", "show", "describe", "find", "retrieve", "info", "status"]],
  ["list", ["all", "index", "query", "find", "search", "get", "get_all", "list_all"]],
  ["update", ["edit", "modify", "patch", "set", "rename", "change", "put"]],
  ["delete", ["remove", "destroy", "drop", "del"]],
  ["submit", ["add", "create", "send"]],
];

/** The longest name, in characters, for which similar functions are searched. */
const searchedChars = 100;

/** The diagnostic for a call to an unknown function. It suggests the intended function or similar functions. */
export function unknownFunction(call: Call, catalogue: Catalogue, isVariable: (name: string) => boolean): Diagnostic {
  const { name, at } = call;
  const diagnostic = { code: "unknown_function", at };
  const [root = "", ...members] = name.split(".");
  if (members.length > 0 && isVariable(root)) {
    const of = clip([root, ...members.slice(0, -1)].join("."));
    const last = members.at(-1) ?? "";
    const method = builtinMethods.get(last);
    const message = method
      ? `${of} is a value, not a function. Call its method as ${formOf(method)}, without names for the arguments.`
      : methodHintOf(last, of, builtinMethods.keys());
    return { ...diagnostic, message };
  }
  const pythonHint = missingBuiltins.get(name) ?? (members.length > 0 ? missingModules.get(root) : undefined);
  if (pythonHint !== undefined) return { ...diagnostic, message: pythonHint };
  const sentence = `There is no function ${clip(name)}.`;
  if (name.length > searchedChars) return { ...diagnostic, message: `${sentence} ${searchHint}` };
  const meant = intendedFunction(name, [...catalogue.keys()]);
  if (meant !== undefined) return { ...diagnostic, message: `${sentence} Did you mean ${meant}?`, function: meant };
  return { ...diagnostic, message: `${sentence} ${suggestions(name, catalogue)}` };
}

const namespaceOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf(".")));
const verbOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
const toSnakeCase = (name: string): string =>
  name.replace(/[a-z][A-Z]/g, (pair) => `${pair.charAt(0)}_${pair.charAt(1)}`).toLowerCase();

/** The function that the program probably means by `name`; undefined if no function is similar enough. */
function intendedFunction(name: string, names: readonly string[]): string | undefined {
  const plain = toSnakeCase(name);
  // A misspelt name.
  const close = closestName(plain, names);
  if (close !== undefined) return close;
  // A name with one part too many in front: `api.domains.list`.
  const [, inner] = /^[^.]+\.(.+\..+)$/.exec(plain) ?? [];
  const withoutFirst = inner === undefined ? undefined : closestName(inner, names);
  if (withoutFirst !== undefined) return withoutFirst;
  // A name with a similar namespace, or with some words of a namespace, such as `dns.create`. Its verb is a verb of the
  // namespace, or a verb of another API for the same action.
  const namespace = closestName(namespaceOf(plain), new Set(names.map(namespaceOf)));
  const siblings = names.filter((candidate) => namespaceOf(candidate) === namespace);
  const verb = verbOf(plain);
  const found = withVerb(verb, siblings) ?? withVerb(verb, ofNamespacesWith(namespaceOf(plain), names));
  if (found !== undefined) return found;
  // A verb that only one function has.
  const [only, ...others] = names.filter((candidate) => verbOf(candidate) === verb);
  if (only !== undefined && others.length === 0) return only;
  // Matches the words of a function in any order: `workspaces_add`, `add_workspace`, `createWorkspace`.
  const words = wordsOf(plain);
  return names.find((candidate) => {
    const ours = wordsOf(candidate);
    return ours.length === words.length && ours.every((word) => words.some((written) => meansSame(word, written)));
  });
}

/**
 * The first of the functions `names` that ends with this verb or, if there is none, with our verb for the same action.
 */
const withVerb = (verb: string, names: readonly string[]): string | undefined =>
  names.find((name) => verbOf(name) === verb) ??
  names.find((name) => verbs.some(([ours, others]) => ours === verbOf(name) && others.includes(verb)));

/**
 * The functions of all namespaces that contain every word of `namespace`. For example, `dns_records` contains the word
 * `dns`. Namespaces with the fewest other words come first.
 */
function ofNamespacesWith(namespace: string, names: readonly string[]): string[] {
  const words = wordsOf(namespace).filter((word) => word !== "");
  const theirs = (name: string): string[] => wordsOf(namespaceOf(name));
  return names
    .filter((name) => words.length > 0 && words.every((word) => theirs(name).some((other) => isSameWord(word, other))))
    .toSorted((a, b) => theirs(a).length - theirs(b).length);
}

/** Whether two words are equal, or differ only by the `s` of a plural. */
const isSameWord = (one: string, other: string): boolean => one === other || `${one}s` === other || one === `${other}s`;

const wordsOf = (name: string): string[] => name.split(/[._]+/);
/**
 * Whether a word of a function's name (`ours`) means the same as a word that the program writes. `ours` is then the
 * same word, its plural, or our verb for the verb of another API.
 */
const meansSame = (ours: string, written: string): boolean =>
  ours === written ||
  ours === `${written}s` ||
  ours === `${written}es` ||
  verbs.some(([verb, others]) => verb === ours && others.includes(written));

const searchHint = 'functions.search(query="…") finds functions.';

const knownVerbs = new Set(verbs.flatMap(([ours, others]) => [ours, ...others]));

/**
 * Suggests the functions of the closest namespace, with their arguments. If no namespace is close, suggests functions
 * that share a word with the name.
 */
function suggestions(name: string, catalogue: Catalogue): string {
  const names = [...catalogue.keys()];
  const namespace = closestName(namespaceOf(name), new Set(names.map(namespaceOf)));
  const members = [...catalogue.values()].filter(({ route }) => namespaceOf(route.name) === namespace);
  if (members.length > 0)
    return `The functions of ${namespace} are: ${members.map((fn) => signatureOf(fn)).join(", ")}.`;
  const words = wordsOf(toSnakeCase(name)).filter((word) => word.length > 2 && !knownVerbs.has(word));
  const related = names.filter((candidate) => words.some((word) => candidate.includes(word.replace(/s$/, ""))));
  return related.length > 0 ? `Similar functions are: ${related.slice(0, 20).join(", ")}.` : searchHint;
}

/**
 * The variables and functions in scope. `gone` is the reason why the session dropped the unknown variable; undefined if
 * the session did not drop it.
 */
type NamesInScope = { variables: Iterable<string>; gone: string | undefined; catalogue: Catalogue };

/**
 * The message for an unknown variable. `members` are the members that the program reads from the variable, such as
 * `list` in `workspaces.list`.
 */
export function noVariable(
  name: string,
  members: readonly string[],
  { variables, gone, catalogue }: NamesInScope,
): string {
  const sentence = `There is no variable ${clip(name)}.`;
  if (gone !== undefined) return `${sentence} ${gone}`;
  const builtin = builtins.get(name);
  if (builtin) return `${name} is a built-in function: call it as ${formOf(builtin)}.`;
  const dotted = [name, ...members.slice(0, 5)];
  const prefixes = dotted.map((_, index) => dotted.slice(0, dotted.length - index).join("."));
  const called = prefixes.find((prefix) => catalogue.has(prefix));
  if (called !== undefined) {
    return `${called} is a function: a call needs its arguments in brackets, \`${callOf(called, catalogue)}\`.`;
  }
  const meant = closestName(name, variables);
  if (meant !== undefined) return `${sentence} Did you mean ${meant}?`;
  const names = [...catalogue.keys()];
  const namespace = prefixes.find((prefix) => names.some((other) => other.startsWith(`${prefix}.`)));
  if (namespace === undefined) return `${sentence} Assign it in an earlier line, or put text in quotes.`;
  const inNamespace = names.filter((other) => other.startsWith(`${namespace}.`));
  const likely =
    closestName(dotted.join("."), inNamespace) ??
    inNamespace.find((other) => other.endsWith(".list")) ??
    inNamespace[0] ??
    "";
  return `${sentence} A call needs its arguments in brackets: \`${callOf(likely, catalogue)}\`.`;
}

/** Writes a call with the names of its required arguments. */
function callOf(name: string, catalogue: Catalogue): string {
  const fn = catalogue.get(name);
  const needed = fn ? parametersOf(fn).filter(({ required }) => required) : [];
  return `${name}(${needed.map(({ name }) => `${name}=…`).join(", ")})`;
}

/**
 * The message for an invalid access to a value. `type` is the type of the value, and `of` is the value as the program
 * writes it. `key` is the member or index; undefined for a slice, or if the program computes the key.
 */
export function invalidAccess(
  access: InvalidAccess,
  type: StaticType,
  key: string | number | undefined,
  of: string,
): string {
  const shownKey = clip(String(key));
  if ("index" in access) return access.index;
  if ("members" in access) return `${of} has no member ${shownKey}.${didYouMean(String(key), access.members())}`;
  if (access.typeName === "list") return listHasNoMember(of, String(key), access.ofItems?.() ?? []);
  if (isPage(type)) return pageHasNoIndex(of);
  const missing = key === undefined ? "items" : `${typeof key === "number" ? "item" : "member"} ${shownKey}`;
  return `${of} is a ${access.typeName}, which has no ${missing}.`;
}
