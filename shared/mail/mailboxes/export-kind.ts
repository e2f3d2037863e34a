import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";

export const exportKind = defineKind({
  name: "mailbox_export",
  verbs: ["requested", "finished"],
  view: z.object({
    id: Id.meta({ description: "The export's id; a new one when it was answered at once." }),
    row_count: z.int().min(0).meta({ description: "How many mailboxes are in it so far." }),
  }),
  seenWith: "mailbox.export",
});
