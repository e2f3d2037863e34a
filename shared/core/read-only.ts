import * as z from "zod";

/**
 * Why nothing may be changed for now, as callers are told; an empty text is none. A bare yes or no is refused: who writes
 * `false` means that everything may be changed, and callers want a reason.
 */
export const ReadOnlyReason = z
  .string()
  .trim()
  .max(300)
  .refine((text) => !/^(?:true|false|yes|no|on|off|0|1)$/i.test(text), {
    error: "Write the reason that callers are told, or leave it empty for none",
  })
  .transform((text) => text || undefined)
  .optional();
