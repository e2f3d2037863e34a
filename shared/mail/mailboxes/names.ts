import { isDeepStrictEqual } from "node:util";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

import * as z from "zod";

import { ordinalOf } from "../../core/ids.ts";
import { domainsByIds } from "../../domains/find.ts";
import { isDeleted, type ListState, readList, readWhole, rowKey } from "../../table/ranked-list.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Item, Key, Write } from "../../table/writes.ts";
import { mailboxesOf, StoredMailbox } from "./mailbox.ts";

/*
 * A block has the addresses, names and statuses of the mailboxes at 256 ordinals of an account's list, compressed into
 * one item. So a search reads a few bytes for each mailbox.
 * - The transaction that gives out every 64th ordinal writes the block. A later change of a mailbox changes the block
 *   too.
 * - A deleted mailbox stays in its block until the next daily run. The list says which ordinals are deleted.
 * - Mailboxes that are in no block yet are searched in their rows. A migration packs the mailboxes of earlier versions.
 *
 * Access patterns
 *   the names at a block of ordinals   ACCOUNT#<id> / LIST#mailboxes#NAMES#<block>
 */
export const perBlock = 256;
const perWrite = 64;

/**
 * The members of a mailbox that a search needs. They include the name of the domain, which never changes. `aliases` are
 * local parts.
 */
export type NamedMailbox = {
  ordinal: number;
  domain: { id: string; name: string };
  local_part: string;
  first_name: string;
  last_name: string;
  aliases: string[];
  status: StoredMailbox["status"];
};

/**
 * A block. `version` counts its changes. `packed` has the mailboxes at the ordinals before `until`. `until` and
 * `packed` are absent if a mailbox was changed before the block was packed.
 */
const StoredBlock = z.object({
  version: z.int(),
  until: z.int().optional(),
  packed: z.instanceof(Uint8Array).optional(),
});

/**
 * The content of a block by columns, which compress better than rows. `offsets` are the ordinals, each relative to the
 * ordinal before. `homes` are indexes in `domains`. Blocks of earlier versions have neither aliases nor statuses.
 */
const Content = z.object({
  domains: z.array(z.tuple([z.string(), z.string()])),
  offsets: z.array(z.int()),
  homes: z.array(z.int()),
  locals: z.array(z.string()),
  firsts: z.array(z.string()),
  lasts: z.array(z.string()),
  aliases: z.array(z.array(z.string())).optional(),
  statuses: z.array(StoredMailbox.shape.status).optional(),
});

export const blockKey = (accountId: string, block: number): Key => {
  const { partition, name } = mailboxesOf(accountId);
  return { PK: partition, SK: `LIST#${name}#NAMES#${String(block).padStart(10, "0")}` };
};

const options = {
  params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_QUALITY]: 9 },
};

type Person = Pick<NamedMailbox, "local_part" | "first_name" | "last_name">;

/** Characters that stand for the person's names within a local part. A local part often contains these names. */
const [firstMark, lastMark] = ["\u0001", "\u0002"];

const localOf = (short: string, { first_name, last_name }: Omit<Person, "local_part">): string =>
  short.replace(lastMark, () => last_name.toLowerCase()).replace(firstMark, () => first_name.toLowerCase());

/** Shortens a local part: replaces the person's names by marks. `localOf` puts the names back. */
function shortened({ local_part, first_name, last_name }: Person): string {
  const short = local_part.replace(first_name.toLowerCase(), firstMark).replace(last_name.toLowerCase(), lastMark);
  return localOf(short, { first_name, last_name }) === local_part ? short : local_part;
}

function pack(named: readonly NamedMailbox[]): Uint8Array {
  const domains = new Map(named.map(({ domain }) => [domain.id, domain.name]));
  const places = new Map([...domains.keys()].map((id, place) => [id, place]));
  const content: z.output<typeof Content> = {
    domains: [...domains],
    offsets: named.map(({ ordinal }, index) => ordinal - (named[index - 1]?.ordinal ?? 0)),
    homes: named.map(({ domain }) => places.get(domain.id) ?? 0),
    locals: named.map(shortened),
    firsts: named.map(({ first_name }) => first_name),
    lasts: named.map(({ last_name }) => last_name),
    aliases: named.map(({ aliases }) => aliases),
    statuses: named.map(({ status }) => status),
  };
  return brotliCompressSync(JSON.stringify(content), options);
}

/** The mailboxes of a block whose ordinals are less than `until`. */
type Packed = { named: NamedMailbox[]; until: number };

/**
 * The mailboxes in an item; undefined if the item has no mailboxes, or if an earlier version packed the mailboxes
 * without their aliases.
 */
export function unpack(item: Item): Packed | undefined {
  const { packed, until } = StoredBlock.parse(item);
  if (!packed || until === undefined) return undefined;
  const text = brotliDecompressSync(packed).toString();
  const { domains, offsets, homes, locals, firsts, lasts, aliases, statuses } = Content.parse(JSON.parse(text));
  if (!aliases || !statuses) return undefined;
  let ordinal = 0;
  const named = offsets.map((offset, index) => {
    ordinal += offset;
    const [id = "", name = ""] = domains[homes[index] ?? 0] ?? [];
    const person = { first_name: firsts[index] ?? "", last_name: lasts[index] ?? "" };
    return {
      ordinal,
      domain: { id, name },
      local_part: localOf(locals[index] ?? "", person),
      ...person,
      aliases: aliases[index] ?? [],
      status: statuses[index] ?? "active",
    };
  });
  return { named, until };
}

const blockWrite = (accountId: string, block: number, version: number, { named, until }: Packed): Write => ({
  put: { ...blockKey(accountId, block), version: version + 1, until, packed: pack(named) },
  if: version === 0 ? "absent" : { version },
});

/** Reads the mailboxes in rows of the account's list from one ordinal to another, both included. */
export async function namedInRows(table: Reader, accountId: string, from: number, to: number): Promise<NamedMailbox[]> {
  const list = mailboxesOf(accountId);
  if (to < from) return [];
  const rows = await table.between(list.partition, rowKey(list, from).SK, rowKey(list, to).SK);
  const mailboxes = rows.map((row) => StoredMailbox.parse(row));
  const ids = [...new Set(mailboxes.map(({ domain_id }) => domain_id))];
  const domains = new Map((await domainsByIds(table, accountId, ids)).map(({ id, name }) => [id, { id, name }]));
  return mailboxes.flatMap((mailbox) => {
    const domain = domains.get(mailbox.domain_id);
    return domain ? [namedOf(mailbox, domain)] : [];
  });
}

export const namedOf = (
  { id, local_part, first_name, last_name, aliases, status }: StoredMailbox,
  { id: domainId, name }: NamedMailbox["domain"],
): NamedMailbox => ({
  ordinal: ordinalOf(id) ?? 0,
  domain: { id: domainId, name },
  local_part,
  first_name,
  last_name,
  aliases,
  status,
});

/** A block that an addition packs: its number, its version, and the mailboxes before the added mailboxes. */
export type DueBlock = { block: number; version: number; named: NamedMailbox[] };

/**
 * Reads the block that the addition of `count` rows has to pack; undefined if there is no block to pack. The version is
 * read first: if a name changes after that, the write of `packWrite` fails.
 */
export async function dueBlock(
  table: Reader,
  accountId: string,
  { next }: Pick<ListState, "next">,
  count: number,
): Promise<DueBlock | undefined> {
  if (Math.floor((next + count) / perWrite) === Math.floor(next / perWrite)) return undefined;
  const block = Math.floor(next / perBlock);
  const { version, packed } = await readBlock(table, accountId, block);
  const rows = await namedInRows(table, accountId, packed?.until ?? block * perBlock, next - 1);
  return { block, version, named: [...(packed?.named ?? []), ...rows] };
}

async function readBlock(table: Reader, accountId: string, block: number) {
  const [item] = await table.getMany([blockKey(accountId, block)]);
  return { version: item ? StoredBlock.parse(item).version : 0, packed: item && unpack(item) };
}

/** The write that packs a block, with the mailboxes that are added. */
export function packWrite(
  accountId: string,
  { block, version, named }: DueBlock,
  added: readonly NamedMailbox[],
): Write {
  const end = (block + 1) * perBlock;
  const all = [...named, ...added.filter(({ ordinal }) => ordinal < end)];
  return blockWrite(accountId, block, version, { named: all, until: Math.min(end, (added.at(-1)?.ordinal ?? 0) + 1) });
}

/** The key of the block that has the names of a mailbox; undefined for an id in another form. */
export function blockKeyOf(accountId: string, mailboxId: string): Key | undefined {
  const ordinal = ordinalOf(mailboxId);
  return ordinal === undefined ? undefined : blockKey(accountId, Math.floor(ordinal / perBlock));
}

/**
 * The write that changes or adds a mailbox in its block. If the block is not packed, or ends before the mailbox, the
 * write changes nothing but the block's version. A transaction that packs the block has read the version before the
 * mailboxes. So if a mailbox changes at the same time, that transaction fails.
 */
export async function namesWrite(table: Reader, accountId: string, changed: NamedMailbox): Promise<Write> {
  const block = Math.floor(changed.ordinal / perBlock);
  const { version, packed } = await readBlock(table, accountId, block);
  if (packed) {
    const others = packed.named.filter(({ ordinal }) => ordinal !== changed.ordinal);
    const all = changed.ordinal < packed.until ? [...others, changed] : others;
    const named = all.toSorted((a, b) => a.ordinal - b.ordinal);
    return blockWrite(accountId, block, version, { ...packed, named });
  }
  return { put: { ...blockKey(accountId, block), version: version + 1 }, if: version === 0 ? "absent" : { version } };
}

/** The items of all blocks of an account, by their numbers. */
export async function readBlocks(table: Reader, accountId: string): Promise<Map<number, Item>> {
  const { PK, SK } = blockKey(accountId, 0);
  const items = await table.between(PK, SK, blockKey(accountId, 9_999_999_999).SK);
  return new Map(items.map((item) => [Number(item.SK.slice(-10)), item]));
}

/**
 * Packs the full blocks that earlier versions left unpacked. Also packs again the blocks that differ from the rows of
 * their mailboxes, because an earlier version changed the rows after a roll-back.
 */
export async function packNames(table: Table, accountId: string): Promise<void> {
  const { state } = await readList(table, mailboxesOf(accountId));
  for (let block = 0; block * perBlock < state.next; block++) {
    const end = (block + 1) * perBlock;
    await table.commit(async () => {
      // The block is read first: if a mailbox changes after that, the block changes, and this transaction fails.
      const { version, packed } = await readBlock(table, accountId, block);
      const until = end <= state.next ? end : packed?.until;
      if (until === undefined) return { value: undefined, writes: [] };
      const named = await namedInRows(table, accountId, block * perBlock, until - 1);
      const isPacked = packed?.until === until && isDeepStrictEqual(packed.named, named);
      return { value: undefined, writes: isPacked ? [] : [blockWrite(accountId, block, version, { named, until })] };
    });
  }
}

/** Removes the names of deleted mailboxes from the blocks. Reads only the blocks in which mailboxes were deleted. */
export async function removeDeletedNames(table: Table, accountId: string): Promise<void> {
  const list = mailboxesOf(accountId);
  const state = await readWhole(table, list);
  if (state.live === state.next) return;
  const blocks = Array.from({ length: Math.ceil(state.next / perBlock) }, (_, block) => block).filter((block) =>
    ordinalsIn(block).some((ordinal) => isDeleted(state, ordinal)),
  );
  const items = await table.getMany(blocks.map((block) => blockKey(accountId, block)));
  for (const [index, block] of blocks.entries()) {
    const item = items[index];
    if (!item || !unpack(item)?.named.some(({ ordinal }) => isDeleted(state, ordinal))) continue;
    await table.commit(async () => {
      // The block is read first: if a mailbox comes back after that, the block changes, and this transaction fails.
      const { version, packed } = await readBlock(table, accountId, block);
      if (!packed) return { value: undefined, writes: [] };
      const present = await readWhole(table, list);
      const named = packed.named.filter(({ ordinal }) => !isDeleted(present, ordinal));
      return { value: undefined, writes: [blockWrite(accountId, block, version, { ...packed, named })] };
    });
  }
}

const ordinalsIn = (block: number): number[] =>
  Array.from({ length: perBlock }, (_, place) => block * perBlock + place);
