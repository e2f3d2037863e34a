import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";

const BatchView = z.object({
  id: Id.meta({ description: "What the purchase goes by." }),
  results: z
    .array(
      z.object({
        domain_name: z.string().meta({ description: "The name." }),
        status: z.enum(["pending_registration", "failed"]).meta({ description: "What came of it." }),
        error_code: z.string().nullable().meta({ description: "Why it failed." }),
      }),
    )
    .meta({ description: "What came of each name that waited for the payment." }),
});

export const purchaseKind = defineKind({
  name: "domain_purchase",
  verbs: ["continued"],
  view: BatchView,
  seenWith: "domain.view",
});
