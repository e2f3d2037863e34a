import { catalogue, signatureOf, type CodeFunction } from "./catalogue.ts";
import { budgetMs } from "./evaluator.ts";
import { sourceLimitBytes } from "./lexer.ts";
import { callLimit } from "./parser.ts";

export const toolName = "service_execute";

/** The MCP tool that runs programs (MCP 2025-11-25, "Tools"). Its hints are for the worst that a program can do. */
export const executeTool = () => ({
  name: toolName,
  title: "Run API calls",
  description: description(),
  inputSchema: {
    type: "object",
    properties: { code: { type: "string", description: "The program: one or more function calls." } },
    required: ["code"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

const description = (): string => `Runs a program of calls to the hosted-mail API and answers with the result of each.

A program is one call, or several, a line each:
workspaces.add(account_id="…", name="Sales")
workspaces.list(account_id="…", page_size=50)

Arguments are given by name. Values are literals: "text", 12, -1.5, True, False, None, [1, 2], {"key": "value"}. # begins a comment.
The whole program is checked before anything runs; an error names line, column and the valid parameters, and then nothing was done. If a call fails while running, the calls before it have taken effect and their results are in "responses"; those after it are skipped: send only what is left. Lists answer {items, page, page_size, total}; page_size is at most 100.
At most ${callLimit} calls, ${sourceLimitBytes / 1024} KiB of code, ${budgetMs / 1000} seconds.

Functions that read (? marks optional arguments):
${lines("read")}

Functions that change something:
${lines("write")}`;

const lines = (access: "read" | "write"): string =>
  [...catalogue.values()]
    .filter(({ route }) => route.access === access)
    .map((fn: CodeFunction) => `${signatureOf(fn)}: ${fn.route.summary}`)
    .join("\n");
