import * as z from "zod";

import { RecordType } from "../../dns/rrset.ts";

const port = z.int().min(0).max(65_535);

const members = {
  name: z
    .string()
    .min(1)
    .max(300)
    .meta({
      description:
        "Its name in the domain: `@` is the domain itself, `*` any name that has no records, `www` is `www` in it. A full name in the domain is taken too.",
      examples: ["www"],
    }),
  value: z
    .string()
    .min(1)
    .max(16_384)
    .meta({
      description:
        "What it says, by its type: an address (A, AAAA), a host name (CNAME, MX, SRV, NS), text (TXT, up to 2,048 bytes), or the value of a CAA property.",
      examples: ["192.0.2.1"],
    }),
  ttl: z.int().min(60).max(86_400).meta({
    description:
      "How long resolvers keep it, in seconds: 60 to 86,400, 3,600 if not said. Records of one name and type go by the lowest of theirs.",
  }),
  priority: port.meta({ description: "Of MX and SRV records, which need it: the lowest is tried first." }),
  weight: port.meta({ description: "Of SRV records: the share among those of the same priority; 0 if not said." }),
  port: port.meta({ description: "Of SRV records, which need it: the port of the service." }),
  flags: z.int().min(0).max(255).meta({ description: "Of CAA records: 128 is critical; 0 if not said." }),
  tag: z.string().min(1).max(15).meta({ description: "Of CAA records, which need it: the property, such as `issue`." }),
};

/** What a new record is made of. What is right depends on its type. */
export const newRecord = {
  name: members.name,
  type: RecordType.meta({ description: "Its type." }),
  value: members.value,
  ttl: members.ttl.optional(),
  priority: members.priority.optional(),
  weight: members.weight.optional(),
  port: members.port.optional(),
  flags: members.flags.optional(),
  tag: members.tag.optional(),
};

/** What can change of a record. */
export const changedRecord = {
  name: members.name.optional(),
  value: members.value.optional(),
  ttl: members.ttl.optional(),
  priority: members.priority.optional(),
  weight: members.weight.optional(),
  port: members.port.optional(),
  flags: members.flags.optional(),
  tag: members.tag.optional(),
};
