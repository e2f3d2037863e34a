import { createLog } from "../../shared/core/log.ts";
import type { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";
import { sendVerification, type SendWork } from "../../shared/mail/forwarding/send.ts";
import { outbox, type OutboxMail } from "../../shared/providers/mail/embedded.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";
import { uniqueName } from "./domains.ts";
import { send } from "./mailboxes.ts";
import { request, type Answer } from "./request.ts";
import { testTable, type Account, type User } from "./world.ts";

/** An address elsewhere that nobody else has written to. */
export const stranger = (name = "ada"): string => `${name}@${uniqueName("elsewhere")}`;

/** What the worker sends with, at an instant of the test's choice. */
export function sendWork(at = new Date(), others: Partial<SendWork> = {}): SendWork {
  const now = (): Date => at;
  const table = testTable();
  const log = createLog("silent", {});
  return { table, mail: mailHere(table, now), publicUrl: "https://api.example.com", now, log, ...others };
}

/** The answer to a new rule that the account's owner asks for. */
export const adding = (account: Account, target_email: string, scope: object = {}, as?: User): Promise<Answer> =>
  send(account, "POST", "forwarding", { target_email, ...scope }, as ? { as } : {});

/** A rule that the account's owner created. */
export async function ruleTo(account: Account, target: string, scope: object = {}): Promise<ForwardingRule> {
  const { status, body, text } = await adding(account, target, scope);
  if (status !== 201) throw new Error(text);
  return body as ForwardingRule;
}

/** The path of a rule. */
export const ofRule = (id: string, rest = ""): string => `forwarding/${id}${rest}`;

/** Everything the mail asked of a recipient says. */
export type Asking = { mail: OutboxMail; token: string; code: string };

/** The mails to an address, oldest first, with what they have to show. */
export async function mailsTo(address: string): Promise<Asking[]> {
  const mails = await outbox(testTable(), { to: address });
  return mails.toReversed().map((mail) => ({
    mail,
    token: /\/verify#([\w-]+)/.exec(mail.text)?.[1] ?? "",
    code: /\b\d{3} ?\d{3}\b/.exec(mail.text)?.[0].replace(" ", "") ?? "",
  }));
}

/** Has the worker send what is to be sent for a rule; answers the last mail to its recipient. */
export async function mailed(account: Pick<Account, "id">, rule: ForwardingRule, at?: Date): Promise<Asking> {
  await sendVerification(account.id, rule.id, sendWork(at));
  const last = (await mailsTo(rule.target_email)).at(-1);
  if (!last) throw new Error(`nothing was sent to ${rule.target_email}`);
  return last;
}

/** A recipient presses the button of a link. */
export const press = (token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  request("POST", "/v1/public/forwarding/verify", { body: { token }, headers });

/** The customer enters a code. */
export const enter = (
  account: Account,
  id: string,
  code: string,
  headers: Record<string, string> = {},
): Promise<Answer> => send(account, "POST", ofRule(id, "/verification/confirm"), { code }, { headers });

/** A code that is not this one. */
export const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

/** A rule whose recipient has agreed. */
export async function agreedRule(account: Account, target = stranger(), scope: object = {}): Promise<ForwardingRule> {
  const rule = await ruleTo(account, target, scope);
  const { status, text } = await press((await mailed(account, rule)).token);
  if (status !== 200) throw new Error(text);
  return (await ruleNow(account, rule.id)) as ForwardingRule;
}

/** A rule as the list has it; undefined when it has not. */
export async function ruleNow(account: Account, id: string): Promise<ForwardingRule | undefined> {
  const { body } = await send(account, "GET", "forwarding?page_size=100");
  return (body.items as ForwardingRule[]).find((rule) => rule.id === id);
}
