import { parse } from "tldts";

import { longestName } from "../dns/labels.ts";
import { DomainName, isSpecialUse, readName } from "./name.ts";

// Import this only where new names are added or sold: loading the list of public suffixes takes some 20 ms of a cold
// start.

/**
 * The longest name that a domain can have, in bytes. The name of its DKIM record is longer than the names of its other
 * system records, and must not be longer than the DNS allows.
 */
const longestDomain = longestName - "hm1._domainkey.".length;

/** The reason why a canonical name cannot be a customer's domain; undefined if it can. */
function newNameFault(name: string): string | undefined {
  if (name.length > longestDomain)
    return `The name is longer than ${longestDomain} bytes, so it cannot have mail records`;
  const { isIcann, isPrivate, domain, publicSuffix } = parse(name, { allowPrivateDomains: true });
  const last = name.split(".").at(-1) ?? "";
  if (isSpecialUse(name)) return `Names under .${last} are reserved. They are not on the public internet`;
  if (!isIcann && !isPrivate) return `.${last} is not a top-level domain`;
  if (domain === null) return `${publicSuffix ?? name} is a public suffix. Write a name under it`;
  return undefined;
}

/** The schema of a new domain's name: at most 238 bytes, below a public suffix, and not for special use. */
export const NewDomainName = DomainName.superRefine((name, context) => {
  const fault = "fault" in readName(name) ? undefined : newNameFault(name);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
});

/**
 * The public suffix of a name (`co.uk`), and the name that can be registered under it (`example.co.uk`). Undefined if
 * the name is a public suffix itself.
 */
export function registrableName(name: string): { suffix: string; domain: string } | undefined {
  const { domain, publicSuffix } = parse(name, { allowPrivateDomains: false });
  return domain === null || publicSuffix === null ? undefined : { suffix: publicSuffix, domain };
}
