import * as z from "zod";

import { type Change, change, defineKind } from "../../changes/kind.ts";
import { notFound } from "../../core/errors.ts";
import { Id, idWithOrdinal, ordinalOf } from "../../core/ids.ts";
import { type OrderedPage, spanOf } from "../../core/page.ts";
import { line, orNothing } from "../../core/text.ts";
import { Timestamp } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import {
  aheadOfList,
  aheadOfRows,
  appendRows,
  type List,
  readList,
  readRows,
  removeRows,
  rowKey,
} from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { TargetEmail } from "../forwarding/target.ts";
import { readRecipient } from "./recipient.ts";

/*
 * Access patterns
 *   suppressions of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#suppressions
 *   the suppression of an address                                 ACCOUNT#<id> / SUPPRESSION#<address>
 */
const suppressionsOf = (accountId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: "suppressions",
});
/** The row key of the suppression with this id. An id in another form gets an ordinal that no suppression ever has. */
const suppressionKey = (accountId: string, id: string): Key =>
  rowKey(suppressionsOf(accountId), ordinalOf(id) ?? 2 ** 40);
const addressKey = (accountId: string, email: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SUPPRESSION#${email}`,
});

const Pointer = z.object({ id: z.string() });

/** The schema of a suppressed address. Its output is in lower case. */
export const SuppressedEmail = TargetEmail.meta({
  description: "The address that gets no mail. Upper case becomes lower case.",
  examples: ["ada@example.com"],
});

/** The schema of a reference to a suppression. */
const SuppressionRef = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    if (Id.safeParse(given).success || SuppressedEmail.safeParse(given).success) return;
    context.addIssue({ code: "custom", message: "Write a suppression's id or its address" });
  })
  .overwrite((given) => SuppressedEmail.safeParse(given).data ?? given.toLowerCase())
  .meta({ description: "The suppression's id or its address.", examples: ["ada@example.com"] });

export const SuppressionParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  suppression: SuppressionRef,
});

const mostDetail = 500;

export const NewSuppression = z
  .strictObject({
    email: SuppressedEmail,
    detail: orNothing(line({ most: mostDetail, description: "Why the address gets no mail." })),
  })
  .meta({ id: "SuppressionCreate", description: "A new suppression." });

export const Suppression = z
  .object({
    id: Id.meta({ description: "The suppression's id." }),
    email: z.string().meta({ description: "The address that gets no mail." }),
    reason: z.enum(["bounce", "complaint", "manual"]).meta({
      description:
        "`bounce`: a mail failed because the address cannot be reached. `complaint`: the recipient reported a mail as spam. `manual`: somebody of the account added the suppression.",
    }),
    status: z
      .string()
      .nullable()
      .meta({ description: "The status code of the bounce (RFC 3463), such as `5.1.1`. Null for other reasons." }),
    detail: z.string().nullable().meta({
      description:
        "The reply of the recipient's server, or the text of the caller who added the suppression. Null if there is none.",
    }),
    created_at: Timestamp.meta({ description: "When the address was suppressed." }),
  })
  .meta({ id: "Suppression", description: "An address to which no mail of the account is sent." });
export type Suppression = z.output<typeof Suppression>;

export const suppressionKind = defineKind({
  name: "suppression",
  verbs: ["added", "deleted"],
  view: Suppression,
  seenWith: "suppression.view",
});

/** An address to suppress, and the reason. */
export type Addition = Omit<Suppression, "id" | "created_at">;

/**
 * The most writes that `planSuppressions` plans for each address. One more write changes the head of the list, however
 * many addresses there are.
 */
export const writesPerSuppression = 2;

/**
 * Plans to suppress addresses. No address may be given twice. An address that is suppressed already does not change.
 * `suppressions` has the new or existing suppression of each addition, in the order of the additions.
 */
export async function planSuppressions(
  table: Reader,
  accountId: string,
  additions: readonly Addition[],
  now: Date,
): Promise<{ suppressions: Suppression[]; writes: Write[]; changes: Change[] }> {
  const list = suppressionsOf(accountId);
  const keys = additions.map(({ email }) => addressKey(accountId, email));
  const { state, others } = await readList(table, list, [], keys);
  const pointers = others.map((item) => (item ? Pointer.parse(item) : undefined));
  const rows = await table.getMany(
    pointers.flatMap((pointer) => (pointer ? [suppressionKey(accountId, pointer.id)] : [])),
  );
  const existing = new Map(
    rows.flatMap((row) => (row ? [[String(row["email"]), Suppression.parse(row)] as const] : [])),
  );
  let next = state.next;
  const suppressions = additions.map(
    (addition): Suppression =>
      existing.get(addition.email) ?? { ...addition, id: idWithOrdinal(next++), created_at: now.toISOString() },
  );
  const added = suppressions.filter(({ email }) => !existing.has(email));
  if (added.length === 0) return { suppressions, writes: [], changes: [] };
  return {
    suppressions,
    writes: [
      ...appendRows(state, added),
      ...added.map(({ id, email }): Write => ({ put: { ...addressKey(accountId, email), id }, if: "absent" })),
    ],
    changes: added.map((suppression) => change(suppressionKind, "added", suppression.id, { after: suppression })),
  };
}

/** The items that `addSuppression` reads. */
export const aheadOfAddition = (accountId: string, email: string): Ahead =>
  aheadOfList(suppressionsOf(accountId), [], [addressKey(accountId, email)]);

/** Suppresses an address. Returns the existing suppression of an address that is suppressed already. */
export function addSuppression(
  accountId: string,
  { email, detail = null }: z.output<typeof NewSuppression>,
  { table, commit, now }: Context,
): Promise<Suppression> {
  return commit(async () => {
    const addition: Addition = { email, reason: "manual", status: null, detail };
    const { suppressions, writes, changes } = await planSuppressions(table, accountId, [addition], now());
    const [value] = suppressions;
    if (!value) throw new Error("no suppression was planned");
    return { value, writes, changes };
  });
}

type ListQuery = OrderedPage & { email?: string | undefined };

/** The items that `listSuppressions` reads first. */
export const aheadOfSuppressions = (accountId: string, { email, ...page }: ListQuery): Ahead =>
  email === undefined ? aheadOfRows(suppressionsOf(accountId), spanOf(page)) : { keys: [addressKey(accountId, email)] };

/**
 * A page of the account's suppressions, in the order of the page; with `email`, only the suppression of this address.
 */
export async function listSuppressions(
  accountId: string,
  { email, ...page }: ListQuery,
  { table }: Pick<Context, "table">,
): Promise<{ items: Suppression[]; total: number }> {
  if (email === undefined) {
    const { rows, total } = await readRows(table, suppressionsOf(accountId), spanOf(page));
    return { items: rows.map((row) => Suppression.parse(row)), total };
  }
  const found = await suppressionOf(table, accountId, email);
  const items = found && page.page === 1 ? [found] : [];
  return { items, total: found ? 1 : 0 };
}

async function suppressionOf(table: Reader, accountId: string, email: string): Promise<Suppression | undefined> {
  const pointer = await table.get(addressKey(accountId, email), Pointer);
  return pointer && suppressionById(table, accountId, pointer.id);
}

async function suppressionById(table: Reader, accountId: string, id: string): Promise<Suppression | undefined> {
  const suppression = await table.get(suppressionKey(accountId, id), Suppression);
  return suppression?.id === id ? suppression : undefined;
}

/**
 * Whether the account sends no mail to an address, in any spelling of SMTP (`readRecipient`). Takes at most one read.
 */
export async function isSuppressed(table: Reader, accountId: string, address: string): Promise<boolean> {
  const email = SuppressedEmail.safeParse(readRecipient(address)).data;
  return email !== undefined && (await table.get(addressKey(accountId, email), Pointer)) !== undefined;
}

/** The addresses in `emails` to which the account sends no mail. `emails` are spelled as the API stores addresses. */
export async function suppressedAmong(
  table: Reader,
  accountId: string,
  emails: readonly string[],
): Promise<Set<string>> {
  const found = await table.getMany(emails.map((email) => addressKey(accountId, email)));
  return new Set(emails.filter((_, index) => found[index] !== undefined));
}

/** The items that `deleteSuppression` reads first. */
export const aheadOfSuppression = (accountId: string, ref: string): Ahead =>
  ref.includes("@")
    ? { keys: [addressKey(accountId, ref)] }
    : aheadOfList(suppressionsOf(accountId), [ordinalOf(ref) ?? 0], [suppressionKey(accountId, ref)]);

/**
 * Deletes a suppression by its id or address. Mail to the address is sent again. Throws 404 if the account does not
 * have the suppression.
 */
export function deleteSuppression(accountId: string, ref: string, { table, commit }: Context): Promise<void> {
  return commit(async () => {
    const before = ref.includes("@")
      ? await suppressionOf(table, accountId, ref)
      : await suppressionById(table, accountId, ref);
    if (!before) throw notFound();
    const ordinal = ordinalOf(before.id) ?? 0;
    const { state } = await readList(table, suppressionsOf(accountId), [ordinal]);
    return {
      value: undefined,
      writes: [
        ...removeRows(state, [ordinal], { if: { id: before.id } }),
        { delete: addressKey(accountId, before.email), if: { id: before.id } },
      ],
      changes: [change(suppressionKind, "deleted", before.id, { before })],
    };
  });
}
