import { productName } from "../../../../shared/product-name.ts";
import { catalogue } from "../../catalogue.ts";
import type { CodeFunction } from "../../catalogue/code-function.ts";
import { parametersOf } from "../../catalogue/signature.ts";
import { budgetMs } from "../../execution/evaluator.ts";
import { callLimit } from "../../language/expressions.ts";
import { sourceLimitBytes } from "../../language/lexer.ts";

/**
 * How programs are written, and every function there is. Some clients cut descriptions: what a model cannot find out
 * by itself stands first.
 */
export const executeDescription = (): string =>
  `Runs a program of calls to the ${productName} and answers each call's result and the last line's value; results="last": that value alone.

${language(`ws = workspaces.add(account_id="…", name="Sales")`)}

${notation([...catalogue.values()])} Those after | change something.
${catalogueText(() => true)}`;

/** The same for programs that only read. `other` is the tool for the rest. */
export const queryDescription = (other: string): string =>
  `Runs a program of calls that only read and answers the last line's value; ${other} takes the same programs and calls that change something.

${language(`ws = workspaces.list(account_id="…").items[0]`)}

${notation(reading())}
${catalogueText(({ route }) => route.access === "read")}`;

const language = (
  begin: string,
): string => `Starlark (Python) without def, for, if, x if y else z, methods and slices; f-strings are there. Each line is a call or name = …; let the last pick what you need.
${begin}
page = mailboxes.list(account_id="…", workspace_id=ws.id, page_size=50)
[mailboxes.get(account_id="…", mailbox=m.id).quota for m in page.items if m.status != "paused"]

functions.explain(name="…") tells types, members and errors, functions.search(query="…") finds functions, accounts.list() your accounts.
All is checked first: an error then names line and mending, and nothing was done. If a call fails later, those before it stand: send only what is left.
Limits: ${callLimit} calls, ${sourceLimitBytes / 1024} KiB, ${budgetMs / 1000} s.`;

const reading = (): CodeFunction[] => [...catalogue.values()].filter(({ route }) => route.access === "read");

/** How the lines are read; only those functions are named that are an exception. */
function notation(functions: readonly CodeFunction[]): string {
  const free = [...byPrefix(functions)].flatMap(([prefix, members]) => {
    const without = members.filter((fn) => !needsAccount(fn));
    return without.length === members.length ? [`${prefix}.*`] : without.map(({ route }) => route.name);
  });
  return `Functions, by prefix: "tags: list(…)" is tags.list; ? is optional; … is page?, page_size?, answered {items, page, page_size, total}. All need account_id but ${free.join(", ")}.`;
}

const needsAccount = (fn: CodeFunction): boolean =>
  parametersOf(fn).some(({ name, required }) => name === "account_id" && required);

/** `auth.groups.members.add` is one of `auth.groups.members`. */
const byPrefix = (functions: readonly CodeFunction[]): Map<string, CodeFunction[]> =>
  Map.groupBy(functions, ({ route }) => route.name.slice(0, route.name.lastIndexOf(".")));

/** One line a prefix: what reads, and after a bar what changes something. */
function catalogueText(isShown: (fn: CodeFunction) => boolean): string {
  const lines = [...byPrefix([...catalogue.values()].filter(isShown))].map(([prefix, functions]) => {
    const reads = functions.filter(({ route }) => route.access === "read").map(shortSignature);
    const writes = functions.filter(({ route }) => route.access === "write").map(shortSignature);
    return `${prefix}: ${[...reads, ...(writes.length > 0 ? ["|", ...writes] : [])].join(" ")}`;
  });
  return lines.join("\n");
}

const paging = new Set(["page", "page_size"]);

/** `list(…, status?)`: without what is said once for all. */
function shortSignature(fn: CodeFunction): string {
  const parameters = parametersOf(fn).filter(({ name, required }) => name !== "account_id" || !required);
  const isPaged = parameters.some(({ name }) => paging.has(name));
  const own = parameters.filter(({ name }) => !paging.has(name));
  const shown = [...(isPaged ? ["…"] : []), ...own.map(({ name, required }) => (required ? name : `${name}?`))];
  return `${fn.route.name.slice(fn.route.name.lastIndexOf(".") + 1)}(${shown.join(", ")})`;
}
