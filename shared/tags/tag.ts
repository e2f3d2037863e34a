import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { change, defineKind } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { Id, idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import { line, orNothing } from "../core/text.ts";
import { Timestamp } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { aheadOfList, appendRows, readList, readRows, removeRows, rowKey, type List } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { claimName, planNameChange, planNameRemoval, reservedNameKeys } from "../table/reserved-name.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";

/*
 * Access patterns
 *   tags of an account, and a tag by the ordinal in its id ACCOUNT#<id> / LIST#tags
 *   whether a name is taken                                ACCOUNT#<id> / TAG_NAME#<SHA-256 of the folded name>
 */
/** The list of an account's tags. */
export const tagsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "tags" });
/** The key of the tag with this id. An id in another form gets a key that no tag has. */
export const tagKey = (accountId: string, id: string): Key => rowKey(tagsOf(accountId), ordinalOf(id) ?? 2 ** 40);

const tagNameKeys = (accountId: string, name: string): [Key, ...Key[]] => reservedNameKeys(accountId, "TAG", name);

export const TagParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  tag_id: Id.meta({ description: "The tag's id." }),
});

export const NewTag = z
  .strictObject({
    name: line({ most: 50, description: "The tag's name, unique in the account ignoring case." }),
    color_hex: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, { error: "Write a colour such as #1a7f37" })
      .nullable()
      .optional()
      .meta({ description: "The colour in which a user interface shows the tag, such as `#1a7f37`." }),
    description: orNothing(line({ least: 0, most: 500, description: "The purpose of the tag." })),
  })
  .meta({ id: "TagCreate", description: "A new tag." });

export const Tag = z
  .object({
    id: Id.meta({ description: "The tag's id." }),
    name: z.string().meta({ description: "The tag's name, unique in its account ignoring case." }),
    color_hex: z.string().nullable().meta({ description: "The tag's colour." }),
    description: z.string().nullable().meta({ description: "The purpose of the tag." }),
    created_at: Timestamp.meta({ description: "When the tag was created." }),
  })
  .meta({ id: "Tag", description: "A label that domains can have." });
type Tag = z.output<typeof Tag>;

export const tagKind = defineKind({
  name: "tag",
  verbs: ["created", "updated", "deleted"],
  view: Tag,
  seenWith: "account.view",
});

/** The most tags of an account. */
export const tagLimit = 1_000;

/**
 * Creates a tag. Throws 409 `tag_name_taken` if another tag has the name, and 409 `limit_reached` if the account has
 * 1,000 tags already.
 */
export function addTag(
  accountId: string,
  { name, color_hex = null, description = null }: z.output<typeof NewTag>,
  { table, commit, now }: Context,
): Promise<Tag> {
  return commit(async () => {
    const { state } = await readList(table, tagsOf(accountId));
    if (state.live >= tagLimit)
      throw new Problem("limit_reached", `An account can have ${tagLimit} tags at most. Delete a tag first.`);
    const id = idWithOrdinal(state.next);
    const tag: Tag = { id, name, color_hex, description, created_at: now().toISOString() };
    return {
      value: tag,
      writes: [...appendRows(state, [tag]), ...claimName(tagNameKeys(accountId, name), id, nameTaken)],
      changes: [change(tagKind, "created", id, { after: tag })],
    };
  });
}

const nameTaken = (holder: Record<string, string>): Problem =>
  new Problem("tag_name_taken", "Another tag of this account has this name.", { conflicts_with: holder["id"] ?? "" });

export const TagChanges = z
  .strictObject({
    name: NewTag.shape.name.optional(),
    color_hex: NewTag.shape.color_hex,
    description: NewTag.shape.description,
  })
  .meta({ id: "TagUpdate", description: "The changes to a tag." });

/**
 * Changes a tag. Undefined members stay as they are; null removes a colour or a description. Domains refer to a tag by
 * its id, so they show the new name. Throws 404 for an unknown tag, and 409 `tag_name_taken` if another tag has the new
 * name.
 */
export function updateTag(
  accountId: string,
  id: string,
  changes: z.output<typeof TagChanges>,
  { table, commit }: Context,
): Promise<Tag> {
  const members = Object.entries(changes).filter(([, value]) => value !== undefined);
  return commit(async () => {
    const before = await table.get(tagKey(accountId, id), Tag);
    if (before?.id !== id) throw notFound();
    const after: Tag = { ...before, ...Object.fromEntries(members) };
    if (isDeepStrictEqual(after, before)) return { value: before, writes: [], changes: [] };
    const names = { from: tagNameKeys(accountId, before.name), to: tagNameKeys(accountId, after.name) };
    return {
      value: after,
      writes: [
        { update: tagKey(accountId, id), set: Object.fromEntries(members), if: { id, name: before.name } },
        ...(await planNameChange(table, names, id, nameTaken)),
      ],
      changes: [change(tagKind, "updated", id, { before, after })],
    };
  });
}

/** A page of the account's tags, oldest first. */
export async function listTags(
  accountId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: Tag[]; total: number }> {
  const { rows, total } = await readRows(table, tagsOf(accountId), spanOf(page));
  return { items: rows.map((row) => Tag.parse(row)), total };
}

/** The items that `deleteTag` reads. */
export const aheadOfTag = (accountId: string, id: string): Ahead =>
  aheadOfList(tagsOf(accountId), [ordinalOf(id) ?? 0], [tagKey(accountId, id)]);

/**
 * Deletes a tag. Domains keep the id of the tag, but do not show the tag any more, because `tagsAmong` leaves it out.
 * Throws 404 for an unknown tag.
 */
export function deleteTag(accountId: string, id: string, { table, commit }: Context): Promise<void> {
  return commit(async () => {
    const ordinal = ordinalOf(id);
    if (ordinal === undefined) throw notFound();
    const { state, others } = await readList(table, tagsOf(accountId), [ordinal], [tagKey(accountId, id)]);
    const tag = Tag.safeParse(others[0]).data;
    if (tag?.id !== id) throw notFound();
    return {
      value: undefined,
      writes: [
        ...removeRows(state, [ordinal], { if: { id, name: tag.name } }),
        ...(await planNameRemoval(table, tagNameKeys(accountId, tag.name), id)),
      ],
      changes: [change(tagKind, "deleted", id, { before: tag })],
    };
  });
}

/** Finds a tag by its id or its name; undefined if the account does not have the tag. */
export async function tagByRef(table: Reader, accountId: string, ref: string): Promise<Tag | undefined> {
  const pointers = await table.getMany(tagNameKeys(accountId, ref));
  const ids = [
    ...(Id.safeParse(ref).success ? [ref.toLowerCase()] : []),
    ...pointers.flatMap((pointer) => (pointer ? [String(pointer["id"])] : [])),
  ];
  const tags = await tagsAmong(table, accountId, ids);
  return ids.map((id) => tags.get(id)).find((tag) => tag !== undefined);
}

/** The existing tags with these ids, by id. A domain may still store the id of a deleted tag. */
export async function tagsAmong(table: Reader, accountId: string, ids: readonly string[]): Promise<Map<string, Tag>> {
  const distinctIds = [...new Set(ids)];
  const rows = await table.getMany(distinctIds.map((id) => tagKey(accountId, id)));
  const tags = rows.flatMap((row) => Tag.safeParse(row).data ?? []);
  return new Map(tags.filter(({ id }) => distinctIds.includes(id)).map((tag) => [tag.id, tag]));
}
