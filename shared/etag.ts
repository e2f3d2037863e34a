import { createHash } from "node:crypto";

import { Problem } from "./errors.ts";

/** What `If-Match` or `If-None-Match` lists: entity tags, or `*` for any. */
export type Tags = "*" | readonly string[];

/** A strong entity tag of a resource's view (RFC 9110 §8.8.3): two views that differ anywhere have two. */
export const etagOf = (view: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(view)).digest("base64url").slice(0, 22)}"`;

/** The tags of a header field; undefined when it is malformed. */
export function parseTags(field: string): Tags | undefined {
  if (field.trim() === "*") return "*";
  const tags = field.split(",").map((tag) => tag.trim());
  return tags.every((tag) => /^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(tag)) ? tags : undefined;
}

/** Whether the view has one of the tags. Weak ones match only where `weakly` allows it (RFC 9110 §8.8.3.2). */
export const hasTag = (tags: Tags, view: unknown, weakly = false): boolean =>
  tags === "*" || tags.some((tag) => (weakly ? tag.replace(/^W\//, "") : tag) === etagOf(view));

/** 412 unless the resource is as the caller last saw it. */
export function requireMatch(ifMatch: Tags | undefined, view: unknown): void {
  if (ifMatch === undefined || hasTag(ifMatch, view)) return;
  throw new Problem("precondition_failed", "It has changed since you read it. Read it again and decide anew.");
}
