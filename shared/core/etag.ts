import { createHash } from "node:crypto";

import type * as z from "zod";

import { Problem } from "./errors.ts";

/** The content of `If-Match` or `If-None-Match`: a list of entity tags, or `*` for any. */
export type Tags = "*" | readonly string[];

/** The schema of a resource's view, and of the members that make up its entity tag (all if `own` is not given). */
export type Own = { view: z.ZodObject; own?: z.ZodObject };

/** A strong entity tag (RFC 9110 §8.8.3): values that differ anywhere have different tags. */
export const etagOf = (view: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(view)).digest("base64url").slice(0, 22)}"`;

/** One element of a list of tags, which may be empty (RFC 9110 §5.6.1, §8.8.3), and the comma after it. */
const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** Parses the tags of a header field; undefined if it is malformed or lists none. */
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

/**
 * The entity tag of a resource. It covers only the resource's own state, not the parts of its view that come from other
 * resources.
 */
export const tagOf = ({ view, own = view }: Own, resource: unknown): string => etagOf(own.parse(resource));

/** Whether a tag is in the list. Weak tags match only if `weakly` is set (RFC 9110 §8.8.3.2). */
export const hasTag = (tags: Tags, etag: string, weakly = false): boolean =>
  tags === "*" || tags.some((tag) => (weakly ? tag.replace(/^W\//, "") : tag) === etag);

/** The entity tags that the caller accepts, and the schemas from which the current tag is made. */
export type IfMatch = { tags: Tags; of: Own };

/** Throws 412 `precondition_failed` unless the resource has one of the tags that the caller accepts. */
export function requireMatch(ifMatch: IfMatch | undefined, resource: unknown): void {
  if (ifMatch === undefined || hasTag(ifMatch.tags, tagOf(ifMatch.of, resource))) return;
  throw hasChanged();
}

export const hasChanged = (): Problem =>
  new Problem(
    "precondition_failed",
    "The resource has changed since you read it. Read it again, and then decide whether to repeat the request.",
  );
