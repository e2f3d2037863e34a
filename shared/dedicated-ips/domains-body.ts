import * as z from "zod";

import { DomainRef } from "../domains/name.ts";

/** The body that names domains to assign or unassign. */
export const domainsBody = (id: string, description: string) =>
  z
    .strictObject({
      domains: z
        .array(DomainRef)
        .min(1)
        .max(100)
        .meta({ description: "The domains, 1 to 100, by their names or ids." }),
    })
    .meta({ id, description });
