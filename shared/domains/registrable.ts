import { parse } from "tldts";

import { DomainName, isSpecialUse, readName } from "./name.ts";

// Only what takes or sells new names imports this: the list of public suffixes costs a cold start some 20 ms.

/** What keeps a name, in its one spelling, from being a domain of a customer; undefined when nothing does. */
function suffixFault(name: string): string | undefined {
  const { isIcann, isPrivate, domain, publicSuffix } = parse(name, { allowPrivateDomains: true });
  const last = name.split(".").at(-1) ?? "";
  if (isSpecialUse(name)) return `Names under .${last} are reserved: they are not on the public internet`;
  if (!isIcann && !isPrivate) return `.${last} is not a top-level domain`;
  if (domain === null) return `${publicSuffix ?? name} is a public suffix: names are registered under it`;
  return undefined;
}

/** The name of a domain that is new here: below a public suffix, and not for special use. */
export const NewDomainName = DomainName.superRefine((name, context) => {
  const fault = "fault" in readName(name) ? undefined : suffixFault(name);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
});

/** The part under which a name is registered (`co.uk`), and the name one registers (`example.co.uk`). */
export function registrable(name: string): { suffix: string; domain: string } | undefined {
  const { domain, publicSuffix } = parse(name, { allowPrivateDomains: false });
  return domain === null || publicSuffix === null ? undefined : { suffix: publicSuffix, domain };
}
