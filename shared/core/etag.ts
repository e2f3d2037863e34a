import { hash } from "node:crypto";

import type * as z from "zod";

import { Problem } from "./errors.ts";

/** The content of `If-Match` or `If-None-Match`: a list of entity tags, or `*` for any tag. */
export type Tags = "*" | readonly string[];

/**
 * Two schemas of a resource: `view` is the whole view, and `own` has the members that the entity tag covers. The
 * default of `own` is `view`.
 */
export type TagSchemas = { view: z.ZodObject; own?: z.ZodObject };

/** The strong entity tag of a view (RFC 9110 §8.8.3): different views have different tags. */
export const etagOf = (view: unknown): string => `"${hash("sha256", JSON.stringify(view), "base64url").slice(0, 22)}"`;

/** One element of a list of tags, with the comma after it. An element may be empty (RFC 9110 §5.6.1, §8.8.3). */
const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** Parses the tags of a header field; undefined if the field is malformed or has no tag. */
export function parseTags(field: string): Tags | undefined {
  if (field.trim() === "*") return "*";
  const tags: string[] = [];
  element.lastIndex = 0;
  while (element.lastIndex < field.length) {
    const match = element.exec(field);
    if (!match) return undefined;
    if (match[1] !== undefined) tags.push(match[1]);
  }
  return tags.length === 0 ? undefined : tags;
}

/**
 * The entity tag of a resource. The tag covers the members of `own`, and not the members that come from other
 * resources.
 */
export const tagOf = ({ view, own = view }: TagSchemas, resource: unknown): string => etagOf(own.parse(resource));

/** Whether a strong tag is in the list by strong comparison: a weak tag never matches (RFC 9110 §8.8.3.2). */
const hasTagStrongly = (tags: Tags, etag: string): boolean => tags === "*" || tags.includes(etag);

/** Whether a strong tag is in the list by weak comparison: a weak tag of the list matches too (RFC 9110 §8.8.3.2). */
export const hasTagWeakly = (tags: Tags, etag: string): boolean =>
  tags === "*" || tags.some((tag) => tag.replace(/^W\//, "") === etag);

/** The entity tags that the caller accepts, and the schemas for the current tag of the resource. */
export type IfMatch = { tags: Tags; schemas: TagSchemas };

/**
 * Throws 412 `precondition_failed` if the resource has none of the tags that the caller accepts. Without `ifMatch`, the
 * caller accepts any tag.
 */
export function requireMatch(ifMatch: IfMatch | undefined, resource: unknown): void {
  if (ifMatch === undefined || hasTagStrongly(ifMatch.tags, tagOf(ifMatch.schemas, resource))) return;
  throw hasChanged();
}

/** The 412 for a resource that has changed since the caller read it. */
const hasChanged = (): Problem =>
  new Problem(
    "precondition_failed",
    "The resource has changed since you read it. Read it again, and then decide whether to repeat the request.",
  );
