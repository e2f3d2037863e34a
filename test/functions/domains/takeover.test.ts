import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { advanceDomain } from "../../../functions/workers/advance-domains.ts";
import { domainKey, holderKey, type Domain } from "../../../shared/domains/domain.ts";
import { readBuyer, readHolder } from "../../../shared/domains/holder.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { zoneKey } from "../../../shared/domains/zone.ts";
import { newWorkspace } from "../../support/auth.ts";
import { leftOf, remove, removeForGood } from "../../support/domain-deletions.ts";
import {
  advance,
  dig,
  domainOf,
  quicklyActive,
  setStored,
  storedAs,
  workAt,
  write,
} from "../../support/domain-work.ts";
import {
  connect,
  connected,
  delegated,
  domainsRequest,
  purchase,
  readDomain,
  uniqueName,
  verify,
} from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { added, addMailbox, person, send } from "../../support/mailboxes.ts";
import { buyer, happened, registered, wallet } from "../../support/purchases.ts";
import { registrationUntil } from "../../support/registrations.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const dayMs = 86_400_000;

/**
 * A connected name without proof. Its domain has a mailbox, a record, a master password, a forwarding rule and a
 * member.
 */
async function squatted(name = uniqueName()) {
  const account = await newAccount();
  const domain = await connected(account, { name });
  const mailbox = await added(account, name);
  const made = await Promise.all([
    send(account, "POST", "dns-records", { domain: name, name: "www", type: "A", value: "192.0.2.1" }),
    send(account, "POST", "credentials", { domain: name, name: "Printer", generate: true }),
    send(account, "POST", "forwarding", { domain: name, target_email: "ada@elsewhere.example" }),
  ]);
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  const member = await newMember(account, { role: "viewer", scope: { type: "domain", id: domain.id } });
  return { account, domain, name, mailbox, member };
}

/**
 * What the first account can still read of its domain: whether the ids are the same, and the totals of the contents.
 */
async function readable({ account, domain, name, mailbox, member }: Awaited<ReturnType<typeof squatted>>) {
  const [own, mailboxes, records, passwords, rules, asMember] = await Promise.all([
    domainsRequest(account, "GET", `/${name}`),
    send(account, "GET", `mailboxes/${mailbox.id}`),
    send(account, "GET", `dns-records?domain=${name}`),
    send(account, "GET", "credentials"),
    send(account, "GET", "forwarding"),
    domainsRequest({ ...account, owner: member }, "GET", `/${name}`),
  ]);
  const ids = [own.body.id, mailboxes.body.id, asMember.body.id];
  return {
    same: ids.join() === [domain.id, mailbox.id, domain.id].join(),
    totals: [records, passwords, rules].map(({ body }) => body.total),
  };
}

/** The stored items of a domain, without the items that describe its empty list of mailboxes. */
const rowsOf = async (account: Account, domain: Domain): Promise<string[]> =>
  (await leftOf(account, domain)).filter((SK) => !/\/mailboxes#(?:HEAD|HOLES)/.test(SK));

const whole = { same: true, totals: [1, 1, 1] };

const buys = async (account: Account, name: string) => {
  const { body } = await purchase(account, [name]);
  expect(body.results).toMatchObject([{ status: "pending_registration" }]);
};

describe("a purchase of a name that another account connected", () => {
  test("changes nothing for the other account when it begins", async () => {
    const scene = await squatted();
    const before = await storedOf(scene.account);
    const rival = await buyer();
    await buys(rival, scene.name);
    expect(await storedOf(scene.account)).toEqual(before);
    expect(await readHolder(testTable(), scene.name)).toMatchObject({ account_id: scene.account.id, firm: false });
    expect(await readBuyer(testTable(), scene.name)).toMatchObject({ account_id: rival.id });
    const third = await buyer();
    const { body } = await purchase(third, [scene.name]);
    expect(body.results).toMatchObject([{ status: "failed", error_code: "domain_taken" }]);
  });

  test.each(["refused-", "fails-"])(
    "that the registry does not grant (%s) leaves everything to the other account",
    async (prefix) => {
      const scene = await squatted(`${prefix}${uniqueName()}`);
      const before = await storedOf(scene.account);
      const rival = await buyer();
      await buys(rival, scene.name);
      expect(await registered(rival, scene.name)).toMatchObject({ status: "failed" });
      expect(await storedOf(scene.account)).toEqual(before);
      expect(await readable(scene)).toEqual(whole);
      expect(await readHolder(testTable(), scene.name)).toMatchObject({ domain_id: scene.domain.id, firm: false });
      expect(await readBuyer(testTable(), scene.name)).toBeUndefined();
      expect(await wallet(rival)).toEqual({ posted: 100_000, available: 100_000 });
      expect(await happened(scene.account)).not.toContain("domain.taken_over");
    },
  );

  test("takes the name once it is registered; the other account can read its contents for 30 days more", async () => {
    const scene = await squatted();
    const { account, domain, name } = scene;
    const rival = await buyer();
    await buys(rival, name);
    expect(await registered(rival, name)).toMatchObject({ status: "pending_delegation" });
    expect(await readHolder(testTable(), name)).toMatchObject({ account_id: rival.id, firm: true });
    expect(await readBuyer(testTable(), name)).toBeUndefined();
    const lost = await readDomain(account, name);
    expect(lost).toMatchObject({
      status: "releasing",
      status_reason: "Another account registered the name.",
      mailbox_count: 1,
      dns_record_count: 1,
    });
    const until = Date.parse(lost.deletes_at);
    expect(until - Date.parse(lost.updated_at)).toBe(30 * dayMs);
    expect(await readable(scene)).toEqual(whole);
    expect((await happened(account)).filter((type) => type === "domain.taken_over")).toHaveLength(1);
    expect(await connect(account, name, domain.workspace_id)).toMatchObject({ body: { code: "domain_taken" } });
    expect(await addMailbox(account, { domain: name, ...person("bob") })).toMatchObject({
      body: { code: "domain_not_ready" },
    });

    const { due_at } = await storedAs(account, name);
    expect(due_at).toBe(lost.deletes_at);
    await advanceDomain(account.id, domain.id, due_at ?? "", workAt(new Date(until - 1)));
    expect(await readable(scene)).toEqual(whole);
    await advanceDomain(account.id, domain.id, due_at ?? "", workAt(new Date(until)));
    expect(await rowsOf(account, domain)).toEqual([]);
    expect((await send(account, "GET", "mailboxes")).body.total).toBe(0);
    expect(await readHolder(testTable(), name)).toMatchObject({ account_id: rival.id });
    expect(await registered(rival, name)).toMatchObject({ status: "pending_delegation" });
  });

  test("also gets the name if it began in an earlier version, which stored no `BUYER` item", async () => {
    const rival = await buyer();
    const names = [uniqueName(), `refused-${uniqueName()}`];
    await purchase(rival, names);
    for (const name of names) await write({ delete: { PK: `DOMAIN#${name}`, SK: "BUYER" } });
    for (const name of names) await registered(rival, name);
    const [one, other] = await Promise.all(names.map((name) => readHolder(testTable(), name)));
    expect(one).toMatchObject({ account_id: rival.id, firm: true });
    expect(other).toBeUndefined();
  });

  test("wins against a proof of the other account if the registration succeeds, and else changes nothing", async () => {
    for (const prefix of ["", "refused-"]) {
      const scene = await squatted(`${prefix}${uniqueName()}`);
      const { account, name } = scene;
      const rival = await buyer();
      await buys(rival, name);
      await delegated(account, name);
      expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
      // The embedded registry does not sell delegated names. This registrar has the name for the buyer all the same.
      const { id, due_at } = await storedAs(rival, name);
      const work = workAt(new Date(due_at ?? ""));
      const registration = registrationUntil("2028-01-01T00:00:00.000Z");
      const granting = {
        ...work.registrar,
        register: async () => ({ id: "one", state: "succeeded" as const }),
        registration: async () => registration,
      };
      const isLost = prefix === "";
      await advanceDomain(rival.id, id, due_at ?? "", isLost ? { ...work, registrar: granting } : work);
      expect(await readDomain(account, name)).toMatchObject({ status: isLost ? "releasing" : "active" });
      expect(await readHolder(testTable(), name)).toMatchObject({
        account_id: isLost ? rival.id : account.id,
        firm: true,
      });
      expect((await readable(scene)).same).toBe(true);
      expect(await readBuyer(testTable(), name)).toBeUndefined();
    }
  });

  test("gives the name only to the buyer if the other account deletes its domain meanwhile", async () => {
    for (const prefix of ["", "refused-"]) {
      const account = await newAccount();
      const domain = await connected(account, { name: `${prefix}${uniqueName()}` });
      const { name } = domain;
      const rival = await buyer();
      await buys(rival, name);
      expect((await remove(account, name)).status).toBe(200);
      expect(await readHolder(testTable(), name)).toBeUndefined();
      await registered(rival, name);
      const holder = await readHolder(testTable(), name);
      expect(holder).toEqual(
        prefix === "" ? { account_id: rival.id, domain_id: expect.any(String), firm: true } : undefined,
      );
      expect(await rowsOf(account, domain)).toEqual([]);
    }
  });
});

describe("a domain that lost its name", () => {
  /** A domain whose name another account has registered. */
  async function lost() {
    const scene = await squatted();
    const rival = await buyer();
    await buys(rival, scene.name);
    await registered(rival, scene.name);
    return { ...scene, rival };
  }

  test("comes back with its contents in the given workspace, once no account has the name", async () => {
    const scene = await lost();
    const { account, domain, name, rival } = scene;
    expect((await removeForGood(rival, name)).status).toBe(200);
    const workspaceId = await newWorkspace(account, "Again");
    const back = await connect(account, name, workspaceId);
    expect([back.status, back.headers["location"]]).toEqual([201, `/v1/public/accounts/${account.id}/domains/${name}`]);
    expect(back.body).toMatchObject({
      id: domain.id,
      workspace_id: workspaceId,
      status: "pending_delegation",
      status_reason: null,
      deletes_at: null,
    });
    expect(await readable(scene)).toEqual(whole);
    expect(await happened(account)).toContain("domain.regained");
    const { token } = account.owner;
    const left = await send(account, "DELETE", `workspaces/${domain.workspace_id}`, undefined, { as: { token } });
    expect(left.status).toBe(200);
    await delegated(account, name);
    expect((await verify(account, name)).body).toMatchObject({ status: "active" });
    expect((await connect(account, name, workspaceId)).body).toMatchObject({ code: "domain_exists" });
  });

  test("comes back if its account proves the name and the new holder has not; the new holder loses the name", async () => {
    const scene = await squatted();
    const { account, domain, name } = scene;
    const rival = await newAccount();
    await delegated(rival, name);
    const theirs = await connected(rival, { name });
    expect((await connect(account, name, domain.workspace_id)).body.code).toBe("domain_taken");
    await delegated(account, name);
    const back = await connect(account, name, domain.workspace_id);
    expect([back.status, back.body.id]).toEqual([201, domain.id]);
    expect(await readable(scene)).toEqual(whole);
    expect(await domainOf(rival, theirs.id)).toMatchObject({ status: "releasing", is_open: false });
    expect(await readHolder(testTable(), name)).toMatchObject({ domain_id: domain.id, firm: false });
  });

  test("loses its zone at the next run of the worker, and gets a new zone when it comes back", async () => {
    const account = await newAccount();
    const { id, name, workspace_id } = await quicklyActive(account);
    await send(account, "POST", "dns-records", { domain: name, name: "www", type: "A", value: "192.0.2.1" });
    // Without `firm`, another account can take the name.
    await write({ update: holderKey(name), set: { firm: false } });
    const rival = await newAccount();
    await delegated(rival, name);
    await connected(rival, { name });
    await verify(rival, name);
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    await write({ update: holderKey(name), set: { firm: false } });
    await delegated(account, name);
    expect((await connect(account, name, workspace_id)).body.code).toBe("domain_not_ready");
    await advance(account, name);
    expect(await dig(`www.${name}`, "A")).toBe("EREFUSED");
    expect((await connect(account, name, workspace_id)).status).toBe(201);
    await advance(rival, name);
    expect((await verify(account, name)).body).toMatchObject({ status: "active" });
    await syncZone(account.id, id, workAt(new Date()));
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await testTable().getMany([zoneKey(account.id, id)])).toMatchObject([{ reference: expect.any(String) }]);
  });

  test("is deleted at once with `purge`, but only when it has no mailboxes", async () => {
    const scene = await lost();
    const { account, domain, name, mailbox, rival } = scene;
    expect((await removeForGood(account, name)).body).toMatchObject({ code: "domain_not_empty" });
    expect((await send(account, "DELETE", `mailboxes/${mailbox.id}`)).status).toBe(200);
    const before = await readDomain(account, name);
    expect((await remove(account, name)).status).toBe(200);
    expect(await readDomain(account, name)).toEqual(before);
    expect((await removeForGood(account, name)).status).toBe(200);
    expect(await rowsOf(account, domain)).toEqual([]);
    expect(await readHolder(testTable(), name)).toMatchObject({ account_id: rival.id });
  });

  test("keeps its remaining contents for 30 days, even if an earlier version began its deletion", async () => {
    const scene = await squatted();
    const { account, domain, name } = scene;
    const updated_at = new Date(Date.now() - dayMs).toISOString();
    const status_reason = "Another account is buying the name: nobody had registered it.";
    await setStored(account, name, { status: "releasing", status_reason, is_open: false, updated_at });
    await write({ update: domainKey(account.id, domain.id), remove: ["deletes_at"] });
    expect(await advance(account, name)).toMatchObject({ status: "releasing" });
    const until = new Date(Date.parse(updated_at) + 30 * dayMs).toISOString();
    expect(await readDomain(account, name)).toMatchObject({ deletes_at: until });
    expect(await readable(scene)).toEqual(whole);
    expect(await advance(account, name)).toBeUndefined();
    expect(await rowsOf(account, domain)).toEqual([]);
  });
});

test("a claim to register a name does not prevent a purchase if the domain of the claim no longer exists", async () => {
  const name = uniqueName();
  const [former, account] = [await newAccount(), await buyer()];
  const put = { PK: `DOMAIN#${name}`, SK: "BUYER", account_id: former.id, domain_id: randomUUID() };
  await testTable().attempt({ put });
  const { body } = await purchase(account, [name]);
  expect(body.results).toMatchObject([{ domain_name: name, status: "pending_registration" }]);
  expect((await registered(account, name)).status).toBe("pending_delegation");
});
