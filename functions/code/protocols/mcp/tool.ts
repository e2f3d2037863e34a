import * as z from "zod";

import { CodeRequest } from "../../envelope.ts";
import { queryDescription, executeDescription } from "./tool-description.ts";

export const executeName = "service_execute";
export const queryName = "service_query";
export const toolNames = [executeName, queryName] as const;

/** Which results of calls an answer holds beside the last value. */
const Results = z.enum(["all", "last"]);
type Results = z.output<typeof Results>;

/** What a tool answers where the caller does not say. */
export const resultsUnsaid: Readonly<Record<(typeof toolNames)[number], Results>> = {
  [executeName]: "all",
  [queryName]: "last",
};

/** What both tools take: the specified `code`, and what is ours. */
export const ToolArguments = z.strictObject({
  code: z.string().meta({ description: "The program: one or more function calls." }),
  dry_run: z.boolean().optional().meta({ description: "Check only: say which calls it would make. Nothing is done." }),
  session_id: CodeRequest.shape.session_id
    .optional()
    .meta({ description: "Programs with the same one share their variables, for an hour." }),
  request_id: CodeRequest.shape.request_id
    .optional()
    .meta({ description: "Send a program again with the same one, after a time-out, and nothing is done twice." }),
  results: Results.optional().meta({
    description: `all: every call's result, if not said by ${executeName}; last: the last value, and of what only reads just the size, if not said by ${queryName}.`,
  }),
});

/** The hints are for the worst that a program can do. Looking things up asks registrars and the internet's DNS. */
const annotationsOf = (readOnly: boolean) => ({
  readOnlyHint: readOnly,
  destructiveHint: !readOnly,
  idempotentHint: readOnly,
  openWorldHint: true,
});

let made: readonly object[] | undefined;

/** The MCP tools that run programs (MCP 2026-07-28, "Tools"), always in the same order. */
export function tools(): readonly object[] {
  if (made) return made;
  const { $schema: _, ...inputSchema } = z.toJSONSchema(ToolArguments, {
    io: "input",
    override: ({ jsonSchema }) => void delete jsonSchema["example"],
  });
  made = [
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
  return made;
}
