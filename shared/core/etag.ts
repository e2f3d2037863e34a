import { createHash } from "node:crypto";

import type * as z from "zod";

import { Problem } from "./errors.ts";

/** What `If-Match` or `If-None-Match` lists: entity tags, or `*` for any. */
export type Tags = "*" | readonly string[];

/** Which members of a resource's view its tag is made of: its own state. */
export type Own = { view: z.ZodObject; own?: z.ZodObject };

/** A strong entity tag (RFC 9110 §8.8.3): two values that differ anywhere have two. */
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

/** The entity tag of a resource: of its own state, not of what a view of it shows of others. */
export const tagOf = ({ view, own = view }: Own, resource: unknown): string => etagOf(own.parse(resource));

/** Whether a tag is among those listed. Weak ones match only where `weakly` allows it (RFC 9110 §8.8.3.2). */
export const hasTag = (tags: Tags, etag: string, weakly = false): boolean =>
  tags === "*" || tags.some((tag) => (weakly ? tag.replace(/^W\//, "") : tag) === etag);

/** What the caller last saw of a resource. */
export type IfMatch = { tags: Tags; of: Own };

/** 412 unless the resource is as the caller last saw it. */
export function requireMatch(ifMatch: IfMatch | undefined, resource: unknown): void {
  if (ifMatch === undefined || hasTag(ifMatch.tags, tagOf(ifMatch.of, resource))) return;
  throw hasChanged();
}

export const hasChanged = (): Problem =>
  new Problem("precondition_failed", "It has changed since you read it. Read it again and decide anew.");
