import { expect, test } from "vitest";

import { storedAs } from "../../support/domain-work.ts";
import { domainsRequest } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { added, at, emailsIn, home, listed, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { statusesOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newMember, type Account } from "../../support/world.ts";

const remove = (account: Account, mailbox: string, headers = {}) =>
  send(account, "DELETE", at(mailbox), undefined, { headers });

async function scene() {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [id = "", other = ""] = await stocked(account, name, ["ada", "bob"]);
  return { account, name, id, other };
}

/**
 * Adds `aliases` aliases to a mailbox, the last of them the catch-all. Makes `grants` new members, each with a role on
 * the mailbox, and returns them.
 */
async function furnish(account: Account, mailbox: string, aliases: number, grants: number) {
  for (let index = 0; index < aliases; index++) {
    const alias = index === aliases - 1 ? "*" : `a${index}`;
    await send(account, "POST", at(mailbox, "/aliases"), { alias });
  }
  const scope = { type: "mailbox" as const, id: mailbox };
  return Promise.all(Array.from({ length: grants }, () => newMember(account, { role: "viewer", scope })));
}

const isKept = /^(?:JOURNAL|ACCESS|ASSIGNMENT|SCOPED|DELETED_MAILBOX|DELETED_ADDRESS|LIST#deleted_mailboxes)#/;

/** The sort keys of all stored items that mention a mailbox, except the journal, grants, and items for a restore. */
const leftOf = async (account: Account, id: string): Promise<string[]> =>
  (await storedOf(account))
    .filter((item) => !isKept.test(item.SK) && JSON.stringify(item).includes(id))
    .map(({ SK }) => SK);

test("removes a mailbox and its aliases from every list and count, and leaves other mailboxes", async () => {
  const { account, name, id, other } = await scene();
  const [member] = await furnish(account, id, 3, 1);
  const answer = await remove(account, id);
  expect([answer.status, answer.body]).toEqual([200, {}]);
  for (const ref of [id, `ada@${name}`]) {
    expect((await send(account, "GET", at(ref))).status).toBe(404);
    expect((await remove(account, ref)).status).toBe(404);
  }
  for (const filter of [{}, { domain: name }]) expect(emailsIn(await listed(account, filter))).toEqual([`bob@${name}`]);
  expect((await domainsRequest(account, "GET", `/${name}`)).body.mailbox_count).toBe(1);
  expect(await leftOf(account, id)).toEqual([]);
  const as = member ?? { token: "" };
  for (const ref of [id, other]) expect((await send(account, "GET", at(ref), undefined, { as })).status).toBe(404);
  expect(await listed(account, {}, member)).toMatchObject({ items: [], total: 0 });
  expect((await send(account, "GET", at(other))).status).toBe(200);
});

test("the addresses of a deleted mailbox are free at once, and a new mailbox with its address inherits no grants", async () => {
  const { account, name, id, other } = await scene();
  const [member] = await furnish(account, id, 2, 1);
  await remove(account, `ADA@${name}`);
  const again = await added(account, name, "ada");
  expect(again.id).not.toBe(id);
  for (const alias of ["a0", "*"]) {
    expect((await send(account, "POST", at(other, "/aliases"), { alias })).status).toBe(201);
  }
  expect((await send(account, "GET", at(again.id), undefined, { as: member ?? { token: "" } })).status).toBe(404);
});

test("a deletion removes all thirty aliases, and keeps the grants, which do not show the mailbox any more", async () => {
  const { account, name, id } = await scene();
  const members = await furnish(account, id, 30, 15);
  expect((await remove(account, id)).status).toBe(200);
  expect(await leftOf(account, id)).toEqual([]);
  for (const as of members) expect((await send(account, "GET", at(id), undefined, { as })).status).toBe(404);
  const types = (await recorded(account)).map(({ type }) => type);
  expect(types.filter((type) => type === "mailbox.deleted")).toHaveLength(1);
  expect(types.filter((type) => type.endsWith(".revoked"))).toEqual([]);
  expect((await send(account, "GET", "auth/role-assignments")).body).toHaveLength(15);
  expect((await storedAs(account, name)).mailbox_count).toBe(1);
});

test("if a deletion fails at any write, the next deletion completes it", async () => {
  const { account, name, id, other } = await scene();
  await furnish(account, id, 1, 12);
  const { calls } = await withFault(undefined, -1, () => remove(account, id));
  const places = calls.flatMap((command, place) => (/^(?:Transact|Put|Update|Delete)/.test(command) ? [place] : []));
  expect(places.length).toBeGreaterThan(0);
  for (const fault of ["lost before", "answer lost"] as const) {
    for (const place of places) {
      const { id: one } = await added(account, name, "ada");
      await furnish(account, one, 1, 12);
      const { value: died } = await withFault(fault, place, () => remove(account, one));
      expect([200, 503], died.text).toContain(died.status);
      expect([200, 404]).toContain((await remove(account, one)).status);
      expect(await leftOf(account, one), `${fault} at call ${place}`).toEqual([]);
    }
  }
  expect(await listed(account)).toMatchObject({ items: [{ id: other }], total: 1 });
  expect((await storedAs(account, name)).mailbox_count).toBe(1);
});

test("of many deletions at the same time one succeeds, and the count falls by one", async () => {
  const { account, name, id, other } = await scene();
  const answers = await Promise.all(Array.from({ length: 6 }, () => remove(account, id)));
  expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(404)]);
  expect(await listed(account, { domain: name })).toMatchObject({ items: [{ id: other }], total: 1 });
  expect((await storedAs(account, name)).mailbox_count).toBe(1);
});

test("a domain can be deleted once its last mailbox is deleted", async () => {
  const { account, name, id, other } = await scene();
  expect((await domainsRequest(account, "DELETE", `/${name}`)).body).toMatchObject({
    code: "domain_not_empty",
    mailbox_count: 2,
  });
  for (const one of [id, other]) await remove(account, one);
  expect(await listed(account)).toMatchObject({ items: [], total: 0 });
  expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
});

test("`If-Match` with an outdated entity tag is refused, and with the present tag the mailbox is deleted", async () => {
  const { account, id } = await scene();
  await furnish(account, id, 1, 12);
  const seen = (await send(account, "GET", at(id))).headers["etag"] ?? "";
  await send(account, "PATCH", at(id), { last_name: "King" });
  const before = await storedOf(account);
  expect((await remove(account, id, { "if-match": seen })).body).toMatchObject({ code: "precondition_failed" });
  expect(await storedOf(account)).toEqual(before);
  const fresh = (await send(account, "GET", at(id))).headers["etag"] ?? "";
  expect((await remove(account, id, { "if-match": fresh })).status).toBe(200);
});

test("needs mailbox.delete on the mailbox", async () => {
  const { account, id, other } = await scene();
  const scope = { type: "mailbox" as const, id };
  const [viewer, owner] = [
    await newMember(account, { role: "viewer" }),
    await newMember(account, { role: "viewer", scope }, { capability: "mailbox.delete", scope }),
  ];
  const by = (as: { token: string }, mailbox: string) => send(account, "DELETE", at(mailbox), undefined, { as });
  expect((await by(viewer, id)).body).toMatchObject({ status: 403, required_capability: "mailbox.delete" });
  expect((await by(owner, other)).status).toBe(404);
  expect((await by(owner, id)).status).toBe(200);
});
