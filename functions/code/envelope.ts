import * as z from "zod";

import { Parameter } from "./catalogue/signature.ts";
import { sourceLimitBytes } from "./language/limits.ts";

export const CallerId = z.string().regex(/^[\x21-\x7e]{1,128}$/, { error: "Write 1 to 128 visible ASCII characters" });

export const CodeRequest = z
  .strictObject({
    request_id: CallerId.meta({
      description:
        "The caller's correlation id, echoed in the response. The same program with the same id is answered with the same envelope for an hour.",
      example: "request-1",
    }),
    session_id: CallerId.meta({
      description: "The session's identifier: programs of one session share their variables.",
      example: "session-1",
    }),
    code: z
      .string()
      .refine((code) => Buffer.byteLength(code) <= sourceLimitBytes, {
        error: `A program may hold ${sourceLimitBytes} bytes at most`,
      })
      .meta({
        description: "One or more function calls, written as `function.name(arg=value, ...)`.",
        example: "me.get()\naccounts.list(page_size=5)",
      }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Checks the program and says what it would call and whether you may: nothing is done." }),
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
      .array(Parameter)
      .optional()
      .meta({ description: "The parameters of the function that was called or probably meant." }),
  })
  .meta({ id: "ProgramError", description: "Why a program or a call failed." });
export type ProgramError = z.output<typeof ProgramError>;

const call = {
  index: z.int().min(0).meta({ description: "The call's zero-based place among those made." }),
  function: z.string().meta({ description: "The dotted name." }),
};
const CallResponse = z
  .discriminatedUnion("status", [
    z.object({
      ...call,
      status: z.literal("completed").meta({ description: "The call ran." }),
      result: z.unknown().meta({
        description:
          "What the function returned; `omitted_bytes` and `message` instead where the answer had no room for it.",
      }),
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

const DryCall = z.object({
  ...call,
  line: z.int().meta({ description: "The one-based line of the call." }),
  column: z.int().meta({ description: "The one-based character in that line." }),
  access: z.enum(["read", "write"]).meta({ description: "Whether the function only reads." }),
  capability: z.string().nullable().meta({ description: "What the caller must hold; null when a token is enough." }),
  held: z.boolean().nullable().meta({
    description: "Whether the caller holds that; null where only the run tells which thing or account it is about.",
  }),
});
export type DryCall = z.output<typeof DryCall>;

const NotKept = z.object({
  name: z.string().meta({ description: "The variable's name." }),
  code: z.enum(["secret", "session_too_large", "not_stored", "read_only"]).meta({
    description:
      "Why: it may hold a secret or a signed address, the session is full, it could not be stored just now, or the program may only read.",
  }),
  message: z.string().meta({ description: "What to do instead." }),
});
export type NotKept = z.output<typeof NotKept>;

/**
 * The specified envelope. Responses list its members in the order of this schema, with `error` last and only on
 * failure.
 */
export const CodeResponse = z
  .object({
    request_id: z.string().meta({ description: "The request's `request_id`." }),
    status: z.enum(["completed", "failed"]).meta({ description: "Whether every call completed." }),
    result: z
      .object({
        last_value: z.unknown().meta({
          description:
            "The value of the last line that holds a call, or of the last line where that is an expression; after a failure of the last call that completed; or null.",
        }),
      })
      .meta({ description: "The program's result." }),
    responses: z.array(CallResponse).meta({
      description:
        "One entry per call that was made, in source order, and after a failure one per call left; none when none could run.",
    }),
    complexity_score: z.number().min(0).meta({
      description:
        "1 per call, 5 for one that reaches an outside provider, page_size / 25 (at least 1) for a list; times the items of a comprehension, of 200 calls at most.",
    }),
    dry_run: z
      .object({ calls: z.array(DryCall).meta({ description: "The calls, in the order in which they would be made." }) })
      .optional()
      .meta({ description: "What the program would do, when it was only checked: there is no effect." }),
    session: z
      .object({
        not_kept: z
          .array(NotKept)
          .meta({ description: "The variables the session did not keep, the first 20 of them." }),
        not_kept_total: z.int().optional().meta({ description: "How many they are, where they are more." }),
      })
      .optional()
      .meta({ description: "Only where a variable was not kept: the program's effects stand all the same." }),
    error: ProgramError.optional().meta({ description: "Why the program failed." }),
  })
  .meta({ id: "CodeResponse", description: "What came of a program." });
export type CodeResponse = z.output<typeof CodeResponse>;
