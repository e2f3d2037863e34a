import { expect, test } from "vitest";

import { catalogue } from "../../../../functions/code/catalogue.ts";
import { request } from "../../../support/request.ts";
import { newUser } from "../../../support/world.ts";

async function namesFor(query: string): Promise<string[]> {
  const body = { request_id: "r", session_id: "s", code: `functions.search(query=${JSON.stringify(query)})` };
  const answer = await request("POST", "/v1/public/a2a", { token: newUser().token, body });
  return answer.body.result.last_value.functions.map(({ name }: { name: string }) => name);
}

test.each([
  ["unpaid bills", "billing.invoices.list"],
  ["add money", "billing.topup_session.create"],
  ["how much money is left", "billing.wallet_balance.get"],
  ["what did we pay last month", "billing.transactions.list"],
  ["upgrading our subscription", "billing.plan.change"],
  ["stop paying", "billing.plan.cancel"],
  ["which package am I on", "billing.current_plan.get"],
  ["did my payment go through", "billing.checkout_result.get"],
  ["receipts for accounting", "billing.invoices.list"],
  ["top up credit", "billing.topup_session.create"],
  ["pay by card", "billing.topup_session.create"],
  ["downgrade to a cheaper tariff", "billing.plan.change"],
  ["end my contract", "billing.plan.cancel"],
  ["remaining balance", "billing.wallet_balance.get"],
  ["buy a domain", "domains.purchase"],
  ["keep my domain for another year", "domains.renew"],
  ["my domain expires soon", "domains.renew"],
  ["move my name here from another registrar", "domains.transfer"],
  ["I have an EPP code", "domains.transfer"],
  ["is this name still free", "domains.search"],
  ["use the domain I already bought somewhere else", "domains.add"],
  ["why is my mail not arriving", "domains.health"],
  ["mails end up in spam", "domains.health"],
  ["turn on automatic renewal", "domains.update"],
  ["did my nameservers switch over", "domains.verify"],
  ["put a domain into a different team", "domains.move"],
  ["cancel my domain", "domains.delete"],
  ["register a web address", "domains.purchase"],
  ["check whether example.com is taken", "domains.search"],
  ["SPF and DKIM problems", "domains.health"],
  ["API key", "auth.service_accounts.create"],
  ["give someone access", "auth.authorizations.grant"],
  ["take away someone's rights", "auth.authorizations.revoke"],
  ["who has permision to do what", "auth.authorizations.list"],
  ["make her an administrator", "auth.role_assignments.assign"],
  ["put people into a team", "auth.groups.members.add"],
  ["our token was leaked", "auth.service_accounts.rotate"],
  ["forget everything I stored", "auth.session.end"],
  ["token for my script", "auth.service_accounts.create"],
  ["let a coworker manage domains", "auth.authorizations.grant"],
  ["remove someone from a team", "auth.groups.members.remove"],
  ["revoke an api token", "auth.service_accounts.revoke"],
  ["permissions of the support team", "auth.authorizations.list"],
  ["ownership transfer to my boss", "auth.authorizations.grant"],
  ["block sending", "mailboxes.activate"],
  ["set up an email for a new colleague", "mailboxes.add"],
  ["create 50 inboxes at once", "mailboxes.bulk"],
  ["someone left the company, remove their email", "mailboxes.delete"],
  ["forgot my pasword", "mailboxes.rotate_password"],
  ["show me the password", "mailboxes.reveal_credentials"],
  ["second address for the same person", "mailboxes.aliases.create"],
  ["catch everything sent to any address", "mailboxes.aliases.create"],
  ["download a spreadsheet of all users", "mailboxes.export"],
  ["how full is my inbox", "mailboxes.get"],
  ["give her mailbox more space", "mailboxes.update"],
  ["a password for the mail program on my phone", "mailboxes.app_passwords.add"],
  ["my phone was stolen, revoke its password", "mailboxes.app_passwords.delete"],
  ["which devices log in to this mailbox", "mailboxes.app_passwords.list"],
  ["disable the printer's master password", "credentials.update"],
  ["she got married and has a new last name", "mailboxes.update"],
  ["freeze a mailbox", "mailboxes.activate"],
  ["suspend an employee's email", "mailboxes.activate"],
  ["delete many users at once", "mailboxes.bulk_delete"],
  ["change someone's password", "mailboxes.rotate_password"],
  ["list all email addresses", "mailboxes.list"],
  ["info@ and sales@ for one person", "mailboxes.aliases.create"],
  ["export finished?", "mailboxes.exports.get"],
  ["where does my mail go", "forwarding.list"],
  ["send copies of my mail to gmail", "forwarding.add"],
  ["stop forwarding during the holidays", "forwarding.activate"],
  ["they never got the confirmation email", "forwarding.verification.send"],
  ["enter the code from the email", "forwarding.verification.confirm"],
  ["redirect mail to another address", "forwarding.add"],
  ["stop sending copies to my old address", "forwarding.delete"],
  ["my accounts", "accounts.list"],
  ["who am I logged in as", "me.get"],
  ["make a space for the marketing team", "workspaces.add"],
  ["get rid of a workspace", "workspaces.delete"],
  ["departments", "workspaces.list"],
  ["renaming a workspace", "workspaces.update"],
  ["add an MX entry", "dns_records.add"],
  ["change a TXT record", "dns_records.update"],
  ["upload my zone from bind", "dns_records.import"],
  ["back up dns settings", "dns_records.export"],
  ["point a subdomain to our website", "dns_records.add"],
  ["old dns record remove", "dns_records.delete"],
  ["smtp login for our printer", "credentials.add"],
  ["own ip adress", "dedicated_ips.claim"],
  ["how much does an ip cost", "dedicated_ips.available_options"],
  ["use our own mail server", "dedicated_ips.add"],
  ["sending from my own server's ip", "dedicated_ips.add"],
  ["return an ip we do not need", "dedicated_ips.delete"],
  ["labels for domains", "tags.add"],
  ["notify my server when something happens", "webhooks.add"],
  ["resend a failed notification", "webhooks.deliveries.redeliver"],
  ["disable a webook", "webhooks.update"],
  ["did the webhook arrive", "webhooks.deliveries.list"],
  ["report a bug", "feedback.submit"],
  ["suggest a feature", "feedback.submit"],
  ["who deleted my mailbox", "audit.list"],
  ["who logged in and changed things", "audit.list"],
  ["what can you do", "functions.list"],
])("a customer who looks for %j finds %s among the first three", async (query, name) => {
  expect((await namesFor(query)).slice(0, 3)).toContain(name);
});

test.each([
  ["create a workspace", "workspaces.add"],
  ["mailboxes", "mailboxes.list"],
  ["reveal password", "mailboxes.reveal_credentials"],
  ["wallet balance", "billing.wallet_balance.get"],
  ["invoices", "billing.invoices.list"],
  ["catch-all alias", "mailboxes.aliases.create"],
  ["delegation nameservers verify", "domains.verify"],
  ["who am i identity", "me.get"],
  ["workspce delete", "workspaces.delete"],
  ["mailboxes.aliases.create", "mailboxes.aliases.create"],
])("a developer who looks for %j finds %s among the first three", async (query, name) => {
  expect((await namesFor(query)).slice(0, 3)).toContain(name);
});

test("a search finds at most ten functions, and none by words that no function has", async () => {
  expect(await namesFor("mail")).toHaveLength(10);
  expect(await namesFor("zzzzqq !!")).toEqual([]);
});

test("every function has synonyms for the search", () => {
  const without = [...catalogue.values()].filter(({ route }) => route.synonyms.length === 0);
  expect(without.map(({ route }) => route.name)).toEqual([]);
});
