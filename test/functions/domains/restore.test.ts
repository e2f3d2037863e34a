import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { Problem } from "../../../shared/core/errors.ts";
import { readHolder } from "../../../shared/domains/holder.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import { deleteWorkspace, newWorkspace } from "../../support/auth.ts";
import { leftOf, remove, removeForGood, statusOf } from "../../support/domain-deletions.ts";
import { advance, dig, domainOf, quicklyActive, setStored, storedAs } from "../../support/domain-work.ts";
import { connect, connected, delegated, domainsRequest, purchase, readDomain, verify } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { send } from "../../support/mailboxes.ts";
import { buyer, happened, wallet } from "../../support/purchases.ts";
import { advanceAt, daysFrom, ownedName, registrationAt, renewed } from "../../support/renewals.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const restore = (account: Account, name: string) => domainsRequest(account, "POST", `/${name}/restore`);

/**
 * Gives a domain a record, a master password, a forwarding rule and a member. Returns a function that reads the totals
 * of the first three, and the status that the member gets for the domain.
 */
async function furnished(account: Account, name: string) {
  const { id } = await storedAs(account, name);
  const made = [
    await send(account, "POST", "dns-records", { domain: name, name: "www", type: "A", value: "192.0.2.1" }),
    await send(account, "POST", "credentials", { domain: name, name: "Printer", generate: true }),
    await send(account, "POST", "forwarding", { domain: name, target_email: "ada@elsewhere.example" }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  const owner = await newMember(account, { role: "viewer", scope: { type: "domain", id } });
  return async () => {
    const [records, passwords, rules, asMember] = await Promise.all([
      send(account, "GET", `dns-records?domain=${name}`),
      send(account, "GET", "credentials"),
      send(account, "GET", "forwarding"),
      domainsRequest({ ...account, owner }, "GET", `/${name}`),
    ]);
    return [records.body.total, passwords.body.total, rules.body.total, asMember.status];
  };
}

/** An active domain that an account has bought. */
async function boughtAndActive() {
  const { account, name } = await ownedName();
  await advance(account, name);
  expect(await storedAs(account, name)).toMatchObject({ status: "active" });
  return { account, name };
}

const releasing = {
  status: "releasing",
  status_reason: expect.stringContaining("`domains.restore` keeps the domain and its name"),
};

describe("a purchased name", () => {
  test("is given up only with `release=true`", async () => {
    const { account, name } = await boughtAndActive();
    const before = await readDomain(account, name);
    expect((await domainsRequest(account, "DELETE", `/${name}`)).body).toMatchObject({
      status: 409,
      code: "release_required",
      detail: expect.stringMatching(/send release=true.* wait for the event domain.transferred_out/),
    });
    expect((await domainsRequest(account, "DELETE", `/${name}?release=yes`)).status).toBe(422);
    expect(await readDomain(account, name)).toEqual(before);
  });

  test("keeps its registration and contents for 5 days after its deletion; only its mail and zone stop", async () => {
    const { account, name } = await boughtAndActive();
    const contents = await furnished(account, name);
    const before = await contents();
    expect((await remove(account, name)).body).toEqual({});
    const domain = await readDomain(account, name);
    expect(domain).toMatchObject({ ...releasing, outbound_routing_ready: false, registration: { status: "active" } });
    expect(Date.parse(domain.deletes_at) - Date.parse(domain.updated_at)).toBe(5 * 86_400_000);
    expect(await contents()).toEqual(before);
    expect(await dig(name, "MX")).toBe("EREFUSED");
    expect(await registrationAt(name)).toMatchObject({ phase: "registered" });
    expect(await readHolder(testTable(), name)).toMatchObject({ account_id: account.id, firm: true });

    const rival = await buyer();
    expect((await connect(rival, name, await newWorkspace(rival, "Rival"))).body.code).toBe("domain_taken");
    expect((await purchase(rival, [name])).body.results).toMatchObject([{ error_code: "domain_taken" }]);
    const again = await connect(account, name, domain.workspace_id);
    expect(again.body).toMatchObject({ code: "domain_not_ready", detail: expect.stringContaining("domains.restore") });
    expect((await happened(account)).at(-1)).toBe("domain.releasing");
  });

  test("has all its contents again when it is restored, and is active again after the next check", async () => {
    const { account, name } = await boughtAndActive();
    const contents = await furnished(account, name);
    const before = { contents: await contents(), domain: await storedAs(account, name) };
    await remove(account, name);
    const { status, body } = await restore(account, name);
    expect([status, body]).toMatchObject([
      200,
      { status: "pending_delegation", status_reason: null, deletes_at: null },
    ]);
    await advance(account, name);
    const { id, source, auto_renew, registration, verified_at } = before.domain;
    expect(await storedAs(account, name)).toMatchObject({
      id,
      source,
      auto_renew,
      registration,
      verified_at,
      status: "active",
      is_open: true,
    });
    expect(await contents()).toEqual(before.contents);
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await happened(account)).toContain("domain.restored");
    expect((await restore(account, name)).body).toMatchObject({ code: "domain_not_ready", domain_status: "active" });
  });

  test("is given up at the registrar after 5 days, loses its contents, and can be added by others", async () => {
    const { account, name } = await boughtAndActive();
    const domain = await readDomain(account, name);
    await furnished(account, name);
    await remove(account, name);
    const { deletes_at } = await readDomain(account, name);
    const silent = {
      release: () => Promise.reject(new Problem("upstream_unavailable", "It is silent.", { retry_after: 1 })),
    };
    const registrar = embeddedRegistrar(testTable(), () => new Date(deletes_at));
    await expect(advance(account, name, { registrar: { ...registrar, ...silent } })).rejects.toThrow("It is silent.");
    expect(await readDomain(account, name)).toMatchObject({ status: "releasing", deletes_at: null });
    expect((await restore(account, name)).body).toMatchObject({ status: 409, code: "domain_not_ready" });
    expect(await advanceAt(account, name, new Date(deletes_at))).toBeUndefined();
    expect(await registrar.registration(name)).toBeUndefined();
    expect(await leftOf(account, domain)).toEqual([]);
    expect((await connected(await newAccount(), { name })).name).toBe(name);
  });

  test.each([true, false])("is given up at once with `purge` and `release` (deleted before: %s)", async (isDeleted) => {
    const { account, name } = await boughtAndActive();
    const domain = await readDomain(account, name);
    if (isDeleted) await remove(account, name);
    const before = await storedOf(account);
    const refused = await domainsRequest(account, "DELETE", `/${name}?purge=true`);
    expect(refused.body).toMatchObject({ status: 409, code: "release_required" });
    expect(await storedOf(account)).toEqual(before);
    expect((await removeForGood(account, name)).status).toBe(200);
    expect(await statusOf(account, name)).toBe(404);
    expect(await embeddedRegistrar(testTable(), () => new Date()).registration(name)).toBeUndefined();
    expect(await leftOf(account, domain)).toEqual([]);
    expect((await restore(account, name)).status).toBe(404);
  });

  test("is not renewed while it is `releasing`, and is renewed if it is restored and its grace has begun", async () => {
    const { account, name } = await boughtAndActive();
    const end = (await storedAs(account, name)).registration?.expires_at ?? "";
    await remove(account, name);
    const deletes_at = daysFrom(end, 3).toISOString();
    await setStored(account, name, { deletes_at, due_at: deletes_at });
    await advanceAt(account, name, daysFrom(end, 1));
    expect(await wallet(account)).toEqual({ posted: 10_000, available: 10_000 });
    expect((await restore(account, name)).status).toBe(200);
    await advanceAt(account, name, daysFrom(end, 1));
    await renewed(account, name);
    expect(await storedAs(account, name)).toMatchObject({ renewal: { stage: "captured", by: "auto" } });
    expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
  });

  test("is still in redemption after its restoration, and waits for its delegation if it never had one", async () => {
    const { account, name } = await boughtAndActive();
    const end = (await storedAs(account, name)).registration?.expires_at ?? "";
    await domainsRequest(account, "PATCH", `/${name}`, { auto_renew: false });
    const refused = async () => (await domainsRequest(account, "DELETE", `/${name}`)).body;
    const until = (period: string, days: number) => ({
      code: "release_required",
      detail: expect.stringContaining(`${name} is ${period} until ${daysFrom(end, days).toISOString()}. Deleting`),
    });
    expect(await refused()).toMatchObject(until("registered", 0));
    await advanceAt(account, name, daysFrom(end, 1));
    expect(await refused()).toMatchObject(until("in its grace period", 30));
    await advanceAt(account, name, daysFrom(end, 31));
    expect(await refused()).toMatchObject(until("in redemption", 60));
    await remove(account, name);
    await restore(account, name);
    expect(await advanceAt(account, name, daysFrom(end, 32))).toMatchObject({
      status: "expired",
      registration: { status: "redemption" },
    });
    const { account: other, name: young } = await ownedName();
    await remove(other, young);
    expect(await readDomain(other, young)).toMatchObject(releasing);
    expect((await restore(other, young)).body).toMatchObject({ status: "pending_delegation", verified_at: null });
  });
});

test("a name whose registration has ended must be bought again, and cannot be restored", async () => {
  const { account, name } = await boughtAndActive();
  const end = (await storedAs(account, name)).registration?.expires_at ?? "";
  await domainsRequest(account, "PATCH", `/${name}`, { auto_renew: false });
  await advanceAt(account, name, daysFrom(end, 60));
  const before = await readDomain(account, name);
  expect(before).toMatchObject({ status: "releasing", registration: { status: "expired" } });
  expect((await restore(account, name)).body).toMatchObject({
    code: "domain_not_ready",
    detail: expect.stringContaining("Buy the name again with domains.purchase"),
  });
  expect(await readDomain(account, name)).toEqual(before);
});

describe("a connected name that was verified", () => {
  test("is kept for 5 days again if it is deleted soon after it was restored", async () => {
    const account = await newAccount();
    const { id, name } = await quicklyActive(account);
    const contents = await furnished(account, name);
    const before = await contents();
    await domainsRequest(account, "DELETE", `/${name}`);
    expect((await restore(account, name)).body).toMatchObject({ id, verified_at: null });
    await domainsRequest(account, "DELETE", `/${name}`);
    expect(await readDomain(account, name)).toMatchObject({ id, status: "releasing" });
    expect((await restore(account, name)).status).toBe(200);
    expect(await contents()).toEqual(before);
  });

  test("is free at once for others; its domain keeps everything for 5 days, and is then gone", async () => {
    const account = await newAccount();
    const { id, name, deletes_at } = await quicklyActive(account);
    const contents = await furnished(account, name);
    const before = await contents();
    expect(deletes_at).toBeNull();
    expect((await domainsRequest(account, "DELETE", `/${name}`)).body).toEqual({});
    const domain = await readDomain(account, name);
    expect(domain).toMatchObject({ id, status: "releasing", status_reason: expect.stringContaining("was deleted") });
    expect(Date.parse(domain.deletes_at) - Date.parse(domain.updated_at)).toBe(5 * 86_400_000);
    expect(await readHolder(testTable(), name)).toBeUndefined();
    expect(await dig(name, "MX")).toBe("EREFUSED");
    expect(await contents()).toEqual(before);
    const other = await newAccount();
    const theirs = await connected(other, { name });
    await delegated(other, name);
    await verify(other, name);
    expect((await restore(account, name)).body).toMatchObject({ status: 409, code: "domain_taken" });
    expect(await advance(account, name)).toBeUndefined();
    expect(await domainOf(account, id)).toBeUndefined();
    expect(await readHolder(testTable(), name)).toMatchObject({ domain_id: theirs.id });
  });

  test("comes back by a restoration or an addition while no account has it, and must be verified again", async () => {
    const account = await newAccount();
    const { id, name, workspace_id } = await quicklyActive(account);
    const contents = await furnished(account, name);
    const before = await contents();
    for (const again of [() => restore(account, name), () => connect(account, name, workspace_id)]) {
      await domainsRequest(account, "DELETE", `/${name}`);
      const { body } = await again();
      expect(body).toMatchObject({ id, status: "pending_delegation", verified_at: null, deletes_at: null });
      expect(await contents()).toEqual(before);
      expect((await verify(account, name)).body).toMatchObject({ status: "active" });
    }
    const events = await happened(account);
    expect(events.filter((type) => /^domain\.(?:releasing|restored|regained)$/.test(type))).toEqual([
      "domain.releasing",
      "domain.restored",
      "domain.releasing",
      "domain.regained",
    ]);
  });

  test("comes back from an account that did not prove the name, once it is delegated to its former account", async () => {
    const [account, rival] = [await newAccount(), await newAccount()];
    const { id, name } = await quicklyActive(account);
    await domainsRequest(account, "DELETE", `/${name}`);
    await delegated(rival, name);
    const theirs = await connected(rival, { name });
    expect((await restore(account, name)).body.code).toBe("domain_taken");
    await delegated(account, name);
    expect((await restore(account, name)).body).toMatchObject({ id, status: "pending_delegation" });
    expect(await domainOf(rival, theirs.id)).toMatchObject({ status: "releasing" });
  });
});

test("a repeated or concurrent deletion gets the same answer as the first one, and changes nothing more", async () => {
  const account = await newAccount();
  const bought = await boughtAndActive();
  const scenes = [{ account, name: (await quicklyActive(account)).name }, bought];
  for (const { account: owner, name } of scenes) {
    const first = await Promise.all([1, 2, 3].map(() => remove(owner, name)));
    expect(first.map(({ status, body }) => [status, body])).toEqual([1, 2, 3].map(() => [200, {}]));
    const before = await storedOf(owner);
    expect(await readDomain(owner, name)).toMatchObject({ status: "releasing", deletes_at: expect.any(String) });
    for (const query of ["", "?release=true", "?purge=false"]) {
      const { status, body } = await domainsRequest(owner, "DELETE", `/${name}${query}`);
      expect([status, body], query).toEqual([200, {}]);
    }
    expect(await storedOf(owner)).toEqual(before);
    expect((await happened(owner)).filter((type) => type === "domain.releasing")).toHaveLength(1);
    expect((await restore(owner, name)).status).toBe(200);
  }
});

test("`purge` deletes an active or a kept connected domain for good at once, also in a program", async () => {
  const account = await newAccount();
  const [active, kept, third] = [
    await quicklyActive(account),
    await quicklyActive(account),
    await quicklyActive(account),
  ];
  await furnished(account, active.name);
  await remove(account, kept.name);
  for (const domain of [active, kept]) {
    expect((await domainsRequest(account, "DELETE", `/${domain.name}?purge=true`)).body).toEqual({});
    expect(await leftOf(account, domain)).toEqual([]);
    expect((await restore(account, domain.name)).status).toBe(404);
  }
  const program = (more: string) =>
    request("POST", "/v1/public/a2a", {
      token: account.owner.token,
      body: {
        request_id: randomUUID(),
        session_id: "s",
        code: `domains.delete(account_id="${account.id}", domain="${third.name}"${more})`,
      },
    });
  // Without `purge`, a second deletion does not delete the kept domain for good.
  await program("");
  await program("");
  expect(await statusOf(account, third.name)).toBe(200);
  await program(", purge=True");
  expect(await statusOf(account, third.name)).toBe(404);
});

test("a workspace is deleted once its releasing domains are purged, as the refusal says", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const { name } = await quicklyActive(account, { workspaceId });
  await domainsRequest(account, "DELETE", `/${name}`);
  expect((await deleteWorkspace(account, workspaceId)).body).toMatchObject({
    code: "workspace_not_empty",
    detail: expect.stringContaining("To delete a releasing domain at once, call domains.delete with purge=true"),
  });
  expect((await domainsRequest(account, "DELETE", `/${name}?purge=true`)).status).toBe(200);
  expect((await deleteWorkspace(account, workspaceId)).status).toBe(200);
});

test("a repeated request with `If-Match` does not delete a domain for good", async () => {
  const { account, name } = await boughtAndActive();
  const seen = { "if-match": (await domainsRequest(account, "GET", `/${name}`)).headers["etag"] ?? "" };
  expect((await remove(account, name, seen)).status).toBe(200);
  expect((await remove(account, name, seen)).status).toBe(412);
  expect((await restore(account, name)).status).toBe(200);
});
