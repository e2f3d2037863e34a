import type { Item } from "../../shared/table/writes.ts";

/** A person: the user's id if it is known, and the person's addresses in lower case. */
export type DataSubject = { userId: string | undefined; emails: ReadonlySet<string> };

/** Replaces an erased address. Names below `.invalid` never resolve (RFC 2606). */
const erasedEmail = "erased@erased.invalid";

/**
 * A kind of row, and its treatment when a person is erased. A row belongs to the first kind that has a prefix of the
 * row's sort key.
 */
type RowKind = {
  prefixes: readonly string[];
  what: string;
  /** The reason why an erasure keeps the row. Undefined if an erasure removes the person from the row. */
  kept?: string;
  /** True if an export contains the person's own rows as a whole. Other rows may contain secrets of the account. */
  isPersonal?: true;
};

const law = "The law requires that books and invoices are kept, for up to ten years in the EU.";
const expiring = "The product deletes this row within 30 days.";

const rowKinds: readonly RowKind[] = [
  { prefixes: ["JOURNAL#changes#ENTRY#"], what: "audit entry", isPersonal: true },
  { prefixes: ["LIST#feedback#"], what: "feedback", isPersonal: true },
  { prefixes: ["LIST#invitations#"], what: "invitation", isPersonal: true },
  { prefixes: ["INVITED#"], what: "last invitation of an address", isPersonal: true },
  {
    prefixes: ["ACCESS#", "OWNERS", "ASSIGNMENT#", "SCOPED#", "MEMBER#", "LIST#members/", "NOTICE_SETTINGS"],
    what: "access to the account",
    kept: "The user has access to the account. End the access (with `owner remove`, or in the account), and run the command again with --user and --email.",
    isPersonal: true,
  },
  {
    prefixes: ["LEDGER#", "LIST#transactions#", "LIST#invoices#", "LIST#credit_notes#", "TOPUP#", "BILLING_PROFILE"],
    what: "books and invoices",
    kept: law,
  },
  {
    prefixes: ["LIST#suppressions#", "SUPPRESSION#"],
    what: "suppression",
    kept: "Without the suppression, the product would send mail to an address that refused mail.",
  },
  { prefixes: ["JOURNAL#deliveries/", "DELIVERY_BODY#"], what: "delivery of a webhook", kept: expiring },
  { prefixes: ["REVOKED#"], what: "ended access", kept: "The row contains only an id, which identifies nobody." },
];

/** The kind of all rows that belong to no other kind. */
export const accountDataKind = {
  prefixes: [""],
  what: "the account's own data",
  kept: "The account's owners decide about this data, such as a mailbox or a contact. Forward the person's request to the owners.",
} satisfies RowKind;

export const kindOf = (sortKey: string): RowKind =>
  rowKinds.find(({ prefixes }) => prefixes.some((prefix) => sortKey.startsWith(prefix))) ?? accountDataKind;

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/**
 * Matches the person's addresses. Matches only whole addresses: `bob@example.com` does not match in
 * `notbob@example.com`.
 */
function addressPattern({ emails }: DataSubject): RegExp | undefined {
  if (emails.size === 0) return undefined;
  const any = [...emails].map(escaped).join("|");
  return new RegExp(`(?<![\\w.+%-])(?:${any})(?![\\w-]|\\.\\w)`, "giu");
}

type RowMembers = Record<string, unknown>;

/**
 * Returns a value in which `change` has replaced each text. If a text is a JSON object, `changeObject` first changes
 * the object's members, and then `change` replaces the texts in the object.
 */
function mapTexts(
  value: unknown,
  change: (text: string) => string,
  changeObject: (members: RowMembers) => RowMembers = (members) => members,
): unknown {
  if (typeof value === "string") {
    const parsed = value.startsWith("{") ? parseObject(value) : undefined;
    return parsed === undefined ? change(value) : JSON.stringify(mapTexts(changeObject(parsed), change, changeObject));
  }
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change, changeObject));
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change, changeObject)]));
}

function parseObject(text: string): RowMembers | undefined {
  try {
    return JSON.parse(text) as RowMembers;
  } catch {
    return undefined;
  }
}

/**
 * The parts of a value that name the person. Of a list, these are elements. Of an object, or of a text with a JSON
 * object, these are members. Undefined if the value does not name the person.
 */
function namingParts(value: unknown, names: (text: string) => boolean): unknown {
  if (typeof value === "string") {
    const parsed = value.startsWith("{") ? parseObject(value) : undefined;
    if (parsed === undefined) return names(value) ? value : undefined;
    const parts = namingParts(parsed, names);
    return parts === undefined ? undefined : JSON.stringify(parts);
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  const parts = Object.entries(value)
    .map(([name, one]) => [name, namingParts(one, names)] as const)
    .filter(([, part]) => part !== undefined);
  if (parts.length === 0) return undefined;
  return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

/** The parts of a row's members that name the person, without the partition key. Undefined if no part does. */
export function namingMembers({ PK: _, ...members }: Item, person: DataSubject): RowMembers | undefined {
  const pattern = addressPattern(person);
  const names = (text: string): boolean =>
    text === person.userId || (pattern !== undefined && text.search(pattern) >= 0);
  return namingParts(members, names) as RowMembers | undefined;
}

/** Whether the person made the change, wrote the feedback, was invited or got access. */
function isTheirs(members: RowMembers, person: DataSubject): boolean {
  const ids = ["actor_id", "created_by_user_id", "accepted_by", "accepted_by_user_id", "subject_id"];
  const addresses = ["actor_email", "submitter_email", "email"];
  return (
    ids.some((name) => members[name] !== undefined && members[name] === person.userId) ||
    addresses.some((name) => person.emails.has(String(members[name]).toLowerCase()))
  );
}

/** Whether an export contains the whole row, because it is the person's own row. */
export const isOwnRow = (row: Item, person: DataSubject): boolean =>
  kindOf(row.SK).isPersonal === true &&
  (isTheirs(row, person) ||
    (person.userId !== undefined && row.SK === `ACCESS#user#${person.userId}`) ||
    (row.SK.startsWith("INVITED#") && person.emails.has(row.SK.slice("INVITED#".length))));

/**
 * The members that describe the person in the recorded state of a mailbox, with the values that replace the members.
 */
const erasedMailbox = { local_part: "erased", first_name: "erased", last_name: "erased", aliases: [] };

/**
 * The members that describe the person in the recorded state of a billing profile, with the values that replace the
 * members.
 */
const erasedProfile = { name: null, address_lines: [], postcode: null, city: null, vat_id: null };

/**
 * Removes the person from the members of a row, or of a resource's state that a row contains:
 * - If a mailbox or a billing profile has the person's address, replaces the members that describe the person.
 * - If the members are the person's own (`isTheirs`), removes the person's name, the message to the person, and the
 *   address in the person's feedback.
 *
 * Returns all other members unchanged.
 */
function withoutNames(members: RowMembers, person: DataSubject): RowMembers {
  const isOf = (address: unknown): boolean => typeof address === "string" && person.emails.has(address.toLowerCase());
  if (isOf(members["primary_email"])) return { ...members, ...erasedMailbox };
  if (isOf(members["email"]) && members["address_lines"] !== undefined) return { ...members, ...erasedProfile };
  if (!isTheirs(members, person)) return members;
  const names = ["submitter_name", "subject_name", "message"].filter((name) => typeof members[name] === "string");
  const address = members["submitter_email"] === undefined ? {} : { submitter_email: erasedEmail };
  return { ...members, ...Object.fromEntries(names.map((name) => [name, null])), ...address };
}

/**
 * The names of the members that have the user's addresses, in a row of the user's own. Empty for any other row. The
 * address in the user's feedback does not count: the issuer may not have verified it, so it can be the address of
 * somebody else.
 */
export function ownAddressMembers(row: Item, userId: string | undefined): string[] {
  if (userId === undefined) return [];
  const isProfile = row.SK === `ACCESS#user#${userId}`;
  const found = [
    isProfile || row["accepted_by"] === userId ? ["email"] : [],
    row["actor_id"] === userId ? ["actor_email"] : [],
  ];
  return found.flat().filter((name) => {
    const address = row[name];
    return typeof address === "string" && address !== "" && address !== erasedEmail;
  });
}

/** The user's addresses in a row of the user's own, in lower case. Empty for any other row. */
export const ownAddresses = (row: Item, userId: string | undefined): string[] =>
  ownAddressMembers(row, userId).map((name) => String(row[name]).toLowerCase());

/**
 * The changes of a row that erase the person from it, without changes of the members `except`. If the changes are
 * empty, the row has nothing to erase.
 */
export function erasureOf(
  row: Item,
  person: DataSubject,
  except: readonly string[],
): { set: RowMembers; remove: string[] } {
  const pattern = addressPattern(person);
  const replace = (text: string): string => (pattern === undefined ? text : text.replaceAll(pattern, erasedEmail));
  const { PK: _, SK: __, ...members } = row;
  const cleaned = Object.entries(withoutNames(members, person)).map(
    ([name, value]) => [name, mapTexts(value, replace, (view) => withoutNames(view, person))] as const,
  );
  const remove = ["actor_email", "source_ip", "user_agent"].filter(
    (name) => row[name] !== undefined && isTheirs(members, person),
  );
  const set = cleaned.filter(
    ([name, value]) => !remove.includes(name) && JSON.stringify(value) !== JSON.stringify(members[name]),
  );
  return {
    set: Object.fromEntries(set.filter(([name]) => !except.includes(name))),
    remove: remove.filter((name) => !except.includes(name)),
  };
}
