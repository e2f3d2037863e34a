import { shown } from "../../core/reading.ts";

/** RFC 7208 §7.1; the letters c, r and t are for explanations only. */
const macro = /%(?:[%_-]|\{[slodiphv](?:[1-9]\d?\d?)?r?[.\-+,/_=]*\})/gi;
const label = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?";
const topLabel = "(?!\\d+\\.?$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const plainName = new RegExp(`^(?:${label}\\.)+${topLabel}\\.?$`, "i");
const macroEnd = new RegExp(`(?:%(?:[%_-]|\\{[^}]*\\})|\\.${topLabel}\\.?)$`, "i");

/** What is wrong with the domain-spec (RFC 7208 §7.1) of a term; undefined when nothing. */
export function domainSpecFault(term: string, spec: string): string | undefined {
  const name = shown(term);
  if (spec === "") {
    return `${name} has no domain: write one, such as ${term.replace(/[:=]?$/, (end) => end || ":")}example.com`;
  }
  if (spec.replace(macro, "").includes("%")) return `${name} has a % that begins no macro, such as %{i}`;
  if (spec.length > 253) return `${name} is longer than a name can be`;
  if (spec.includes("%")) {
    return macroEnd.test(spec) ? undefined : `${name} must end with a macro or a top-level domain`;
  }
  if (!spec.includes(".")) return `${name} needs a full name: write ${shown(`${spec}.example.com`)} for ${shown(spec)}`;
  const isName = plainName.test(spec) && spec.split(".").every((part) => part.length <= 63);
  return isName ? undefined : `${name} has no valid name: ${shown(spec)}`;
}
