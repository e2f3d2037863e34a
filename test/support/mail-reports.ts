import { randomUUID } from "node:crypto";

import { handler as events } from "../../functions/mail/events.ts";
import { handler as usage } from "../../functions/mail/usage.ts";
import type { Mailbox } from "../../shared/mail/mailboxes/mailbox.ts";
import { added, home } from "./mailboxes.ts";
import { answerOf, eventOf, type Answer } from "./request.ts";
import { newAccount, type Account } from "./world.ts";

const key = (): string => process.env["MAIL_SECRET"] ?? "";

type Options = { headers?: Record<string, string>; batch_id?: string };

/** Sends a body to a route for reports, with the key of the mail servers. */
export async function post(
  route: "usage" | "events",
  body: unknown,
  headers: Options["headers"] = {},
): Promise<Answer> {
  const event = eventOf("POST", `/internal/mail/${route}`, { body, headers: { "x-mail-key": key(), ...headers } });
  return answerOf(await (route === "usage" ? usage : events)(event));
}

/** Sends a batch of usage, with a new id unless the test gives one. */
export const reportUsage = (batch: object, { batch_id = randomUUID() }: Options = {}): Promise<Answer> =>
  post("usage", { batch_id, ...batch });

/** Sends a batch of events, with a new id unless the test gives one. */
export const reportEvents = (batch: object, { batch_id = randomUUID() }: Options = {}): Promise<Answer> =>
  post("events", { batch_id, ...batch });

/** The members of an entry that name a mailbox. */
export const of = ({ id: account_id }: Pick<Account, "id">, { id: mailbox_id }: Pick<Mailbox, "id">) => ({
  account_id,
  mailbox_id,
});

/** Makes an account with a mailbox `ada` in a proved domain. */
export async function sceneWithMailbox() {
  const account = await newAccount();
  const domain = await home(account);
  const mailbox = await added(account, domain.name);
  return { account, domain, mailbox };
}

/** The time `days` and `minutes` ago. */
export const ago = (days: number, minutes = 0): string =>
  new Date(Date.now() - days * 86_400_000 - minutes * 60_000).toISOString();

/** The UTC day `days` ago. */
export const dayAgo = (days: number): string => ago(days).slice(0, 10);
