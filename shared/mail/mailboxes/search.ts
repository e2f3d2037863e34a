import { unicodeOf } from "../../domains/name.ts";
import { readAddress } from "./local-part.ts";

type Searched = { local_part: string; first_name: string; last_name: string };

const folded = (text: string): string => text.normalize("NFKC").toLowerCase();

/**
 * Whether a mailbox of a domain has a text in its address, in either form of that, or in a name; a whole address is
 * that of one mailbox. Case, width and composition make no difference.
 */
export function isFound({ local_part, first_name, last_name }: Searched, domain: string, search: string): boolean {
  const address = readAddress(search);
  if (address) return address.local === local_part && address.domain === domain;
  const text = folded(search);
  const forms = domain.includes("xn--") ? [domain, unicodeOf(domain)] : [domain];
  return (
    forms.some((form) => `${local_part}@${form}`.includes(text)) || folded(`${first_name} ${last_name}`).includes(text)
  );
}
