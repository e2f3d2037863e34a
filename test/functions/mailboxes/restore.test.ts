import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { asOwner, newGroup } from "../../support/auth.ts";
import { withStep } from "../../support/between-calls.ts";
import { setStored, storedAs } from "../../support/domain-work.ts";
import { domainsRequest } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { ofRule, ruleTo, stranger } from "../../support/forwarding.ts";
import { logsIn, whereTo } from "../../support/mail-routes.ts";
import { added, at, emailsIn, home, listed, send, setPassword, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newMember, type Account } from "../../support/world.ts";

const remove = (account: Account, ref: string) => send(account, "DELETE", at(ref));
const restore = (account: Account, ref: string, options = {}) =>
  send(account, "POST", at(ref, "/restore"), undefined, options);

async function scene(locals = ["ada", "bob", "cy"], status = "active") {
  const account = await newRoomyAccount();
  const { name, id: domainId } = await home(account, { status });
  const ids = await stocked(account, name, locals);
  return { account, name, domainId, ids, id: ids[1] ?? "", email: `bob@${name}` };
}

test("restores the same mailbox, in its place in every list, with its password, names, status and aliases", async () => {
  const { account, name, ids, id, email } = await scene();
  await setPassword(account, id, "correct horse battery");
  for (const alias of ["sales", "*"]) await send(account, "POST", at(id, "/aliases"), { alias });
  await send(account, "PATCH", at(id), { last_name: "Stone" });
  const before = (await send(account, "GET", at(id))).body;
  expect(await logsIn(email, "correct horse battery", "imap")).toBe(true);
  await remove(account, id);
  expect(await logsIn(email, "correct horse battery", "imap")).toBe(false);
  expect(await whereTo(email)).toMatchObject({ kind: "none" });
  expect(await listed(account)).toMatchObject({ total: 2 });
  const { status, body } = await restore(account, id);
  expect(status).toBe(200);
  expect(body).toEqual({ ...before, updated_at: body.updated_at, aliases_taken: [] });
  expect((await send(account, "GET", at(email))).body).toEqual({ ...before, updated_at: body.updated_at });
  for (const query of [{}, { domain: name }, { search: name }]) {
    expect((await listed(account, query)).items.map((item) => item.id)).toEqual(ids);
  }
  expect(await listed(account, { search: "sales" })).toMatchObject({ items: [{ id }], total: 1 });
  expect((await storedAs(account, name)).mailbox_count).toBe(3);
  expect(await logsIn(`sales@${name}`, "correct horse battery", "imap")).toBe(true);
  expect(await whereTo(`anybody@${name}`)).toMatchObject({ kind: "catch_all", mailbox_id: id });
  const [latest] = await recorded(account, "mailbox.restored");
  expect(latest).toMatchObject({ resource_id: id, after: { primary_email: email } });
});

test("a password that was not revealed yet can be revealed after the restoration", async () => {
  const { account, name } = await scene();
  const { id } = await added(account, name, "eve");
  await remove(account, id);
  await restore(account, id);
  const { status, body } = await send(account, "POST", at(id, "/reveal-credentials"));
  expect([status, body.email]).toEqual([200, `eve@${name}`]);
  expect(await logsIn(body.email, body.password, "imap")).toBe(true);
});

test("a restored mailbox is paused if it was paused before its deletion", async () => {
  const { account, id } = await scene();
  await send(account, "PATCH", at(id, "/active"), { active: false });
  await remove(account, id);
  expect((await restore(account, id)).body.status).toBe("paused");
  expect(await listed(account, { status: "paused" })).toMatchObject({ items: [{ id }], total: 1 });
});

test("returns the aliases that other mailboxes have taken, and restores the rest", async () => {
  const { account, name, ids, id } = await scene();
  for (const alias of ["sales", "info", "*"]) await send(account, "POST", at(id, "/aliases"), { alias });
  await remove(account, id);
  await added(account, name, "sales");
  await send(account, "POST", at(ids[0] ?? "", "/aliases"), { alias: "*" });
  const { body } = await restore(account, id);
  expect(body.aliases).toEqual([{ alias: `info@${name}`, is_catch_all: false }]);
  expect(body.aliases_taken).toEqual([`sales@${name}`, `*@${name}`]);
  expect(await whereTo(`nobody@${name}`)).toMatchObject({ kind: "catch_all", mailbox_id: ids[0] });
  expect(await whereTo(`sales@${name}`)).toMatchObject({ kind: "mailbox" });
});

test("an alias that another mailbox takes during the restoration is returned in `aliases_taken` too", async () => {
  for (let step = 0, calls = 1; step < calls; step++) {
    const { account, name, ids, id } = await scene();
    await send(account, "POST", at(id, "/aliases"), { alias: "sales" });
    await remove(account, id);
    let status = 0;
    const take = async () => {
      ({ status } = await send(account, "POST", at(ids[0] ?? "", "/aliases"), { alias: "sales" }));
    };
    const done = await withStep(step, take, () => restore(account, id));
    const isTaken = status === 201;
    expect(done.value.body.aliases_taken).toEqual(isTaken ? [`sales@${name}`] : []);
    expect(await whereTo(`sales@${name}`)).toMatchObject({ kind: "alias", mailbox_id: isTaken ? ids[0] : id });
    calls = done.calls;
  }
});

test("409 while another mailbox has its address; once the address is free, the mailbox can be restored", async () => {
  const { account, name, ids, id, email } = await scene();
  await remove(account, id);
  await send(account, "POST", at(ids[0] ?? "", "/aliases"), { alias: "bob" });
  const before = await storedOf(account);
  for (const ref of [id, email]) {
    expect((await restore(account, ref)).body).toMatchObject({ code: "address_taken", conflicts_with: ids[0] });
  }
  expect(await storedOf(account)).toEqual(before);
  await send(account, "DELETE", at(ids[0] ?? "", "/aliases/bob"));
  expect((await restore(account, `BOB@${name.toUpperCase()}`)).body).toMatchObject({ id });
});

test("409 for an address that several deleted mailboxes had, with the ids of these mailboxes", async () => {
  const { account, name, id, email } = await scene();
  await remove(account, id);
  const { id: second } = await added(account, name, "bob");
  await remove(account, second);
  expect((await restore(account, email)).body).toMatchObject({
    status: 409,
    code: "mailbox_ambiguous",
    mailbox_ids: [id, second],
  });
  expect((await restore(account, second)).status).toBe(200);
  expect((await restore(account, email)).body).toMatchObject({ code: "address_taken", conflicts_with: second });
});

test("409 for a mailbox that is not deleted, and for a mailbox of a domain that is releasing", async () => {
  const { account, name, ids, id } = await scene();
  expect((await restore(account, ids[0] ?? "")).body).toMatchObject({
    code: "mailbox_not_ready",
    mailbox_status: "active",
  });
  await remove(account, id);
  await setStored(account, name, { status: "releasing", is_open: false });
  expect((await restore(account, id)).body).toMatchObject({ code: "domain_not_ready" });
});

test("404 for a mailbox that never existed, that another account has, or whose domain is deleted for good", async () => {
  const { account, name, ids, id } = await scene(["ada", "bob"], "pending_delegation");
  const other = await scene();
  await remove(other.account, other.id);
  for (const ref of [randomUUID(), other.id, other.email, `nobody@${name}`]) {
    expect((await restore(account, ref)).status, ref).toBe(404);
  }
  for (const one of ids) await remove(account, one);
  expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
  expect((await restore(account, id)).status).toBe(404);
  const left = (await storedOf(account)).filter(({ SK }) => /^(?:DELETED_|LIST#deleted_mailboxes#ROW)/.test(SK));
  expect(left).toEqual([]);
});

test("after a domain is restored, its deleted mailboxes can be restored", async () => {
  const { account, name, ids, id } = await scene();
  for (const one of ids) await remove(account, one);
  expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
  expect((await restore(account, id)).body).toMatchObject({ code: "domain_not_ready" });
  expect((await domainsRequest(account, "POST", `/${name}/restore`)).status).toBe(200);
  expect((await restore(account, id)).body).toMatchObject({ id, domain_name: name });
});

test("forwarding rules to the restored mailbox copy mail to it again", async () => {
  const { account, name, id, email } = await scene();
  await ruleTo(account, email, { domain: name });
  const copies = async () => {
    const { copies: all } = (await whereTo(`ada@${name}`)) as { copies?: unknown };
    return all;
  };
  expect(await copies()).toMatchObject([{ mailbox_id: id }]);
  await remove(account, id);
  expect(await copies()).toEqual([]);
  await restore(account, id);
  expect(await copies()).toMatchObject([{ mailbox_id: id }]);
});

test("grants on the restored mailbox are valid again, except grants that were revoked meanwhile", async () => {
  const { account, id } = await scene();
  const scope = { type: "mailbox" as const, id };
  const [kept, revoked] = [
    await newMember(account, { capability: "mailbox.view", scope }),
    await newMember(account, { capability: "mailbox.view", scope }),
  ];
  const sees = async (as: { token: string }) => (await send(account, "GET", at(id), undefined, { as })).status;
  await remove(account, id);
  expect([await sees(kept), await sees(revoked)]).toEqual([404, 404]);
  const { body: grants } = await send(account, "GET", `auth/authorizations?subject_id=${revoked.id}`);
  await send(account, "DELETE", `auth/authorizations/${grants[0].id}`);
  await restore(account, id);
  expect([await sees(kept), await sees(revoked)]).toEqual([200, 404]);
});

test("a grant of mailbox.delete on a deleted mailbox lets its holder list and restore the mailbox, but not read it", async () => {
  const { account, id } = await scene();
  const scope = { type: "mailbox" as const, id };
  const as = await newMember(account, { role: "domain_manager", scope });
  const deleted = async () => (await send(account, "GET", "mailboxes/deleted", undefined, { as })).body.items;
  await remove(account, id);
  expect((await send(account, "GET", at(id), undefined, { as })).status).toBe(404);
  expect(await deleted()).toMatchObject([{ id }]);
  expect((await restore(account, id, { as })).status).toBe(200);
  expect(await deleted()).toEqual([]);
});

test("a grant on a deleted mailbox allows nothing with its forwarding rules, until the mailbox is restored", async () => {
  const { account, id } = await scene();
  const { id: ruleId } = await ruleTo(account, stranger(), { mailbox: id });
  const as = await newMember(account, { role: "editor", scope: { type: "mailbox", id } });
  const seen = async () => [
    (await send(account, "GET", "forwarding", undefined, { as })).body.total,
    (await send(account, "GET", ofRule(ruleId), undefined, { as })).status,
    (await send(account, "PATCH", ofRule(ruleId, "/active"), { active: false }, { as })).status,
  ];
  expect(await seen()).toEqual([1, 200, 200]);
  await remove(account, id);
  expect(await seen()).toEqual([0, 404, 404]);
  expect((await send(account, "GET", "forwarding")).body.total).toBe(1);
  await restore(account, id);
  expect(await seen()).toEqual([1, 200, 200]);
});

test("`me.permissions` shows of a grant on a deleted mailbox only what the grant still allows, and everything after the restoration", async () => {
  const { account, ids, id } = await scene();
  const on = (mailbox = "") => ({ type: "mailbox" as const, id: mailbox });
  const as = await newMember(
    account,
    { role: "domain_manager", scope: on(id) },
    { role: "viewer", scope: on(ids[0]) },
    { capability: "mailbox.view", scope: on(ids[2]) },
  );
  const held = async () => {
    const { body } = await request("GET", `/v1/public/me/permissions?account_id=${account.id}`, { token: as.token });
    type Shown = { resource_id: string; capability_keys: string[] };
    return Object.fromEntries(body.scopes.map((one: Shown) => [one.resource_id, one.capability_keys]));
  };
  const before = await held();
  expect(Object.keys(before)).toEqual([id, ids[0], ids[2]]);
  for (const gone of [id, ids[2] ?? ""]) await remove(account, gone);
  expect(await held()).toEqual({ [id]: ["account.view", "mailbox.delete"], [ids[0] ?? ""]: before[ids[0] ?? ""] });
  for (const gone of [id, ids[2] ?? ""]) await restore(account, gone);
  expect(await held()).toEqual(before);
});

test("a caller who holds a group's role on the whole domain can add members to the group, also after the mailbox on which the group has the role is deleted", async () => {
  const { account, domainId, id } = await scene();
  const group = await newGroup(account, "Support");
  const given = { role_key: "viewer", subject_type: "group", subject_id: group.id };
  await asOwner(account, "POST", "role-assignments", { ...given, resource_type: "mailbox", resource_id: id });
  const as = await newMember(
    account,
    { capability: "auth.manage" },
    { role: "viewer", scope: { type: "domain", id: domainId } },
  );
  const join = async () => {
    const body = { subject_type: "user", subject_id: randomUUID() };
    return (await send(account, "POST", `auth/groups/${group.id}/members`, body, { as })).status;
  };
  expect(await join()).toBe(201);
  await remove(account, id);
  expect(await join()).toBe(201);
});

test("a new grant on a deleted mailbox is refused", async () => {
  const { account, id } = await scene();
  await remove(account, id);
  const given = { grant_kind: "capability", capability_key: "mailbox.view", resource_type: "mailbox", resource_id: id };
  const body = { ...given, subject_id: randomUUID(), subject_type: "user" };
  expect(await send(account, "POST", "auth/authorizations", body)).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "resource_id"], type: "not_found" }] },
  });
});

test("needs mailbox.delete, and gives 404 for a mailbox that the caller cannot see", async () => {
  const { account, domainId, id, email } = await scene();
  const scope = { type: "domain" as const, id: domainId };
  const [viewer, creator, deleter] = [
    await newMember(account, { role: "viewer" }),
    await newMember(account, { capability: "mailbox.create", scope }),
    await newMember(account, { capability: "mailbox.delete", scope }),
  ];
  await remove(account, id);
  for (const ref of [id, email]) {
    expect((await restore(account, ref, { as: viewer })).body).toMatchObject({
      status: 403,
      required_capability: "mailbox.delete",
    });
    expect((await restore(account, ref, { as: creator })).status).toBe(403);
  }
  const elsewhere = await newMember(account, { capability: "mailbox.delete", scope: { ...scope, id: randomUUID() } });
  expect((await restore(account, id, { as: elsewhere })).status).toBe(404);
  expect((await restore(account, id, { as: deleter })).status).toBe(200);
});

test("of many restorations at the same time one succeeds, and the mailbox is counted once", async () => {
  const { account, name, ids, id } = await scene();
  await remove(account, id);
  const answers = await Promise.all(Array.from({ length: 5 }, () => restore(account, id)));
  const [restored, ...others] = statusesOf(answers);
  // 409 if a request sees the restored mailbox. 404 if the restoration happens between two reads of a request.
  expect([restored, others.filter((status) => status !== 404 && status !== 409)]).toEqual([200, []]);
  expect((await listed(account, { domain: name })).items.map((item) => item.id)).toEqual(ids);
  expect((await storedAs(account, name)).mailbox_count).toBe(3);
});

test("of a restoration and a new mailbox with the same address at the same time, one succeeds", async () => {
  const { account, name, id } = await scene();
  await remove(account, id);
  const [restored, created] = await Promise.all([
    restore(account, id),
    send(account, "POST", "mailboxes", { domain: name, local_part: "bob", first_name: "B", last_name: "B" }),
  ]);
  expect([restored.status === 200, created.status === 201].filter(Boolean)).toHaveLength(1);
  const emails = emailsIn(await listed(account, { domain: name }));
  expect(emails.filter((email) => email === `bob@${name}`)).toHaveLength(1);
  expect(new Set(emails).size).toBe(3);
});

test("a mailbox can be deleted and restored again and again", async () => {
  const { account, name, ids, id } = await scene();
  for (let round = 0; round < 3; round++) {
    expect((await remove(account, id)).status).toBe(200);
    expect((await restore(account, id)).status).toBe(200);
  }
  expect((await listed(account, { domain: name })).items.map((item) => item.id)).toEqual(ids);
  expect(await send(account, "GET", "mailboxes/deleted")).toMatchObject({ body: { items: [], total: 0 } });
});
