import * as z from "zod";

import { productName } from "../../../../shared/core/product.ts";
import type { Route } from "../../../../shared/http/route.ts";
import { catalogue } from "../../catalogue.ts";
import { type CodeFunction, inputSchemaOf } from "../../catalogue/function.ts";
import { CodeRequest } from "../../envelope.ts";
import type { Schema } from "../../interpreter/types.ts";
import { budgetMs, callLimit, outsideBudgetMs, sourceLimitBytes } from "../../language/limits.ts";

/**
 * Describes the language and lists every function. Some clients cut descriptions, so the parts that a model cannot look
 * up come first.
 */
const executeDescription = (): string =>
  `Runs a program of calls to the ${productName} and answers each call's result and the last line's value.

Starlark (Python) expressions with builtins, methods, f-strings, sorted(xs, key="name"); no def, loops, tuples. Each line is a call or name = …; the last picks what you need.
ws = workspaces.add(account_id="…", name="Sales")
page = mailboxes.list(account_id="…", workspace_id=ws.id, page_size=50)
[mailboxes.get(account_id="…", mailbox=m.id).quota for m in page.items if m.status != "paused"]

functions.search(query="unpaid bills") finds functions. functions.explain(name=["…"]) tells types and members; with name="…" also errors. accounts.list() lists your accounts.
All is checked first: an error names line and correction, and nothing was done. If a call fails later, earlier calls stand: send only the rest.
Limits: ${callLimit} calls, ${sourceLimitBytes / 1024} KiB, ${budgetMs / 1000} s; calls of outside services only in the first ${outsideBudgetMs / 1000} s.

Functions, by prefix: "tags: list(…)" is tags.list; + are optional arguments to look up; # is the name after #=; … is page, page_size (≤ 100), both optional, answered {items, page, page_size, total}. All need account_id but ${functionsWithoutAccount()}. Those after | write.
${catalogueText()}`;

/**
 * The description of the tool for programs that only read. This description refers to the other description, so that
 * the list of tools contains the catalogue only once.
 */
const queryDescription =
  (): string => `Runs a program of calls that only read and answers the last line's value. Language, limits and functions are those of ${executeName}, without the functions after |; functions.list() lists all.
page = mailboxes.list(account_id="…", page_size=50)
[m.primary_email for m in page.items if m.status != "paused"]`;

/**
 * Lists the functions that need no account. If no function of a prefix needs an account, the list has only the prefix:
 * `me.*`.
 */
function functionsWithoutAccount(): string {
  const byNamespace = Map.groupBy(catalogue.values(), ({ route }) => namespaceOf(route.name));
  const free = [...byNamespace].flatMap(([prefix, members]) => {
    const without = members.filter((fn) => !inputSchemaOf(fn).required?.includes("account_id"));
    return without.length === members.length ? [`${prefix}.*`] : without.map(({ route }) => route.name);
  });
  return free.join(", ");
}

const namespaceOf = (name: string): string => name.slice(0, name.lastIndexOf("."));

/**
 * A prefix of several parts has no line of its own if it has at most this many functions. The functions are then in the
 * line of the shorter prefix, as in `billing: plan.cancel()`.
 */
const fewFunctions = 2;

/** If at least this many functions of a line need the same parameter, the line has the parameter's name only once. */
const manyNeeding = 5;

/** Writes one line for each prefix: the functions that read, and after a bar the functions that write. */
function catalogueText(): string {
  const counts = new Map<string, number>();
  for (const name of catalogue.keys()) counts.set(namespaceOf(name), (counts.get(namespaceOf(name)) ?? 0) + 1);
  const prefixOf = (name: string): string => {
    const prefix = namespaceOf(name);
    return prefix.includes(".") && (counts.get(prefix) ?? 0) <= fewFunctions ? prefixOf(prefix) : prefix;
  };
  const lines = [...Map.groupBy(catalogue.values(), ({ route }) => prefixOf(route.name))].map(([prefix, functions]) => {
    const common = commonName(functions);
    const signatures = (access: Route["access"]): string[] =>
      functions.filter(({ route }) => route.access === access).map((fn) => shortSignature(fn, prefix, common));
    const writes = signatures("write");
    const heading = common === undefined ? prefix : `${prefix} #=${common}`;
    const shown = [...signatures("read"), ...(writes.length > 0 ? ["|", ...writes] : [])];
    return `${heading}: ${shown.join(" ")}`;
  });
  return lines.join("\n");
}

/**
 * The parameter that the most functions of a line need, apart from `account_id`. Undefined if fewer than `manyNeeding`
 * functions need it.
 */
function commonName(functions: readonly CodeFunction[]): string | undefined {
  const needed = functions.flatMap((fn) => inputSchemaOf(fn).required ?? []).filter((name) => name !== "account_id");
  const [most] = [...Map.groupBy(needed, (name) => name)].toSorted(([, a], [, b]) => b.length - a.length);
  return most && most[1].length >= manyNeeding ? most[0] : undefined;
}

const paging = new Set(["page", "page_size"]);

/** Writes a short signature such as `list(… +)`, without the parameters that the notation explains. */
function shortSignature(fn: CodeFunction, prefix: string, common: string | undefined): string {
  const { properties = {}, required = [] } = inputSchemaOf(fn);
  const isExplained = (name: string): boolean => paging.has(name) || (name === "account_id" && required.includes(name));
  const own = Object.entries(properties).filter(([name]) => !isExplained(name));
  const members = memberNames({ properties: Object.fromEntries(own), required });
  const shown = members.map((name) => (name === common ? "#" : name));
  return `${fn.route.name.slice(prefix.length + 1)}(${[...("page" in properties ? ["…"] : []), ...shown].join(" ")})`;
}

/**
 * The names of an object's required members, and `+` if the object has optional members. The members of a `payload` are
 * in braces.
 */
function memberNames({ properties = {}, required = [] }: Schema): string[] {
  const needed = Object.entries(properties)
    .filter(([name]) => required.includes(name))
    .map(([name, member]) =>
      name === "payload" && typeof member === "object" ? `${name}{${memberNames(member).join(" ")}}` : name,
    );
  return Object.keys(properties).some((name) => !required.includes(name)) ? [...needed, "+"] : needed;
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

/** The arguments of both tools. Only `code` is required. */
export const ToolArguments = z.strictObject({
  code: z.string().meta({ description: "The program: one or more function calls." }),
  dry_run: z
    .boolean()
    .optional()
    .meta({ description: "Make only the calls that read, and list those that would write. Nothing is changed." }),
  session_id: CodeRequest.shape.session_id.optional().meta({
    description:
      "Programs with the same session_id share their variables. The session ends an hour after a program last read or stored one of them. `service_query` reads these variables, and stores none.",
  }),
  request_id: CodeRequest.shape.request_id.optional().meta({
    description:
      "Send a new id with each program that writes. After a time-out or a temporary error, send the same program again with the same id: nothing is done twice. Without an id, a repeat makes the writes again. A completed program with the same id usually gets its old answer for an hour. A corrected program may have the same id, but must leave out the calls that took effect.",
  }),
  results: Results.optional().meta({
    description: `all (default of ${executeName}): the result of every call. last (default of ${queryName}): the last value, the results of writes that are not in the last value, and the sizes of other results.`,
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
      description: queryDescription(),
      inputSchema,
      annotations: annotationsOf(true),
    },
  ];
  return cachedTools;
}
