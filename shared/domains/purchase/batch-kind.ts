import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";

const BatchView = z.object({
  id: Id.meta({ description: "The id of the purchase." }),
  results: z
    .array(
      z.object({
        domain_name: z.string().meta({ description: "The domain's name." }),
        status: z.enum(["pending_registration", "failed"]).meta({ description: "The result for the name." }),
        error_code: z.string().nullable().meta({ description: "Why the name failed." }),
      }),
    )
    .meta({ description: "The result for each name that waited for the payment." }),
});

export const purchaseKind = defineKind({
  name: "domain_purchase",
  verbs: ["continued"],
  view: BatchView,
  seenWith: "domain.view",
});
