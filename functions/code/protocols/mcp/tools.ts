import * as z from "zod";

import { productName } from "../../../../shared/core/product.ts";
import { catalogue } from "../../catalogue.ts";
import type { CodeFunction } from "../../catalogue/function.ts";
import { parametersOf } from "../../catalogue/signature.ts";
import { CodeRequest } from "../../envelope.ts";
import { budgetMs, callLimit, sourceLimitBytes } from "../../language/limits.ts";

/**
 * Describes the language and lists every function. Some clients cut descriptions, so the parts that a model cannot look
 * up come first.
 */
const executeDescription = (): string =>
  `Runs a program of calls to the ${productName} and answers each call's result and the last line's value; results="last": that value alone.

${describeLanguage(`ws = workspaces.add(account_id="…", name="Sales")`)}

${describeNotation([...catalogue.values()])} Those after | write.
${catalogueText(() => true)}`;

/** The description for programs that only read. `other` is the tool for all programs. */
const queryDescription = (other: string): string =>
  `Runs a program of calls that only read and answers the last line's value; ${other} takes the same programs and calls that change something.

${describeLanguage(`ws = workspaces.list(account_id="…").items[0]`)}

${describeNotation(readingFunctions())}
${catalogueText(({ route }) => route.access === "read")}`;

const describeLanguage = (
  begin: string,
): string => `Starlark (Python) expressions with builtins, methods, f-strings, sorted(xs, key="name"); no def or loops. Each line is a call or name = …; the last picks what you need.
${begin}
page = mailboxes.list(account_id="…", workspace_id=ws.id, page_size=50)
[mailboxes.get(account_id="…", mailbox=m.id).quota for m in page.items if m.status != "paused"]

functions.explain(name="…") tells types, members and errors, functions.search(query="…") finds functions, accounts.list() your accounts.
All is checked first: an error names line and correction, and nothing was done. If a call fails later, earlier ones stand: send only the rest.
Limits: ${callLimit} calls, ${sourceLimitBytes / 1024} KiB, ${budgetMs / 1000} s.`;

const readingFunctions = (): CodeFunction[] => [...catalogue.values()].filter(({ route }) => route.access === "read");

/** Explains the notation of the function list, and names the functions that need no account. */
function describeNotation(functions: readonly CodeFunction[]): string {
  const free = [...byPrefix(functions)].flatMap(([prefix, members]) => {
    const without = members.filter((fn) => !needsAccount(fn));
    return without.length === members.length ? [`${prefix}.*`] : without.map(({ route }) => route.name);
  });
  return `Functions, by prefix: "tags: list(…)" is tags.list; ? is optional; … is page?, page_size?, answered {items, page, page_size, total}. All need account_id but ${free.join(", ")}.`;
}

const needsAccount = (fn: CodeFunction): boolean =>
  parametersOf(fn).some(({ name, required }) => name === "account_id" && required);

/** Groups functions by prefix: `auth.groups.members.add` belongs to `auth.groups.members`. */
const byPrefix = (functions: readonly CodeFunction[]): Map<string, CodeFunction[]> =>
  Map.groupBy(functions, ({ route }) => route.name.slice(0, route.name.lastIndexOf(".")));

/** Writes one line for each prefix: functions that read, and after a bar those that write. */
function catalogueText(isShown: (fn: CodeFunction) => boolean): string {
  const lines = [...byPrefix([...catalogue.values()].filter(isShown))].map(([prefix, functions]) => {
    const reads = functions.filter(({ route }) => route.access === "read").map(shortSignature);
    const writes = functions.filter(({ route }) => route.access === "write").map(shortSignature);
    return `${prefix}: ${[...reads, ...(writes.length > 0 ? ["|", ...writes] : [])].join(" ")}`;
  });
  return lines.join("\n");
}

const paging = new Set(["page", "page_size"]);

/** Writes a short signature such as `list(…, status?)`, without the parameters that the notation explains. */
function shortSignature(fn: CodeFunction): string {
  const parameters = parametersOf(fn).filter(({ name, required }) => name !== "account_id" || !required);
  const isPaged = parameters.some(({ name }) => paging.has(name));
  const own = parameters.filter(({ name }) => !paging.has(name));
  const shown = [...(isPaged ? ["…"] : []), ...own.map(({ name, required }) => (required ? name : `${name}?`))];
  return `${fn.route.name.slice(fn.route.name.lastIndexOf(".") + 1)}(${shown.join(", ")})`;
}

export const executeName = "service_execute";
export const queryName = "service_query";
export const toolNames = [executeName, queryName] as const;

/** The results of calls that an answer includes besides the last value. */
const Results = z.enum(["all", "last"]);
type Results = z.output<typeof Results>;

/** The default of `results` for each tool. */
export const defaultResults: Readonly<Record<(typeof toolNames)[number], Results>> = {
  [executeName]: "all",
  [queryName]: "last",
};

/** The arguments of both tools: the specified `code`, and our extensions. */
export const ToolArguments = z.strictObject({
  code: z.string().meta({ description: "The program: one or more function calls." }),
  dry_run: z
    .boolean()
    .optional()
    .meta({ description: "Make only the calls that read, and list those that would write. Nothing is changed." }),
  session_id: CodeRequest.shape.session_id
    .optional()
    .meta({ description: "Programs with the same session_id share their variables, for an hour." }),
  request_id: CodeRequest.shape.request_id
    .optional()
    .meta({ description: "After a time-out, send the program again with the same request_id. Nothing is done twice." }),
  results: Results.optional().meta({
    description: `all: the result of every call, the default of ${executeName}; last: the last value, and the sizes of other results, the default of ${queryName}.`,
  }),
});

/**
 * Hints about the worst that a program may do. `openWorldHint` is true because look-ups ask registrars and the public
 * DNS.
 */
const annotationsOf = (readOnly: boolean) => ({
  readOnlyHint: readOnly,
  destructiveHint: !readOnly,
  idempotentHint: readOnly,
  openWorldHint: true,
});

let cachedTools: readonly object[] | undefined;

/** The MCP tools that run programs (MCP 2026-07-28, "Tools"), always in the same order. */
export function tools(): readonly object[] {
  if (cachedTools) return cachedTools;
  const { $schema: _, ...inputSchema } = z.toJSONSchema(ToolArguments, {
    io: "input",
    override: ({ jsonSchema }) => void delete jsonSchema["example"],
  });
  cachedTools = [
    {
      name: executeName,
      title: "Run API calls",
      description: executeDescription(),
      inputSchema,
      annotations: annotationsOf(false),
    },
    {
      name: queryName,
      title: "Run API calls that only read",
      description: queryDescription(executeName),
      inputSchema,
      annotations: annotationsOf(true),
    },
  ];
  return cachedTools;
}
