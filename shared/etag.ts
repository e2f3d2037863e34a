import { createHash } from "node:crypto";

import { Problem } from "./errors.ts";

/** What `If-Match` or `If-None-Match` lists: entity tags, or `*` for any. */
export type Tags = "*" | readonly string[];

/** A strong entity tag of a resource's view (RFC 9110 §8.8.3): two views that differ anywhere have two. */
export const etagOf = (view: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(view)).digest("base64url").slice(0, 22)}"`;

/** One element of a list of tags, which may be empty (RFC 9110 §5.6.1, §8.8.3), and the comma after it. */
const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** The tags of a header field; undefined when it is malformed, or lists none. */
export function parseTags(field: string): Tags | undefined {
  if (field.trim() === "*") return "*";
  const tags: string[] = [];
  element.lastIndex = 0;
  while (element.lastIndex < field.length) {
    const found = element.exec(field);
    if (!found) return undefined;
    if (found[1] !== undefined) tags.push(found[1]);
  }
  return tags.length === 0 ? undefined : tags;
}

/** Whether the view has one of the tags. Weak ones match only where `weakly` allows it (RFC 9110 §8.8.3.2). */
export const hasTag = (tags: Tags, view: unknown, weakly = false): boolean =>
  tags === "*" || tags.some((tag) => (weakly ? tag.replace(/^W\//, "") : tag) === etagOf(view));

/** 412 unless the resource is as the caller last saw it. */
export function requireMatch(ifMatch: Tags | undefined, view: unknown): void {
  if (ifMatch === undefined || hasTag(ifMatch, view)) return;
  throw new Problem("precondition_failed", "It has changed since you read it. Read it again and decide anew.");
}
