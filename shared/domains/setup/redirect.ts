import * as z from "zod";

import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import { textFault } from "../../core/text.ts";
import type { Reader } from "../../table/table.ts";
import { isInUse, type StoredDomain } from "../domain.ts";
import { isSpecialUse, readName } from "../name.ts";
import { sitesOf, type Site } from "../site.ts";

const longestUrl = 2_048;
const example = "Write a full address such as https://www.example.com/";

/** The characters that RFC 3986 does not allow, and that browsers silently replace or drop. */
const replacedCharacters = /[\s\\<>"^`{|}]/u;

/**
 * Explains why the target of a redirect is invalid, as a text for people without its final period; undefined if it is
 * valid.
 */
function fault(given: string): string | undefined {
  const badText = textFault(given);
  if (badText !== undefined) return badText;
  const replaced = replacedCharacters.exec(given)?.[0];
  if (replaced !== undefined) return `An address cannot have ${replaced.trim() === "" ? "spaces" : replaced}`;
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
 * The schema of a redirect's target, in the form of the browsers' URL Standard: http or https, a public name as the
 * host, no credentials. A text with characters that browsers would change is refused, because other programs would read
 * the text differently.
 */
export const RedirectUrl = z
  .string()
  .max(longestUrl, { abort: true })
  .superRefine((given, context) => {
    const message = fault(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((given) => URL.parse(given)?.href ?? given)
  .refine((href) => href.length <= longestUrl, { error: `The encoded address is longer than ${longestUrl} characters` })
  .meta({ format: "uri" });

/** How many redirects from one domain here to the next are followed at most. Browsers follow 20. */
const longestChain = 10;

const targetHost = (url: string): string => new URL(url).hostname.replace(/\.$/, "");

/**
 * Throws 422 `redirect_loop` if the target of a redirect is the domain itself, its `www`, or another domain here whose
 * redirect leads back to the domain. Also throws if the redirect begins a chain of more than 10 redirects. `url` is
 * null for no redirect. A redirect that does not change is not checked.
 *
 * Domains of other accounts count only while they are in use. The error does not name such a domain, unless it is the
 * target that the caller has given.
 */
export async function requireNoLoop(table: Reader, domain: StoredDomain, url: string | null): Promise<void> {
  const { account_id, name, redirect_url } = domain;
  if (url === null || url === redirect_url) return;
  let target: string | null = url;
  const passed: string[] = [];
  for (let count = 0; target !== null && count < longestChain; count++) {
    const host: string = targetHost(target);
    if (host === name || host === `www.${name}`) throw loop(name, [...passed, host]);
    const { domain: found } = (await sitesOf(table, host)).find((site) => isRedirecting(site, account_id)) ?? {};
    const isShown = count === 0 || found?.account_id === account_id;
    passed.push(isShown ? host : "a domain of another account");
    target = found?.redirect_url ?? null;
  }
  if (target !== null) throw tooLong(name, passed);
}

/** Whether a host redirects. The account's own domains count even before they are in use. */
const isRedirecting = ({ domain, label }: Site, accountId: string): boolean =>
  (label === "" || label === "www") &&
  domain.redirect_url !== null &&
  (domain.account_id === accountId || isInUse(domain));

function tooLong(name: string, passed: readonly string[]): InvalidInput {
  const msg = `${name} would redirect over ${passed.length} hosts or more: ${passed.join(" redirects to ")}. Write the address at the end of this chain`;
  return invalidAt(["body", "redirect_url"], msg, "redirect_loop");
}

function loop(name: string, passed: readonly string[]): InvalidInput {
  const way = passed.length < 2 ? "" : `, because ${passed.join(" redirects to ")}`;
  const msg = `${name} would redirect to itself${way}. Write an address elsewhere`;
  return invalidAt(["body", "redirect_url"], msg, "redirect_loop");
}
