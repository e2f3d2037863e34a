import * as z from "zod";

import { sourceLimitBytes } from "./lexer.ts";

const CallerId = z.string().regex(/^[\x21-\x7e]{1,128}$/, { error: "Write 1 to 128 visible ASCII characters" });

export const CodeRequest = z
  .strictObject({
    request_id: CallerId.meta({
      description: "The caller's correlation id, echoed in the response.",
      example: "request-1",
    }),
    session_id: CallerId.meta({ description: "The session's identifier.", example: "session-1" }),
    code: z
      .string()
      .refine((code) => Buffer.byteLength(code) <= sourceLimitBytes, {
        error: "A program may hold 65536 bytes at most",
      })
      .meta({
        description: "One or more function calls, written as `function.name(arg=value, ...)`.",
        example: "me.get()\naccounts.list(page_size=5)",
      }),
  })
  .meta({ id: "CodeRequest", description: "A program to run." });

const ProgramError = z
  .object({
    code: z.string().meta({ description: "What went wrong: stable, snake_case." }),
    message: z
      .string()
      .meta({ description: "How to mend it: what is wrong, the parameters, and the line with a caret." }),
    detail: z.unknown().optional().meta({ description: "What REST would have answered for this call." }),
    line: z.int().meta({ description: "The one-based line of the program." }),
    column: z.int().meta({ description: "The one-based character in that line." }),
    parameters: z
      .array(
        z.object({
          name: z.string().meta({ description: "The argument's name." }),
          type: z.string().meta({ description: "Its type, in words." }),
          required: z.boolean().meta({ description: "Whether it must be given." }),
          description: z.string().meta({ description: "What it means." }),
          default: z.unknown().optional().meta({ description: "What it is when it is not given." }),
        }),
      )
      .optional()
      .meta({ description: "The parameters of the function that was called or probably meant." }),
  })
  .meta({ id: "ProgramError", description: "Why a program or a call failed." });
export type ProgramError = z.output<typeof ProgramError>;

const call = {
  index: z.int().min(0).meta({ description: "The call's zero-based place in the program." }),
  function: z.string().meta({ description: "The dotted name." }),
};
const CallResponse = z
  .discriminatedUnion("status", [
    z.object({
      ...call,
      status: z.literal("completed").meta({ description: "The call ran." }),
      result: z.unknown().meta({ description: "What the function returned." }),
    }),
    z.object({
      ...call,
      status: z.literal("failed").meta({ description: "The call failed." }),
      error: ProgramError,
    }),
    z.object({ ...call, status: z.literal("skipped").meta({ description: "The call did not run." }) }),
  ])
  .meta({ id: "CallResponse", description: "What came of one call." });
export type CallResponse = z.output<typeof CallResponse>;

/** The specified envelope. Members leave in the order of this schema, `error` last and only on failure. */
export const CodeResponse = z
  .object({
    request_id: z.string().meta({ description: "The request's `request_id`." }),
    status: z.enum(["completed", "failed"]).meta({ description: "Whether every call completed." }),
    result: z
      .object({ last_value: z.unknown().meta({ description: "The value of the last call that completed, or null." }) })
      .meta({ description: "The program's result." }),
    responses: z
      .array(CallResponse)
      .meta({ description: "One entry per call, in source order; none when none could run." }),
    complexity_score: z.number().min(0).meta({ description: "1 per call, page_size / 25 (at least 1) for a list." }),
    error: ProgramError.optional().meta({ description: "Why the program failed." }),
  })
  .meta({ id: "CodeResponse", description: "What came of a program." });
export type CodeResponse = z.output<typeof CodeResponse>;
