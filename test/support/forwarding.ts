import { createLog } from "../../shared/core/log.ts";
import type { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";
import { sendVerification, type SendWork } from "../../shared/mail/forwarding/send.ts";
import { outbox, type OutboxMail } from "../../shared/providers/mail/embedded.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";
import { uniqueName } from "./domains.ts";
import { send } from "./mailboxes.ts";
import { request, type Answer } from "./request.ts";
import { testTable, type Account, type User } from "./world.ts";

/** A new address elsewhere, to which no mail has been sent. */
export const stranger = (name = "ada"): string => `${name}@${uniqueName("elsewhere")}`;

/** The context of the worker that sends mail, at a given time. */
export function sendWork(at = new Date(), others: Partial<SendWork> = {}): SendWork {
  const now = (): Date => at;
  const table = testTable();
  const log = createLog("silent", {});
  return { table, mail: mailHere(table, now), publicUrl: "https://api.example.com", now, log, ...others };
}

/** Asks for a new rule as the account's owner, or as the user `as`. */
export const adding = (account: Account, target_email: string, scope: object = {}, as?: User): Promise<Answer> =>
  send(account, "POST", "forwarding", { target_email, ...scope }, as ? { as } : {});

/** Creates a rule as the account's owner. */
export async function ruleTo(account: Account, target: string, scope: object = {}): Promise<ForwardingRule> {
  const { status, body, text } = await adding(account, target, scope);
  if (status !== 201) throw new Error(text);
  return body as ForwardingRule;
}

/** The path of a rule. */
export const ofRule = (id: string, rest = ""): string => `forwarding/${id}${rest}`;

/** The mail that asks a recipient, with its token and its code. */
export type Asking = { mail: OutboxMail; token: string; code: string };

/** The mails to an address, oldest first, with their tokens and codes. */
export async function mailsTo(address: string): Promise<Asking[]> {
  const mails = await outbox(testTable(), { to: address });
  return mails.toReversed().map((mail) => ({
    mail,
    token: /\/verify#([\w-]+)/.exec(mail.text)?.[1] ?? "",
    code: /\b\d{3} ?\d{3}\b/.exec(mail.text)?.[0].replace(" ", "") ?? "",
  }));
}

/** Runs the worker that sends the mail of a rule. Returns the last mail to the rule's recipient. */
export async function mailed(account: Pick<Account, "id">, rule: ForwardingRule, at?: Date): Promise<Asking> {
  await sendVerification(account.id, rule.id, sendWork(at));
  const last = (await mailsTo(rule.target_email)).at(-1);
  if (!last) throw new Error(`nothing was sent to ${rule.target_email}`);
  return last;
}

/** Presses the button on the page of a link, as a recipient does. */
export const press = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  request("POST", "/v1/public/forwarding/verify", { body: { token }, headers });

/** Enters a code, as the customer does. */
export const enter = (
  account: Account,
  id: string,
  code: string,
  headers: Record<string, string> = {},
): Promise<Answer> => send(account, "POST", ofRule(id, "/verification/confirm"), { code }, { headers });

/** A code that differs from this one. */
export const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

/** Makes a rule to which the recipient has agreed. */
export async function agreedRule(account: Account, target = stranger(), scope: object = {}): Promise<ForwardingRule> {
  const rule = await ruleTo(account, target, scope);
  const { status, text } = await press((await mailed(account, rule)).token);
  if (status !== 200) throw new Error(text);
  return (await ruleNow(account, rule.id)) as ForwardingRule;
}

/** A rule, as the list shows it. Undefined if the list does not have it. */
export async function ruleNow(account: Account, id: string): Promise<ForwardingRule | undefined> {
  const { body } = await send(account, "GET", "forwarding?page_size=100");
  return (body.items as ForwardingRule[]).find((rule) => rule.id === id);
}
