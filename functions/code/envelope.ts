import * as z from "zod";

import { Parameter } from "./catalogue/signature.ts";
import { sourceLimitBytes } from "./language/limits.ts";

/** An id that the caller chooses for a request or a session. */
export const CallerId = z.string().regex(/^[\x21-\x7e]{1,128}$/, { error: "Write 1 to 128 visible ASCII characters" });

export const CodeRequest = z
  .strictObject({
    request_id: CallerId.meta({
      description:
        "Your id for this request. Use a new id for each request. If you send a completed program again with the same id and session within an hour, you usually get the stored envelope, and no call is made again.",
      example: "request-1",
    }),
    session_id: CallerId.meta({
      description:
        "The session's id. Programs with the same id share their variables, up to 256 KiB. The session ends an hour after a program last read or stored one of its variables. Dry runs do not renew it. A principal has at most 100 sessions. A further session ends the least recently used session.",
      example: "session-1",
    }),
    code: z
      .string()
      .refine((code) => Buffer.byteLength(code) <= sourceLimitBytes, {
        error: `A program can have ${sourceLimitBytes} bytes at most`,
      })
      .meta({
        description: "One or more function calls, written as `function.name(arg=value, ...)`.",
        example: "me.get()\naccounts.list(page_size=5)",
      }),
    dry_run: z.boolean().optional().meta({
      description:
        "Whether to make only the calls that read, and to list the others with their arguments. Nothing is changed.",
    }),
  })
  .meta({ id: "CodeRequest", description: "A program to run." });

const ProgramError = z
  .object({
    code: z.string().meta({ description: "The stable code of the error." }),
    message: z.string().meta({
      description:
        "The mistake and how to correct it, the function's parameters, and the line with a caret under the mistake.",
    }),
    detail: z.unknown().optional().meta({
      description:
        "What REST answers for the same call: the body of the error, or the first errors in the body of a 422.",
    }),
    line: z.int().meta({ description: "The line of the program, from 1." }),
    column: z.int().meta({ description: "The character in the line, from 1." }),
    parameters: z
      .array(Parameter)
      .optional()
      .meta({ description: "The parameters of the function that was called, or that was probably meant." }),
  })
  .meta({ id: "ProgramError", description: "Why a program or a call failed." });
export type ProgramError = z.output<typeof ProgramError>;

const call = {
  index: z.int().min(0).meta({ description: "The number of the call, from 0." }),
  function: z.string().meta({ description: "The dotted name." }),
};
const CallResponse = z
  .discriminatedUnion("status", [
    z.object({
      ...call,
      status: z.literal("completed").meta({ description: "The call ran." }),
      result: z.unknown().meta({
        description:
          "The value that the function returned. If the answer has no room for the value, an object with `omitted_bytes` and `message`.",
      }),
    }),
    z.object({
      ...call,
      status: z.literal("failed").meta({ description: "The call failed." }),
      error: ProgramError,
    }),
    z.object({ ...call, status: z.literal("skipped").meta({ description: "The call did not run." }) }),
  ])
  .meta({ id: "CallResponse", description: "The result of one call." });
export type CallResponse = z.output<typeof CallResponse>;

const PlannedWrite = z.object({
  arguments: z.unknown().meta({
    description:
      "The arguments by name, with null for unknown parts. If the answer has no room for the arguments, an object with `omitted_bytes` and `message`.",
  }),
  unknown: z.array(z.string()).optional().meta({
    description:
      "The unknown parts of the arguments, such as `domains[2]`, at most 20. They depend on the answer of a write.",
  }),
  label: z
    .string()
    .optional()
    .meta({ description: "The name of the resource that would be changed, such as a mailbox's address." }),
  preview: z.unknown().optional().meta({
    description:
      "The effect that the call would have, such as the addresses to delete. Only for functions with a preview.",
  }),
  allowed: z.boolean().nullable().meta({
    description:
      "False if the run would refuse this call now: the arguments are not valid, the caller may not make the call, or a rehearsal of the function found another reason, such as a taken name. Most functions that use other systems or have a rate limit of their own are not rehearsed, so the run can still refuse their calls for another reason. Null if this depends on an earlier write of the program, or if the arguments are too large to check.",
  }),
  error: z
    .object({
      code: z.string().meta({ description: "The stable code of the error." }),
      message: z.string().meta({ description: "Why the call would be refused now." }),
    })
    .optional()
    .meta({
      description:
        "The error that this check found. A call without this member can still fail in the run. An earlier write of the program may prevent the error.",
    }),
});
export type PlannedWrite = z.output<typeof PlannedWrite>;

const DryCall = z.object({
  ...call,
  line: z.int().meta({ description: "The line of the call, from 1." }),
  column: z.int().meta({ description: "The character in the line, from 1." }),
  access: z.enum(["read", "write"]).meta({ description: "`read` if the function changes nothing." }),
  capability: z
    .string()
    .nullable()
    .meta({ description: "The capability that the caller needs. Null if a token is enough." }),
  held: z.boolean().nullable().meta({
    description:
      "Whether the caller holds the capability. Null if the account is known only during the run, or if the caller holds the capability for only some resources.",
  }),
  count: z
    .int()
    .nullable()
    .meta({ description: "How often the call would be made. Null if that depends on the answer of a write." }),
  may_differ: z
    .literal(true)
    .optional()
    .meta({ description: "Only for a read after a write: the run may get another answer than the dry run." }),
  planned: z
    .array(PlannedWrite)
    .optional()
    .meta({ description: "Only for a write: the calls that would be made, or that may be made if `count` is null." }),
});
export type DryCall = z.output<typeof DryCall>;

const NotKept = z.object({
  name: z.string().meta({ description: "The variable's name." }),
  code: z.enum(["secret", "session_too_large", "not_stored", "read_only"]).meta({
    description:
      "The reason: the value may contain a secret or a signed address, the session is full, the value could not or must not be stored, or the program may only read.",
  }),
  message: z.string().meta({ description: "Another way to get the value." }),
});
export type NotKept = z.output<typeof NotKept>;

/**
 * The envelope of an answer. An answer has the members in the order of this schema. `error` comes last, and only after
 * a failure.
 */
export const CodeResponse = z
  .object({
    request_id: z.string().meta({ description: "The request's `request_id`." }),
    status: z.enum(["completed", "failed"]).meta({ description: "`completed` if the program ran without an error." }),
    result: z
      .object({
        last_value: z.unknown().meta({
          description:
            "The value of the last line that has a call or assigns no variable. After a failure: the value of the last call that completed. Null if there is no such value, after the error `result_too_large`, and after a failed dry run.",
        }),
      })
      .meta({ description: "The program's result." }),
    responses: z.array(CallResponse).meta({
      description:
        "One entry for each call that was made, in source order. After a failure also one for each remaining call. Empty if no call could run, and after a dry run.",
    }),
    complexity_score: z.number().min(0).meta({
      description:
        "The sum of the scores of the calls. A call counts 1. A call that uses an outside provider or is in the class `outbound` counts 5. A list counts page_size / 25, but at least 1. In a comprehension a call counts once for each item. At most 200 calls count.",
    }),
    dry_run: z
      .object({
        calls: z
          .array(DryCall)
          .meta({ description: "The calls of the program's text, in the order in which they would be made." }),
      })
      .optional()
      .meta({ description: "Only after a dry run: the calls that the program would make." }),
    session: z
      .object({
        not_kept: z.array(NotKept).meta({ description: "The first 20 variables that the session did not keep." }),
        not_kept_total: z.int().optional().meta({
          description: "The number of all variables that the session did not keep. Only if there are more than 20.",
        }),
      })
      .optional()
      .meta({ description: "Only if a variable was not kept. The effects of the program remain." }),
    error: ProgramError.optional().meta({ description: "Why the program failed." }),
  })
  .meta({ id: "CodeResponse", description: "The result of a program." });
export type CodeResponse = z.output<typeof CodeResponse>;
