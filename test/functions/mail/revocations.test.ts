import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler as noteRevocation } from "../../../functions/workers/note-revocations.ts";
import { workers } from "../../../infra/entry-points.ts";
import { callTargets } from "../../../infra/local/events/event-target.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { eventOf } from "../../../shared/changes/record.ts";
import { revokingTypes, type Revocation } from "../../../shared/mail/servers/revocations.ts";
import { eventTypes } from "../../../shared/webhooks/event-types.ts";
import { remove, removeForGood } from "../../support/domain-deletions.ts";
import { quicklyActive } from "../../support/domain-work.ts";
import { connected, delegated, verify } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { askMailRoute } from "../../support/mail-routes.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

/** An account with a domain that has the mailboxes ada and bob. */
async function scene() {
  const account = await newRoomyAccount();
  const domain = await home(account);
  const ids = await stocked(account, domain.name, ["ada", "bob"]);
  return { account, domain, name: domain.name, ada: ids[0] ?? "", bob: ids[1] ?? "", since: new Date().toISOString() };
}

/** Calls the worker with the revoking events of an account, oldest first, as the bus does. */
async function publish(account: Account): Promise<void> {
  for (const change of (await recorded(account)).toReversed()) {
    if (revokingTypes.includes(change.type)) await noteRevocation({ detail: eventOf(change) });
  }
}

/** All revocations of an account since a time, as a mail server reads them. */
async function revoked({ id }: Account, since: string): Promise<Revocation[]> {
  const items: Revocation[] = [];
  for (let cursor = since, isMore = true; isMore;) {
    const { status, body } = await askMailRoute("revocations", `since=${encodeURIComponent(cursor)}&limit=500`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    items.push(...(body["items"] as Revocation[]));
    cursor = String(body["next"]);
    isMore = body["has_more"] === true;
  }
  return items.filter(({ account_id }) => account_id === id);
}

/** Publishes the events of an account. Returns the revocations since a time, each as a short text. */
async function effects(account: Account, since: string): Promise<string[]> {
  await publish(account);
  const found = await revoked(account, since);
  return found.map(({ action, scope, reason }) => `${action} ${scope}: ${reason}`);
}

test("a pause, a new password, a deletion and a restoration of a mailbox are reported, and no other change", async () => {
  const { account, name, ada, bob, since } = await scene();
  await send(account, "PATCH", at(ada), { first_name: "Augusta" });
  await send(account, "POST", at(ada, "/aliases"), { alias: "sales" });
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  await send(account, "PATCH", at(ada, "/active"), { active: true });
  await send(account, "POST", at(ada, "/rotate-password"));
  await send(account, "POST", at(ada, "/reveal-credentials"));
  await send(account, "DELETE", at(ada));
  await send(account, "POST", at(ada, "/restore"));
  expect(await effects(account, since)).toEqual([
    "disconnect mailbox: mailbox_paused",
    "disconnect mailbox: password_rotated",
    "disconnect mailbox: mailbox_deleted",
    "restore mailbox: mailbox_restored",
  ]);
  const [first] = await revoked(account, since);
  const [{ id, at: when } = { id: "", at: "" }] = await recorded(account, "mailbox.paused");
  expect(first).toEqual({
    id,
    at: when,
    action: "disconnect",
    scope: "mailbox",
    account_id: account.id,
    id_of_scope: ada,
    address: `ada@${name}`,
    domain: name,
    reason: "mailbox_paused",
  });
  expect((await revoked(account, since)).some(({ id_of_scope }) => id_of_scope === bob)).toBe(false);
});

test("the end of an app password ends the sessions of its mailbox; the end of a master password, those of its domain or account", async () => {
  const { account, domain, ada, since } = await scene();
  const { body } = await send(account, "POST", at(ada, "/app-passwords"), { name: "Phone", protocols: ["imap"] });
  await send(account, "DELETE", at(ada, `/app-passwords/${body.id}`));
  const scopes = [{}, { domain: domain.name }, { workspace_id: domain.workspace_id }];
  for (const scope of scopes) {
    const made = (await send(account, "POST", "credentials", { name: "Relay", generate: true, ...scope })).body;
    await send(account, "PATCH", `credentials/${made.id}`, { name: "Printer" });
    await send(account, "PATCH", `credentials/${made.id}`, { active: false });
    await send(account, "DELETE", `credentials/${made.id}`);
  }
  await publish(account);
  const found = await revoked(account, since);
  expect(found.map(({ scope, id_of_scope, reason }) => [scope, id_of_scope, reason])).toEqual([
    ["mailbox", ada, "app_password_deleted"],
    ["account", account.id, "master_password_ended"],
    ["account", account.id, "master_password_ended"],
    ["domain", domain.id, "master_password_ended"],
    ["domain", domain.id, "master_password_ended"],
    ["account", account.id, "master_password_ended"],
    ["account", account.id, "master_password_ended"],
  ]);
});

test("suspending or closing an account ends its sessions; becoming past due or active does not", async () => {
  const { account, since } = await scene();
  for (const status of ["past_due", "suspended", "active", "closed"] as const) {
    await setAccountStatus(testTable(), account.id, status, new Date());
  }
  expect(await effects(account, since)).toEqual([
    "disconnect account: account_suspended",
    "disconnect account: account_closed",
  ]);
});

test("the deletion of a domain ends its sessions, and the final removal also purges its deleted mailboxes", async () => {
  const { account, domain, ada, bob, since } = await scene();
  for (const id of [ada, bob]) await send(account, "DELETE", at(id));
  await remove(account, domain.name);
  expect((await effects(account, since)).slice(2)).toEqual(["disconnect domain: domain_deleted"]);
  await removeForGood(account, domain.name);
  const found = new Set(await effects(account, since));
  expect(found).toEqual(
    new Set([
      "disconnect mailbox: mailbox_deleted",
      "disconnect domain: domain_deleted",
      "purge mailbox: mailbox_purged",
    ]),
  );
  const purged = (await revoked(account, since)).filter(({ action }) => action === "purge");
  expect(new Set(purged.map(({ id_of_scope }) => id_of_scope))).toEqual(new Set([ada, bob]));
});

test.each(["restored", "deleted again"])(
  "the event of a purge that comes again does not purge a mailbox that was %s since",
  async (since) => {
    const { account, ada } = await scene();
    if (since === "deleted again") await send(account, "DELETE", at(ada));
    const cursor = new Date().toISOString();
    const purge = (id: string) =>
      noteRevocation({
        detail: {
          id: randomUUID(),
          type: "mailbox.purged",
          timestamp: cursor,
          account_id: account.id,
          resource: { type: "mailbox", id },
          data: {},
        },
      });
    await purge(ada);
    expect(await revoked(account, cursor)).toEqual([]);
    await purge(randomUUID());
    expect((await revoked(account, cursor)).map(({ action }) => action)).toEqual(["purge"]);
  },
);

test("the expiry of a domain ends its sessions", async () => {
  const { account, since } = await scene();
  const created = (await recorded(account)).find(({ type }) => type === "domain.created");
  if (!created) throw new Error("no domain was created");
  await noteRevocation({ detail: eventOf({ ...created, type: "domain.expired" }) });
  expect(await effects(account, since)).toEqual(["disconnect domain: domain_expired"]);
});

test("if another account takes over a name, the sessions of the old domain end", async () => {
  const account = await newAccount();
  const since = new Date().toISOString();
  const { id, name } = await connected(account);
  const owner = await newAccount();
  await delegated(owner, name);
  await connected(owner, { name });
  expect((await verify(owner, name)).status).toBe(200);
  await publish(account);
  expect(await revoked(account, since)).toMatchObject([
    { action: "disconnect", scope: "domain", id_of_scope: id, domain: name, reason: "domain_taken_over" },
  ]);
});

test("moving a domain ends its sessions, because master passwords of the former workspace cannot be used any more", async () => {
  const { account, domain, name, since } = await scene();
  const { id: workspace_id } = (await send(account, "POST", "workspaces", { name: "Sales" })).body;
  expect((await send(account, "POST", `domains/${name}/move`, { workspace_id })).status).toBe(200);
  await publish(account);
  expect(await revoked(account, since)).toMatchObject([
    { action: "disconnect", scope: "domain", id_of_scope: domain.id, domain: name, reason: "master_password_ended" },
  ]);
});

test("a change of a domain's settings revokes nothing", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const since = new Date().toISOString();
  expect((await send(account, "PATCH", `domains/${name}`, { dmarc_policy: "reject" })).status).toBe(200);
  expect(await effects(account, since)).toEqual([]);
});

test("an event that comes again makes a revocation with the same id, and an event of another form is an error", async () => {
  const { account, ada, since } = await scene();
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  await publish(account);
  await publish(account);
  const ids = (await revoked(account, since)).map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
  for (const detail of [{}, { id: "x", type: "mailbox.paused" }]) {
    await expect(noteRevocation({ detail })).rejects.toThrow();
  }
});

test("if the table fails, the worker throws, so that the event comes again and no revocation is lost", async () => {
  const { account, ada, since } = await scene();
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  const [paused] = await recorded(account, "mailbox.paused");
  if (!paused) throw new Error("nothing was recorded");
  const detail = eventOf(paused);
  await expect(withFault("lost before", 0, () => noteRevocation({ detail }))).rejects.toMatchObject({ status: 503 });
  expect(await effects(account, since)).toEqual(["disconnect mailbox: mailbox_paused"]);
});

test("the bus calls the worker only for the revoking events, and all these event types exist", async () => {
  const source = workers.find(({ name }) => name === "workers.note_revocations")?.source;
  expect(source).toEqual({ events: revokingTypes });
  const known = new Set(eventTypes().map(({ type }) => type));
  expect(revokingTypes.filter((type) => !known.has(type))).toEqual([]);
  const { account, ada, since } = await scene();
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  for (const change of await recorded(account)) {
    const detail = eventOf(change);
    await callTargets({ "detail-type": change.type, detail } as unknown as Parameters<typeof callTargets>[0]);
  }
  expect((await revoked(account, since)).map(({ reason }) => reason)).toEqual(["mailbox_paused"]);
});

test("without a cursor, the list begins a minute ago, and a wrong parameter is refused at its place", async () => {
  const before = Date.now();
  const { status, headers, body } = await askMailRoute("revocations", "");
  expect([status, headers["cache-control"], body["items"], body["has_more"]]).toEqual([200, "no-store", [], false]);
  const next = Date.parse(String(body["next"]));
  expect(next).toBeGreaterThanOrEqual(before - 60_000);
  expect(next).toBeLessThanOrEqual(Date.now() - 60_000);
  const now = new Date().toISOString();
  const wrong: [query: string, name: string][] = [
    ["since=yesterday", "since"],
    ["since=", "since"],
    ["since=2026-02-31T00:00:00.000", "since"],
    ["since=2026-13-01T00:00:00.000Z", "since"],
    [`since=${now}%23x`, "since"],
    [`since=${now}&limit=0`, "limit"],
    [`since=${now}&limit=501`, "limit"],
    [`since=${now}&limit=x`, "limit"],
  ];
  for (const [query, name] of wrong) {
    const answer = await askMailRoute("revocations", query);
    expect([query, answer.status, answer.body]).toEqual([
      query,
      422,
      { detail: [{ loc: ["query", name], msg: expect.any(String), type: "value_error" }] },
    ]);
  }
  const old = new Date(Date.now() - 31 * 86_400_000).toISOString();
  expect(await askMailRoute("revocations", `since=${old}`)).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["query", "since"], type: "cursor_expired" }] },
  });
  const { value, calls } = await withFault(undefined, -1, () => askMailRoute("revocations", `since=${now}`, {}));
  expect([value.status, calls]).toEqual([401, []]);
});
