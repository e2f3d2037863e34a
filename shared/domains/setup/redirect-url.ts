import * as z from "zod";

import { textFault } from "../../core/text.ts";
import { isSpecialUse, readName } from "../name.ts";

const longest = 2_048;
const example = "Write a full address such as https://www.example.com/";

/** What RFC 3986 has no place for and the URL parser of browsers mends or drops without a word. */
const mended = /[\s\\<>"^`{|}]/u;

/** What is wrong with where a redirect leads, as one sentence without its period; undefined when nothing is. */
function fault(given: string): string | undefined {
  const odd = mended.exec(given)?.[0];
  const unseen = textFault(given);
  if (unseen !== undefined) return unseen;
  if (odd !== undefined) return `An address has no ${odd.trim() === "" ? "spaces" : odd}`;
  const [, authority = ""] = /^https?:\/\/([^/?#]+)(?:[/?#]|$)/i.exec(given) ?? [];
  if (authority === "" || !URL.canParse(given)) return example;
  if (authority.includes("@")) return "Leave the user name and password out of the address";
  const [, host = ""] = /^(.*?)(?::\d*)?$/.exec(authority) ?? [];
  if (host.startsWith("[")) return "Write a name as the host, not an IP address";
  const read = readName(host);
  if ("fault" in read) return read.fault;
  if (isSpecialUse(read.name)) return `${read.name} is not on the public internet`;
  return new URL(given).hostname.replace(/\.$/, "") === read.name ? undefined : example;
}

/**
 * Where a website redirects to, as the URL Standard of browsers writes it: http or https, a public name as its host, no
 * credentials. What the parser would mend is refused, as others would read it otherwise.
 */
export const RedirectUrl = z
  .string()
  .max(longest, { abort: true })
  .superRefine((given, context) => {
    const message = fault(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((given) => URL.parse(given)?.href ?? given)
  .refine((href) => href.length <= longest, { error: `Encoded, the address has more than ${longest} characters` })
  .meta({ format: "uri" });
