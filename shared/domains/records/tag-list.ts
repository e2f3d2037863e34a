import { shown } from "../../core/reading.ts";

/**
 * Reads a tag-list (RFC 6376 §3.2): `name=value` separated by semicolons, names once each and in their case, the first
 * of which is given back too. Spaces around names and values are not part of them.
 */
export function readTagList(text: string): { first: string; tags: Map<string, string> } | { fault: string } {
  const parts = text.split(";").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  const tags = new Map<string, string>();
  let first = "";
  for (const part of parts) {
    const [, name, value] = /^([a-z][a-z0-9_]*)\s*=\s*(.*)$/i.exec(part) ?? [];
    if (part === "") return { fault: "There are two semicolons in a row" };
    if (name === undefined || value === undefined) {
      return { fault: `${shown(part)} is not name=value: separate such pairs with semicolons` };
    }
    if (tags.has(name)) return { fault: `${name}= is there twice` };
    first ||= name;
    tags.set(name, value);
  }
  return { first, tags };
}
