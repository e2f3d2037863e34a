import { describe, expect, test } from "vitest";

import { advanceDomain } from "../../../../functions/workers/advance-domains.ts";
import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused, type Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { advance, storedAs, workAt } from "../../../support/domain-work.ts";
import { connected, domainsRequest, funded, purchase, uniqueName } from "../../../support/domains.ts";
import { happened, registered, transactions, wallet } from "../../../support/purchases.ts";
import { silence } from "../../../support/registrations.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

/** A name that an account with 100.00 in its wallet has bought. The registrar was not asked to register it yet. */
async function bought(prefix = ""): Promise<{ account: Account; name: string }> {
  const account = await funded(await newAccount(), 10_000);
  const name = `${prefix}${uniqueName()}`;
  const { body } = await purchase(account, [name]);
  if (body.successful_count !== 1) throw new Error(JSON.stringify(body));
  return { account, name };
}

const free = { posted: 10_000, available: 10_000 };
const held = { posted: 10_000, available: 8_600 };
const paid = { posted: 8_600, available: 8_600 };
const statusOf = async (account: Account, name: string) =>
  (await domainsRequest(account, "GET", `/${name}`)).body as { status: string; status_reason: string | null };
const times = (types: string[], type: string): number => types.filter((one) => one === type).length;

/** The embedded registrar at the time `at`, with some methods replaced by `own`. */
const registrarAt = (at: Date, own: Partial<Registrar>): Registrar => ({
  ...embeddedRegistrar(testTable(), () => at),
  ...own,
});

/** Runs the worker on a name at its due time, with a registrar that has some methods replaced by `own`. */
async function lookWith(account: Account, name: string, own: Partial<Registrar>): Promise<void> {
  const { due_at } = await storedAs(account, name);
  await advance(account, name, { registrar: registrarAt(new Date(due_at ?? ""), own) });
}

describe("a registration", () => {
  test("that takes a while is checked after longer and longer waits, and is paid when it is done", async () => {
    const { account, name } = await bought("slow-");
    const begun = Date.parse((await storedAs(account, name)).due_at ?? "");
    const looks: number[] = [];
    while ((await storedAs(account, name)).status === "pending_registration") {
      expect(await wallet(account)).toEqual(held);
      const due = Date.parse((await storedAs(account, name)).due_at ?? "");
      looks.push(Math.round((due - begun) / 1_000));
      await advance(account, name);
    }
    expect(looks).toEqual([0, 2, 7, 22, 82]);
    expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(["pending_delegation", paid]);
  });

  test("costs nothing and is not sent to the registrar if the account is closed before the request", async () => {
    const { account, name } = await bought();
    await setAccountStatus(testTable(), account.id, "closed", new Date());
    const register = () => Promise.reject(new Error("the registrar was asked"));
    await lookWith(account, name, { register });
    expect(await storedAs(account, name)).toMatchObject({
      status: "failed",
      status_reason: "The account is closed.",
      purchase: { stage: "voided" },
      due_at: null,
    });
    // The wallet has paid the final invoice of 0.17.
    expect(await wallet(account)).toEqual({ posted: 9_983, available: 9_983 });
  });

  test("whose answer was lost is found, and paid once", async () => {
    const { account, name } = await bought("lost-");
    await advance(account, name);
    expect(await storedAs(account, name)).toMatchObject({ purchase: { stage: "asked" } });
    expect(await wallet(account)).toEqual(held);
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
    expect(await wallet(account)).toEqual(paid);
    expect(times(await happened(account), "domain.registered")).toBe(1);
  });

  test.each([
    ["refused-", /refuses/],
    ["fails-", /did not register/],
  ])("that fails (%s) costs nothing and says why, and another account can connect the name", async (prefix, reason) => {
    const { account, name } = await bought(prefix);
    expect(await registered(account, name)).toMatchObject({ status: "failed", is_open: false, due_at: null });
    expect(await statusOf(account, name)).toMatchObject({
      status: "failed",
      status_reason: expect.stringMatching(reason),
      registration: { status: "failed", expires_at: null, locked: false },
    });
    expect(await wallet(account)).toEqual(free);
    expect((await transactions(account))[1]).toMatch(/^purchase void 14\.00 /);
    expect(times(await happened(account), "domain.registration_failed")).toBe(1);
    const other = await newAccount();
    expect(await connected(other, { name })).toMatchObject({ name, status: "pending_delegation" });
  });

  test("that failed can be bought again, and the account then has one domain", async () => {
    const { account, name } = await bought();
    await lookWith(account, name, { register: () => Promise.reject(new Refused("Not today.")) });
    const first = await storedAs(account, name);
    expect(first).toMatchObject({ status: "failed", status_reason: "Not today." });
    const again = await purchase(account, [name]);
    expect(again.body).toMatchObject({ successful_count: 1, results: [{ status: "pending_registration" }] });
    expect(again.body.results[0].id).not.toBe(first.id);
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
    expect(await advance(account, name)).toMatchObject({ status: "active" });
    expect((await domainsRequest(account, "GET", "")).body.total).toBe(1);
    expect(await wallet(account)).toEqual(paid);
  });

  test("that failed leaves a name that can be connected or deleted", async () => {
    const { account, name } = await bought("refused-");
    await registered(account, name);
    expect(await connected(account, { name })).toMatchObject({ source: "connected", status: "pending_delegation" });
    const other = await bought("refused-");
    await registered(other.account, other.name);
    expect((await domainsRequest(other.account, "DELETE", `/${other.name}`)).status).toBe(200);
    expect((await domainsRequest(other.account, "GET", "")).body.total).toBe(0);
  });

  test("that is running prevents the deletion of its domain", async () => {
    const { account, name } = await bought("slow-");
    await advance(account, name);
    const { body } = await domainsRequest(account, "DELETE", `/${name}`);
    expect(body).toMatchObject({ status: 409, code: "domain_not_ready" });
  });
});

describe("a registrar", () => {
  test("that does not answer gets time: the money stays held, and the next request is at least ten minutes later", async () => {
    const { account, name } = await bought();
    const asked: string[] = [];
    const register = (at: string) => () => {
      asked.push(at);
      return Promise.reject(silence());
    };
    const { due_at: begun } = await storedAs(account, name);
    const elapsed = (at: string | null): number => Date.parse(at ?? "") - Date.parse(begun ?? "");
    for (;;) {
      const { due_at } = await storedAs(account, name);
      if (elapsed(due_at) >= 3_600_000) break;
      await lookWith(account, name, { register: register(due_at ?? ""), findOperation: async () => undefined });
      expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(["pending_registration", held]);
    }
    expect(asked.length).toBeGreaterThan(1);
    expect(elapsed(asked[1] ?? "")).toBeGreaterThanOrEqual(600_000);
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
    expect(await wallet(account)).toEqual(paid);
  });

  test("that does not answer a question about its operations is asked again", async () => {
    const { account, name } = await bought("lost-");
    await advance(account, name);
    for (const own of [
      { findOperation: () => Promise.reject(silence()) },
      { registration: () => Promise.reject(silence()) },
    ]) {
      await lookWith(account, name, own);
      expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(["pending_registration", held]);
    }
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  });

  test("that refuses a name which it has just registered for us: the name counts as registered", async () => {
    const { account, name } = await bought();
    const { due_at } = await storedAs(account, name);
    const plain = registrarAt(new Date(due_at ?? ""), {});
    await lookWith(account, name, {
      register: async (input) => {
        await plain.register(input);
        throw new Refused("The name is registered already.");
      },
    });
    expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(["pending_delegation", paid]);
  });

  test("that reports a success is believed only once it has the registration", async () => {
    const { account, name } = await bought();
    await lookWith(account, name, { registration: async () => undefined });
    expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(["pending_registration", held]);
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  });

  test("whose adapter breaks leaves the name due, and the money held", async () => {
    const { account, name } = await bought();
    await expect(lookWith(account, name, { register: () => Promise.reject(new Error("a mistake")) })).rejects.toThrow();
    expect(await storedAs(account, name)).toMatchObject({ purchase: { stage: "asked" }, due_at: expect.any(String) });
    expect(await wallet(account)).toEqual(held);
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  });
});

describe("several workers", () => {
  test.each(["lost-", "fails-"])("at the same time have the same result as one worker (%s)", async (prefix) => {
    const { account, name } = await bought(prefix);
    const all = async (): Promise<void> => {
      const { id, due_at, status } = await storedAs(account, name);
      if (status !== "pending_registration" || due_at === null) return;
      const work = workAt(new Date(due_at));
      await Promise.all(Array.from({ length: 4 }, () => advanceDomain(account.id, id, due_at, work)));
      return all();
    };
    await all();
    const isPaid = prefix === "lost-";
    expect([(await statusOf(account, name)).status, await wallet(account)]).toEqual(
      isPaid ? ["pending_delegation", paid] : ["failed", free],
    );
    expect(await transactions(account)).toHaveLength(2);
    const types = await happened(account);
    expect(times(types, "domain.registered") + times(types, "domain.registration_failed")).toBe(1);
  });

  test("that come too late, or to a domain that is gone, do nothing", async () => {
    const { account, name } = await bought();
    const { id, due_at } = await storedAs(account, name);
    await registered(account, name);
    await advance(account, name);
    const before = await storedAs(account, name);
    expect(before.status).toBe("active");
    await advanceDomain(account.id, id, due_at ?? "", workAt(new Date()));
    // The id of a workspace is the id of no domain.
    const elsewhere = await newWorkspace(account, "Elsewhere");
    await advanceDomain(account.id, elsewhere, due_at ?? "", workAt(new Date()));
    expect(await storedAs(account, name)).toEqual(before);
  });
});
