import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { line } from "../../core/text.ts";
import { FutureTime, Timestamp } from "../../core/time.ts";
import type { List } from "../../table/ranked-list.ts";
import type { Key } from "../../table/writes.ts";
import { type Family, MailScopeType, scopeKey, scopedInPath, type WideScope } from "../scoped/family.ts";

/*
 * Access patterns
 *   master passwords of an account, oldest first, and one by id   ACCOUNT#<id> / LIST#credentials
 *   the hashes of a scope's master passwords, for logins          ACCOUNT#<id> / MASTER#<scope type>#<scope id>#<id>
 */
const credentialsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "credentials" });
export const masterKey = (accountId: string, scope: WideScope, credentialId = ""): Key =>
  scopeKey(accountId, "MASTER", scope, credentialId);

export const CredentialName = line({ most: 100, description: "The master password's name." });

export const Credential = z
  .object({
    id: Id.meta({ description: "The master password's id." }),
    name: z.string().meta({ description: "The master password's name." }),
    scope_type: MailScopeType.meta({
      description:
        "The kind of scope. The password sends mail from every mailbox of the account, of one workspace or of one domain.",
    }),
    scope_id: Id.meta({ description: "The id of the account, workspace or domain." }),
    active: z.boolean().meta({
      description:
        "Whether the master password is switched on. Nobody can log in with it while it is switched off, or after `expires_at`.",
    }),
    expires_at: Timestamp.nullable().meta({
      description:
        "When the master password expires. Nobody can log in with it from then on. Null if it never expires.",
    }),
    created_at: Timestamp.meta({ description: "When the master password was created." }),
    updated_at: Timestamp.meta({ description: "When the master password last changed." }),
    last_used_at: Timestamp.nullable().meta({
      description:
        "When somebody last logged in with the password, accurate to a few minutes; null before the first login.",
    }),
  })
  .meta({
    id: "MasterPassword",
    description: "A password for sending mail from every mailbox in its scope. Only its hash is kept.",
  });
export type Credential = z.output<typeof Credential>;

/**
 * Whether a master password is switched on, and when it expires. Earlier versions did not store these members: their
 * master passwords are switched on and never expire.
 */
const validity = { expires_at: z.string().nullable().default(null), active: z.boolean().default(true) };

export const StoredCredential = Credential.extend({ ...validity, version: z.int() });
export type StoredCredential = z.output<typeof StoredCredential>;

/**
 * The hash of a master password, and until when the password is valid. The hash is stored separately from the listed
 * credential, because logins look up the hash by scope.
 */
export const StoredMaster = z.object({
  credential_id: z.string(),
  hash: z.string(),
  tag: z.string(),
  ...validity,
});

export const credentialKind = defineKind({
  name: "credential",
  verbs: ["created", "updated", "deleted"],
  view: Credential,
  own: Credential.omit({ last_used_at: true }),
  seenWith: "credential.view",
});

export const credentials: Family<StoredCredential> = {
  type: "credential",
  noun: "master passwords",
  view: "credential.view",
  list: credentialsOf,
  prefix: "MASTER",
  parse: (row) => StoredCredential.parse(row),
  scopeOf: ({ scope_type: type, scope_id: id }) => ({ type, id }),
  within: ["credential", "domain", "workspace"],
  perScope: 50,
  perAccount: 1_000,
  atOnce: 8,
};

/** The members of a body that say whether and how long a master password is valid. */
export const validityMembers = {
  active: z.boolean().optional().meta({
    description:
      "Whether the master password is switched on. A new master password is switched on by default. If it is switched off, logins with it are refused at once.",
  }),
  expires_at: FutureTime.nullish().meta({
    description: "When the master password expires. Null or nothing means that it never expires.",
  }),
};

export const CredentialParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  credential_id: Id.meta({ description: "The master password's id." }),
});

/** The master password in the path of a route. */
export const credentialInPath = scopedInPath(credentials, "credential_id");

/** The rules for a password besides its length. The text continues a sentence that begins with the length. */
export const passwordRules =
  "with at least 6 different characters and without control characters. It must not be one text repeated. It must not be a sequence such as `abcdefghijkl`, in which nearly every character equals the character before it or is its neighbour";

/** The reason why a password is refused, with the type of the error that reports it. */
type Weakness = { type: "value_error" | "password_too_simple"; message: string };

/**
 * Explains why a chosen password is too weak; undefined if the password is good. The length of the password is checked
 * elsewhere.
 */
export function weakness(password: string): Weakness | undefined {
  // SASL PLAIN (RFC 4616) ends the user name with a NUL, and mail programs rarely let their users type other control
  // characters.
  if (/[\p{Cc}\p{Cs}]/u.test(password)) {
    return { type: "value_error", message: "Use only characters that can be typed, no control characters" };
  }
  const message = simplicity(Array.from(password.normalize("NFC")));
  return message === undefined ? undefined : { type: "password_too_simple", message };
}

/**
 * Explains why a password of these characters is too simple; undefined if the password is good. In a sequence, every
 * character after the first equals the character before it, or is the neighbour of that character in Unicode. At most
 * two characters may be exceptions.
 */
function simplicity(characters: readonly string[]): string | undefined {
  if (new Set(characters).size < 6) return "Use at least 6 different characters";
  if (/^(.+?)\1+$/su.test(characters.join(""))) return "The password is one text repeated. Choose another";
  const codes = characters.map((one) => one.codePointAt(0) ?? 0);
  const inSequence = codes.slice(1).filter((code, index) => Math.abs(code - (codes[index] ?? 0)) <= 1);
  const exceptions = codes.length - 1 - inSequence.length;
  return exceptions <= 2 ? "The password is a sequence of neighbouring characters. Choose another" : undefined;
}
