import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { line } from "../../core/text.ts";
import { Timestamp } from "../../core/time.ts";
import type { Key } from "../../table/writes.ts";

/*
 * All app passwords of a mailbox are in one item, so that a login reads them in one batch with the mailbox. The item
 * stays when the mailbox is deleted, and goes when the mailbox is purged. So a restored mailbox has its app passwords
 * again.
 *
 * Access patterns
 *   the app passwords of a mailbox   ACCOUNT#<id> / APP_PASSWORDS#<mailbox id>
 */
export const appPasswordsKey = (accountId: string, mailboxId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `APP_PASSWORDS#${mailboxId}`,
});

/** The most app passwords of a mailbox. The limit is low, because every login reads all of them. */
export const appPasswordLimit = 25;

/** A protocol by which an app password logs in. */
export const AppProtocol = z.enum(["imap", "pop", "smtp"]);
export type AppProtocol = z.output<typeof AppProtocol>;

export const AppPasswordName = line({
  most: 100,
  description: "The app password's name, such as the name of the device or program that uses the app password.",
});

export const AppPassword = z
  .object({
    id: Id.meta({ description: "The app password's id." }),
    mailbox_id: Id.meta({ description: "The id of the mailbox that the app password logs in to." }),
    name: z.string().meta({ description: "The app password's name." }),
    protocols: z.array(AppProtocol).meta({
      description: "The protocols by which the app password logs in, in alphabetical order.",
    }),
    expires_at: Timestamp.nullable().meta({
      description: "When the app password expires. Nobody can log in with it from then on. Null if it never expires.",
    }),
    last_used_at: Timestamp.nullable().meta({
      description:
        "When somebody last logged in with the app password, accurate to a few minutes; null before the first login.",
    }),
    created_at: Timestamp.meta({ description: "When the app password was created." }),
  })
  .meta({
    id: "AppPassword",
    description: "A further password of one mailbox, for some protocols. Only its hash is kept.",
  });
export type AppPassword = z.output<typeof AppPassword>;

/** An app password as it is stored, without the time of its last use. */
const StoredAppPassword = z.object({
  id: z.string(),
  name: z.string(),
  protocols: z.array(AppProtocol),
  expires_at: z.string().nullable(),
  created_at: z.string(),
  /** The keyed hash of the password: see `keyedHash`. */
  hash: z.string(),
  /** The tag by which a login finds the one hash to check: see `passwordTag`. */
  tag: z.string(),
});
export type StoredAppPassword = z.output<typeof StoredAppPassword>;

/**
 * The app passwords of a mailbox, oldest first. The time of the last use of each app password is in an attribute of its
 * own, `used_<id>`. A login writes this attribute without raising `version`.
 */
export const StoredAppPasswords = z.looseObject({ items: z.array(StoredAppPassword), version: z.int() });
export type StoredAppPasswords = z.output<typeof StoredAppPasswords>;

/** The name of the attribute that has the time of the last use of an app password. */
export const lastUseAttribute = (id: string): string => `used_${id}`;

/** The time of the last use of an app password; null before the first login. */
export const lastUseOf = (stored: StoredAppPasswords, id: string): string | null =>
  Timestamp.safeParse(stored[lastUseAttribute(id)]).data ?? null;

export const appPasswordKind = defineKind({
  name: "app_password",
  verbs: ["created", "deleted"],
  view: AppPassword,
  seenWith: "mailbox.reveal",
});
