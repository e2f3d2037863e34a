import { randomUUID } from "node:crypto";

import { vi } from "vitest";

import { routes } from "../../functions/routes.ts";
import { handler as advanceRecharges } from "../../functions/workers/advance-recharges.ts";
import { handler as dispatchEvent } from "../../functions/workers/dispatch-event.ts";
import { runExport } from "../../functions/workers/make-mailbox-export.ts";
import { handler as noteRevocations } from "../../functions/workers/note-revocations.ts";
import { handler as watchWallets } from "../../functions/workers/watch-wallets.ts";
import { billingCommands } from "../../infra/operator/billing-commands.ts";
import { filesHere } from "../../shared/billing/services.ts";
import { changeJournalOf } from "../../shared/changes/record.ts";
import { clock, dayMs } from "../../shared/core/time.ts";
import { setFeedbackStatus } from "../../shared/feedback/operate.ts";
import type { Route } from "../../shared/http/route.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import { indexEntries } from "../../shared/table/journal.ts";
import { makeOwner, newGroup } from "../support/auth.ts";
import { billing, closeDays, fund } from "../support/billing.ts";
import { callRest } from "../support/call.ts";
import { activeIp } from "../support/dedicated-ips.ts";
import {
  active,
  connect,
  connected,
  delegated,
  domainsRequest,
  funded,
  purchase,
  uniqueName,
} from "../support/domains.ts";
import { exampleOf } from "../support/examples.ts";
import { externalDomain } from "../support/external.ts";
import { ago, of, reportEvents, reportUsage, sceneWithMailbox } from "../support/mail-reports.ts";
import { logsIn } from "../support/mail-routes.ts";
import { queuedExport } from "../support/mailbox-examples.ts";
import { added, stocked } from "../support/mailboxes.ts";
import { continued, pay, registered } from "../support/purchases.ts";
import { request } from "../support/request.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import { saveTestCard, takePaymentBack, tellProduct } from "../support/saved-cards.ts";
import { nameElsewhere, transfer, transferred } from "../support/transfers.ts";
import { eventIn } from "../support/webhooks.ts";
import { grant, newAccount, newServiceAccount, newUser, testTable, type Account } from "../support/world.ts";
import type { Facts, FrozenCall } from "./edition.ts";

const send = ({ id, owner }: Account, path: string, body: unknown, headers: Record<string, string> = {}) =>
  request("POST", `/v1/public/accounts/${id}/${path}`, { token: owner.token, body, headers });

type Scene<F extends keyof Facts> = { account: Account; facts: Pick<Facts, F> };

/** An account with rows of many kinds: members, roles, purchases, a dedicated IP, a program, an export, feedback. */
async function busy(): Promise<Scene<"boughtName" | "feedbackId">> {
  const account = await funded(await newRoomyAccount(), 1_000_000);
  const group = await newGroup(account, "Support");
  await makeOwner(account, group.id, "group");
  await grant(account, { id: randomUUID() }, { role: "editor" });
  await newServiceAccount(account, { role: "viewer" });
  const expires_at = new Date(clock().getTime() + 365 * dayMs).toISOString();
  const assignee = { subject_id: randomUUID(), subject_type: "user", expires_at };
  await send(account, "auth/roles", { key: "support", name: "Support", capability_keys: ["mailbox.view"] });
  await send(account, "auth/role-assignments", { ...assignee, role_key: "support" });
  await send(account, "auth/authorizations", { ...assignee, grant_kind: "account_owner" });
  const [bought, refused] = [uniqueName("bought"), uniqueName("refused-")];
  await purchase(account, [bought, refused]);
  await registered(account, bought);
  await registered(account, refused);
  await purchase(account, [uniqueName("running")]);
  await activeIp(account);
  await send(account, "tags", { name: "Kept" }, { "idempotency-key": "frozen" });
  const code = 'x = tags.list(account_id="' + account.id + '")';
  const program = { request_id: "frozen", session_id: "frozen", code };
  await request("POST", "/v1/public/a2a", { token: account.owner.token, body: program });
  await dispatchEvent({ detail: eventIn(account.id, "webhook.updated", new Date()) });
  await runExport(account.id, await queuedExport(account), { table: testTable(), files: filesHere(), now: clock });
  const feedback = await send(account, "feedback", { category: "other", title: "Thanks", description: "Well done" });
  const decided = { accountId: account.id, id: String(feedback.body.id), status: "planned" as const, notes: "Soon" };
  await setFeedbackStatus(testTable(), decided, clock());
  return { account, facts: { boughtName: bought, feedbackId: decided.id } };
}

/** An account with mailboxes, forwarding, and passwords with which people and programs log in. */
async function mailing(): Promise<Scene<"domain" | "email" | "password" | "masterPassword" | "appPassword">> {
  const account = await newRoomyAccount();
  const { name } = await active(account);
  const mailbox = await send(account, "mailboxes", {
    domain: name,
    local_part: "ada",
    first_name: "Ada",
    last_name: "L",
  });
  await send(account, `mailboxes/${String(mailbox.body.id)}/aliases`, { alias: "countess" });
  const shown = await send(account, `mailboxes/${String(mailbox.body.id)}/reveal-credentials`, {});
  if (shown.status !== 200) throw new Error(shown.text);
  const master = await send(account, "credentials", { name: "Relay", generate: true });
  const bob = await send(account, "mailboxes", { domain: name, local_part: "bob", first_name: "Bob", last_name: "L" });
  await send(account, "mailboxes/bulk-delete", { mailboxes: [bob.body.id] }, { "idempotency-key": "frozen" });
  const targets = { target_emails: ["ada@elsewhere.example", "bob@elsewhere.example"] };
  await send(account, "forwarding", { ...targets, mailbox: mailbox.body.id, keep_copy: false });
  for (const address of ["sales", "sales-*"]) await send(account, "forwarding", { ...targets, domain: name, address });
  const items = Array.from({ length: 100 }, (_, index) => ({
    local_part: `p${index}`,
    first_name: "P",
    last_name: "Q",
  }));
  await send(account, "mailboxes/bulk", { domain: name, items });
  const [since, later] = [clock(), clock()];
  since.setUTCHours(0, 0, 0, 0);
  later.setUTCMinutes(later.getUTCMinutes() + 10);
  await indexEntries(testTable(), changeJournalOf(account.id), { since }, later);
  const facts = { email: mailbox.body.primary_email, password: shown.body.password, domain: name };
  const { body: app } = await send(account, `mailboxes/${String(mailbox.body.id)}/app-passwords`, {
    name: "Phone",
    protocols: ["imap"],
    expires_at: "9999-12-31T00:00:00.000Z",
  });
  if (!(await logsIn(facts.email, facts.password, "imap"))) throw new Error("nobody can log in");
  await noteRevocations({ detail: eventIn(account.id, "mailbox.paused", clock()) });
  const secrets = { masterPassword: master.body.generated_secret, appPassword: app.generated_secret };
  return { account, facts: { ...facts, ...secrets } };
}

/** An account whose domains move in, are hosted elsewhere, were deleted and restored, and whose mailbox was deleted. */
async function moving(): Promise<Account> {
  const account = await funded(await newRoomyAccount(), 100_000);
  const [came, comes] = [await nameElsewhere(), await nameElsewhere("slow-")];
  await transfer(account, [came]);
  await transferred(account, came);
  await transfer(account, [comes]);
  await externalDomain(account);
  const { name } = await active(account);
  await send(account, `domains/${name}/dkim/rotate`, {});
  const [kept, restored] = [await active(account), await active(account)];
  for (const one of [kept, restored]) await domainsRequest(account, "DELETE", `/${one.name}`);
  await send(account, `domains/${restored.name}/restore`, {});
  const ada = await added(account, name);
  const more = { name: "Phone", protocols: ["smtp"] };
  await send(account, `mailboxes/${ada.id}/app-passwords`, more);
  await request("DELETE", `/v1/public/accounts/${account.id}/mailboxes/${ada.id}`, { token: account.owner.token });
  return account;
}

/** An account for which mail servers have reported usage, a delivery and a bounce. */
async function reported(): Promise<Account> {
  const { account, mailbox } = await sceneWithMailbox();
  const mine = of(account, mailbox);
  const [sender, at] = [mailbox.primary_email, ago(0, 2)];
  await reportUsage({
    mailboxes: [{ ...mine, bytes: 9 * 2 ** 30, messages: 42, at }],
    sent: [{ ...mine, address: sender, at, recipients: 3 }],
    logins: [{ ...mine, at, protocol: "imap" }],
  });
  await reportEvents({
    events: [
      { type: "delivered", sender, recipient: "ada@elsewhere.example", at },
      { type: "bounced", sender, recipient: "gone@elsewhere.example", status: "5.1.1", at },
    ],
  });
  await send(account, "suppressions", { email: "never@elsewhere.example" });
  return account;
}

/** An account that bought two names without money in its wallet. One checkout is paid, and one is not. */
async function paidByCheckout(): Promise<Scene<"unpaidCheckoutId">> {
  const account = await newRoomyAccount();
  const { body } = await purchase(account, [uniqueName("paid")]);
  await pay(account, body.payment_url);
  await continued(account);
  const unpaid = await purchase(account, [uniqueName("unpaid")]);
  const unpaidCheckoutId = String(unpaid.body.payment_url).split("/").at(-1) ?? "";
  return { account, facts: { unpaidCheckoutId } };
}

/** An account with a paid invoice, an unpaid invoice and a credit note. */
async function invoiced(): Promise<Account> {
  const account = await newRoomyAccount();
  const { name } = await connected(account);
  await stocked(
    account,
    name,
    Array.from({ length: 40 }, (_, index) => `p${index}`),
  );
  await fund(account, 30_000);
  const today = new Date();
  const last = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2, 2)).toISOString().slice(0, 10);
  await closeDays(account, last);
  await billing(account, "PATCH", "profile", { name: "Initech GmbH", country: "DE", vat_id: null });
  await request("PATCH", `/v1/public/accounts/${account.id}/notices`, {
    token: account.owner.token,
    body: { muted: ["domain_health"] },
  });
  const { body } = await billing(account, "GET", "invoices");
  const credited = { account: account.id, invoice: body.items.at(-1).id, amount: "1.00", id: "c1", reason: "Test" };
  await billingCommands["billing credit-note"]?.run(testTable(), credited, { open: () => testTable() });
  return account;
}

/** An account with a limit of its own, whose wallet a purchase left almost empty. */
async function limited(): Promise<Scene<"limitedAccountId">> {
  const account = await funded(await newAccount(), 2_000);
  await setOwnLimit(testTable(), account.id, "search", { perMinute: 600, burst: 100 });
  const changed = await send(account, "billing/change-plan", { plan_id: "per_dedicated_ip" });
  if (changed.status !== 200) throw new Error(changed.text);
  const name = uniqueName("cheap");
  await purchase(account, [name]);
  await registered(account, name);
  return { account, facts: { limitedAccountId: account.id } };
}

/** An account with a saved card, a recharge that was refunded and one that is disputed, and alerts of its own. */
async function recharged(): Promise<Account> {
  const account = await newAccount();
  await saveTestCard(account);
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  await billing(account, "PATCH", "alerts", { low_balance_threshold: "15.00" });
  for (const act of ["refund", "dispute"] as const) {
    await watchWallets({ detail: { account_id: account.id } });
    await advanceRecharges();
    const { body } = await billing(account, "GET", "auto-recharge");
    await tellProduct(await takePaymentBack(`pi_local_${body.last_recharge.id}`, act));
  }
  return account;
}

/** An account whose domain name another account has proved. */
async function outdone(): Promise<Account> {
  const [account, rival] = [await newRoomyAccount(), await newRoomyAccount()];
  const { name } = await connected(account);
  await send(account, "mailboxes", { domain: name, local_part: "ada", first_name: "Ada", last_name: "L" });
  await delegated(rival, name);
  const { body } = await send(rival, "workspaces", { name: "Rival" });
  const { status, text } = await connect(rival, name, body.id);
  if (status !== 201) throw new Error(text);
  return account;
}

const callOf = async (route: Route, account: Account): Promise<FrozenCall> => ({
  route: route.name,
  args: await exampleOf(route, account),
  ownerId: account.owner.id,
});

/**
 * Whether a route reads, and needs only the id of an account. `statistics.get` also needs a domain or a dedicated IP,
 * although its schema requires neither.
 */
const takesAccountAlone = ({ name, http: { method }, params, query }: Route): boolean =>
  method === "GET" &&
  Object.keys(params.shape).join() === "account_id" &&
  query.safeParse({}).success &&
  name !== "statistics.get";

/** Calls of all reads that need only the id of an account. */
const readsOf = ({ id, owner }: Account): FrozenCall[] =>
  routes.filter(takesAccountAlone).map(({ name }) => ({ route: name, args: { account_id: id }, ownerId: owner.id }));

/**
 * Stores rows of every kind. It prepares the example of each route, but calls only the reads. It also does the
 * product's own work. Returns the calls that read and change the rows: first the reads with their answers, then the
 * writes. Also returns the facts for the other tests.
 */
export async function storeEverything(): Promise<{ calls: FrozenCall[]; facts: Facts }> {
  const calls: FrozenCall[] = [];
  for (const route of routes) calls.push(await callOf(route, await newRoomyAccount()));
  const [one, two, three, four] = [await busy(), await mailing(), await paidByCheckout(), await limited()];
  const accounts = [...[one, two, three, four].map(({ account }) => account), await invoiced(), await outdone()];
  accounts.push(await moving(), await reported(), await recharged());
  calls.push(...accounts.flatMap(readsOf));
  const [reads, writes] = [calls.filter(isRead), calls.filter((call) => !isRead(call))];
  const answered: FrozenCall[] = [];
  for (const call of reads) answered.push({ ...call, answer: await answerTo(call) });
  const facts = { ...one.facts, ...two.facts, ...three.facts, ...four.facts };
  return { calls: [...answered, ...writes], facts };
}

/** The route of a call. */
export function routeOf({ route: name }: FrozenCall): Route {
  const route = routes.find((one) => one.name === name);
  if (!route) throw new Error(`there is no route ${name}`);
  return route;
}

const isRead = (call: FrozenCall): boolean => routeOf(call).http.method === "GET";

/** Makes a call as its owner. Returns the body. If the call fails, throws with the answer and the logged errors. */
export async function answerTo(call: FrozenCall): Promise<unknown> {
  const route = routeOf(call);
  const lines: string[] = [];
  const writing = vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  const answer = callRest(route, call.args, newUser({ sub: call.ownerId }).token);
  const { status, text, body } = await answer.finally(() => writing.mockRestore());
  if (status === route.http.status) return body;
  const errors = lines.map((line) => String((JSON.parse(line) as { error?: unknown }).error));
  throw new Error([`${call.route} ${JSON.stringify(call.args)}: ${status} ${text}`, ...errors].join("\n"));
}
