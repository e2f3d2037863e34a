import { randomUUID } from "node:crypto";

import { handler as events } from "../../functions/mail/events.ts";
import { handler as usage } from "../../functions/mail/usage.ts";
import type { Mailbox } from "../../shared/mail/mailboxes/mailbox.ts";
import { added, home } from "./mailboxes.ts";
import { answerOf, eventOf, type Answer } from "./request.ts";
import { newAccount, type Account } from "./world.ts";

const key = (): string => process.env["MAIL_SECRET"] ?? "";

type Options = { headers?: Record<string, string>; batch_id?: string };

/** Sends a body to one of the routes for reports, with the key of the mail servers. */
export async function post(
  route: "usage" | "events",
  body: unknown,
  headers: Options["headers"] = {},
): Promise<Answer> {
  const event = eventOf("POST", `/internal/mail/${route}`, { body, headers: { "x-mail-key": key(), ...headers } });
  return answerOf(await (route === "usage" ? usage : events)(event));
}

/** A batch of usage, with an id of its own unless the test gives one. */
export const reportUsage = (batch: object, { batch_id = randomUUID() }: Options = {}): Promise<Answer> =>
  post("usage", { batch_id, ...batch });

/** A batch of events, with an id of its own unless the test gives one. */
export const reportEvents = (batch: object, { batch_id = randomUUID() }: Options = {}): Promise<Answer> =>
  post("events", { batch_id, ...batch });

/** How an entry names a mailbox. */
export const of = ({ id: account_id }: Pick<Account, "id">, { id: mailbox_id }: Pick<Mailbox, "id">) => ({
  account_id,
  mailbox_id,
});

/** An account with a mailbox, `ada`, of a domain that it has proved. */
export async function sceneWithMailbox() {
  const account = await newAccount();
  const domain = await home(account);
  const mailbox = await added(account, domain.name);
  return { account, domain, mailbox };
}

/** A time that many days and minutes ago. */
export const ago = (days: number, minutes = 0): string =>
  new Date(Date.now() - days * 86_400_000 - minutes * 60_000).toISOString();

/** The UTC day of a time that many days ago. */
export const dayAgo = (days: number): string => ago(days).slice(0, 10);
