import { describe, expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { openApiDocument } from "../infra/openapi/document.ts";
import { specifiedRoutes } from "../infra/openapi/routes.ts";

/** The names that were decided for the functions of the specified routes. */
const decided = `accounts.list · accounts.get · me.get · workspaces.{list,add,get,update,delete} ·
  domains.{list,search,purchase,move,verify,get,health,update,delete} · dns_records.{list,add,update,delete} ·
  mailboxes.{list,export,add,bulk,get,update,delete,reveal_credentials} · mailboxes.aliases.{create,delete} ·
  credentials.{list,add,update,delete} · forwarding.{list,add,update,activate,delete} ·
  forwarding.verification.{send,confirm} · forwarding.verify ·
  dedicated_ips.{list,available_options,claim,authorize,get,delete} · dedicated_ips.domains.{assign,unassign} ·
  billing.invoices.list · billing.transactions.list · billing.plan.{cancel,change} · billing.current_plan.get ·
  billing.topup_session.create · billing.checkout_result.get · billing.wallet_balance.get · feedback.submit ·
  auth.authorizations.{grant,list,revoke} · auth.groups.{create,delete}`;

/** The routes that the specification does not have, by their purpose. */
const additions: Record<string, string> = {
  "connect a domain one already owns": "domains.add",
  "pause and resume": "mailboxes.activate",
  "a new password to reveal": "mailboxes.rotate_password",
  "register a host of one's own": "dedicated_ips.add",
  "labels that domains can have": "tags.{list,add,delete}",
  "beyond the five specified functions of auth": `auth.groups.{list,get,update} · auth.groups.members.{list,add,remove} ·
    auth.role_assignments.{list,assign,revoke} · auth.service_accounts.{list,create,rotate,revoke}`,
  "people and what they hold":
    "auth.members.list · auth.invitations.{list,create,revoke,preview,accept} · me.permissions",
  "events at one's own servers": `webhooks.{list,add,get,update,delete,rotate_secret,test} ·
    webhooks.deliveries.{list,redeliver}`,
  "the audit log": "audit.list",
  "keep one's own DNS": "domains.dns_setup.get",
  "a name for further years": "domains.renew",
  "a deletion undone": "domains.restore",
  "a name that another registrar has": "domains.transfer",
  "a new key for the signatures of mail": "domains.dkim.rotate",
  "a name at another registrar": "domains.auth_code.create",
  "for whom a name is registered": "domains.contact.{get,update}",
  "zone files in and out": "dns_records.{import,export}",
  "one thing to read before a change": "dns_records.get · credentials.get · forwarding.get",
  "a password for one device": "mailboxes.app_passwords.{list,add,delete}",
  "what it costs": "billing.plans.list · billing.usage.get · billing.invoices.get",
  "invoices and VAT": "billing.profile.{get,update} · billing.credit_notes.{list,get}",
  "many mailboxes to delete at once": "mailboxes.bulk_delete",
  "what a mailbox uses": "mailboxes.usage.get",
  "addresses that get no mail": "suppressions.{list,add,delete}",
  "a card for automatic recharges":
    "billing.payment_method_session.create · billing.payment_method.{get,delete} · billing.auto_recharge.{get,update}",
  "a notice before the wallet is empty": "billing.alerts.{get,update}",
  "what became of sent mail": "statistics.get",
  "what an account can have": "limits.get",
  "mails to people about an account": "notices.{get,update}",
  "roles of one's own": "auth.roles.{list,create,update,delete}",
  "a new name for a tag, a service account or a dedicated IP":
    "tags.update · auth.service_accounts.update · dedicated_ips.update",
  "what became of feedback": "feedback.list",
  "deleted mailboxes that come back": "mailboxes.deleted.list · mailboxes.restore",
  "the state of an export": "mailboxes.exports.get",
};

/** The names in a list of the form `a.{b,c} · d`. */
const namesIn = (list: string): string[] =>
  list.split("·").flatMap((part) => {
    const [, family = "", members] = /^\s*([\w.]+?)(?:\.\{([\w,]+)\})?\s*$/.exec(part) ?? [];
    return members === undefined ? [family] : members.split(",").map((member) => `${family}.${member}`);
  });

const places = new Map(routes.map(({ name, http: { method, path } }) => [name, `${method} ${path}`]));
const specified = Object.entries(specifiedRoutes);
const added = Object.values(additions).flatMap(namesIn);

test("there are 65 specified routes, and each has the function name that was decided for it", () => {
  expect(new Set(Object.values(specifiedRoutes)).size).toBe(65);
  expect(Object.keys(specifiedRoutes).toSorted()).toEqual(namesIn(decided).toSorted());
});

test.each(specified)("%s is %s, with the parameter names of the specification", (name, place) => {
  expect(places.get(name)).toBe(place);
});

test("everything else is an addition that was decided", () => {
  const others = routes.flatMap(({ name }) => (name in specifiedRoutes ? [] : [name]));
  const message = "add the route to `additions`, or to `specifiedRoutes` if the specification has it";
  expect(others.toSorted(), message).toEqual(added.toSorted());
});

describe("the document", () => {
  type Operation = { operationId: string; description: string; "x-extension"?: boolean };
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));

  test("marks the additions and the list of functions as extensions, and nothing else", () => {
    const marked = operations.filter((operation) => operation["x-extension"] === true);
    const expected = [...added, "functions.list"].toSorted();
    expect(marked.map(({ operationId }) => operationId).toSorted()).toEqual(expected);
    for (const operation of operations) {
      const isMarked = operation["x-extension"] === true;
      expect([operation.operationId, /\bextension\b/i.test(operation.description)]).toEqual([
        operation.operationId,
        isMarked,
      ]);
    }
  });
});
