import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { Problem } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { platform } from "../../core/platform.ts";
import { Timestamp } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import { mailboxUpdate, currentMailbox } from "./change.ts";
import type { FoundMailbox } from "./find.ts";
import { mailboxKind } from "./mailbox.ts";
import { type LoginServices, newLogin, sealContext } from "./password.ts";
import { mailboxCore } from "./view.ts";

const Server = (what: string) =>
  z
    .object({
      host: z.string().meta({ description: "The host's name." }),
      ports: z.array(z.int()).meta({ description: "The ports of the host, the recommended one first." }),
    })
    .meta({ description: what });

export const Credentials = z
  .object({
    mailbox_id: Id.meta({ description: "The mailbox's id." }),
    email: z.string().meta({ description: "The mailbox's address." }),
    username: z.string().meta({ description: "The user name to log in with." }),
    password: z.string().meta({ description: "The password to log in with. It is shown in this answer only." }),
    smtp: Server("The server for sending mail."),
    imap: Server("The server for reading mail."),
    pop: Server("The server for reading mail by POP3."),
    revealed_at: Timestamp.meta({ description: "When the password was revealed." }),
  })
  .meta({ id: "MailboxCredentials", description: "The login of a mailbox." });
type Credentials = z.output<typeof Credentials>;

const shownAlready = (): Problem =>
  new Problem(
    "secret_already_shown",
    "The password was revealed before. Create a new one with mailboxes.rotate_password.",
  );

/**
 * Reveals the password of a mailbox once. The transaction also deletes the sealed copy, so only one caller gets the
 * password. Throws:
 * - 404 if the mailbox does not exist any more
 * - 409 `secret_already_shown` if the password was revealed before, or was replaced during the call
 * - 503 if the key service does not answer
 */
export async function revealCredentials(
  found: FoundMailbox,
  context: Context,
  { secrets }: { secrets: Secrets },
): Promise<Credentials> {
  const { mailbox: before, domain } = found;
  const { sealed } = before.login;
  if (sealed === undefined) throw shownAlready();
  // The copy is opened before it is deleted, so that the password is not lost if the copy cannot be opened.
  const password = await secrets.open(sealed, sealContext({ ...before, account_id: domain.account_id }));
  return context.commit(async () => {
    const { mailbox, domain: home } = await currentMailbox(found, context);
    if (mailbox.login.sealed !== sealed) throw shownAlready();
    const at = context.now().toISOString();
    const { hash, tag } = mailbox.login;
    const { write } = mailboxUpdate(home, mailbox, { login: { hash, tag } }, at);
    const state = mailboxCore(mailbox, home);
    return {
      value: credentialsOf(state.id, state.primary_email, password, at),
      writes: [write],
      changes: [change(mailboxKind, "credentials_revealed", mailbox.id, { before: state, after: state })],
    };
  });
}

function credentialsOf(mailbox_id: string, email: string, password: string, revealed_at: string): Credentials {
  const { mailHost } = platform();
  return {
    mailbox_id,
    email,
    username: email,
    password,
    smtp: { host: mailHost, ports: [465, 587] },
    imap: { host: mailHost, ports: [993] },
    pop: { host: mailHost, ports: [995] },
    revealed_at,
  };
}

export const Rotated = z
  .object({
    mailbox_id: Id.meta({ description: "The mailbox's id." }),
    rotated_at: Timestamp.meta({ description: "When the old password stopped working." }),
  })
  .meta({
    id: "MailboxPasswordRotation",
    description: "A new password of a mailbox. `mailboxes.reveal_credentials` shows it once.",
  });

/**
 * Gives a mailbox a new password, which can be revealed once. The old password stops working. Throws 404 if the mailbox
 * does not exist any more, and 503 if the key service does not answer.
 */
export async function rotatePassword(
  found: FoundMailbox,
  context: Context,
  work: LoginServices,
): Promise<z.output<typeof Rotated>> {
  const login = await newLogin({ ...found.mailbox, account_id: found.domain.account_id }, work);
  return context.commit(async () => {
    const { mailbox, domain } = await currentMailbox(found, context);
    const at = context.now().toISOString();
    const { after, write } = mailboxUpdate(domain, mailbox, { login }, at);
    return {
      value: { mailbox_id: mailbox.id, rotated_at: at },
      writes: [write],
      changes: [
        change(mailboxKind, "password_rotated", mailbox.id, {
          before: mailboxCore(mailbox, domain),
          after: mailboxCore(after, domain),
        }),
      ],
    };
  });
}
