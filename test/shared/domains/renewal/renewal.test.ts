import { describe, expect, test } from "vitest";

import { advanceDomain } from "../../../../functions/workers/advance-domains.ts";
import { yearsAfter } from "../../../../shared/core/time.ts";
import { renewDomain } from "../../../../shared/domains/renewal/renew.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import type { Context } from "../../../../shared/http/route.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused, type Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { storedAs, workAt } from "../../../support/domain-work.ts";
import { domainsRequest } from "../../../support/domains.ts";
import { happened, transactions, wallet } from "../../../support/purchases.ts";
import { registrationUntil, silence } from "../../../support/registrations.ts";
import { advanceAt, daysFrom, lookWith, ownedName, registrationAt, renew, renewed } from "../../../support/renewals.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { testTable, type Account } from "../../../support/world.ts";

const free = { posted: 10_000, available: 10_000 };
const held = { posted: 10_000, available: 8_600 };
const paid = { posted: 8_600, available: 8_600 };

/** A name whose renewal for a year has begun, and the year in which its registration ended before. */
async function renewing(prefix = ""): Promise<{ account: Account; name: string; year: number }> {
  const { account, name } = await ownedName(prefix);
  const year = await endYear(name);
  const { status, text } = await renew(account, name);
  if (status !== 200) throw new Error(text);
  return { account, name, year };
}

const endYear = async (name: string): Promise<number> =>
  new Date((await registrationAt(name)).expiresAt).getUTCFullYear();

/** The method `registration` of a registrar, with an end that is a year later. */
const later =
  ({ registration }: Registrar): Registrar["registration"] =>
  async (name) => {
    const found = await registration(name);
    return found && { ...found, expiresAt: yearsAfter(new Date(found.expiresAt), 1).toISOString() };
  };

const renewalOf = async (account: Account, name: string) => (await storedAs(account, name)).renewal;
const told = async (account: Account): Promise<string[]> =>
  (await happened(account)).filter((type) => type.startsWith("domain.renew"));

describe("a renewal", () => {
  test("that takes a while is checked after longer and longer waits, and is paid when it is done", async () => {
    const { account, name } = await renewing("slow-");
    const begun = Date.parse((await storedAs(account, name)).due_at ?? "");
    const looks: number[] = [];
    while ((await renewalOf(account, name))?.stage !== "captured") {
      expect(await wallet(account)).toEqual(held);
      looks.push(Math.round((Date.parse((await storedAs(account, name)).due_at ?? "") - begun) / 1_000));
      await lookWith(account, name);
    }
    expect(looks).toEqual([0, 2, 7, 22, 82]);
    expect([await wallet(account), await told(account)]).toEqual([paid, ["domain.renewed"]]);
  });

  test("whose answer was lost is found, and paid once", async () => {
    const { account, name, year } = await renewing("lost-");
    await lookWith(account, name);
    expect(await renewalOf(account, name)).toMatchObject({ stage: "asked" });
    expect(await wallet(account)).toEqual(held);
    await renewed(account, name);
    expect([await wallet(account), await endYear(name)]).toEqual([paid, year + 1]);
    expect(await told(account)).toEqual(["domain.renewed"]);
  });

  test.each([
    ["renewal-refused-", /refuses/],
    ["renewal-fails-", /did not renew/],
  ])("that fails (%s) costs nothing, says why, and can be tried again", async (prefix, reason) => {
    const { account, name, year } = await renewing(prefix);
    await renewed(account, name);
    const failed = { stage: "voided", reason: expect.stringMatching(reason) };
    expect(await renewalOf(account, name)).toMatchObject(failed);
    expect([await wallet(account), await endYear(name)]).toEqual([free, year]);
    expect((await transactions(account)).at(-1)).toMatch(/^purchase void 14\.00 Renewal/);
    expect(await told(account)).toEqual(["domain.renewal_failed"]);

    const { due_at } = await storedAs(account, name);
    const plain = embeddedRegistrar(testTable(), () => new Date(due_at ?? ""));
    await renew(account, name);
    await renewed(account, name, {
      renew: async () => ({ id: "other", state: "succeeded" }),
      registration: later(plain),
    });
    expect([await renewalOf(account, name), await wallet(account)]).toMatchObject([{ stage: "captured" }, paid]);
  });

  test("after an earlier renewal adds its own years and its own price", async () => {
    const { account, name, year } = await renewing();
    await renewed(account, name);
    await renew(account, name, { years: 2 });
    await renewed(account, name);
    expect([await endYear(name), await wallet(account)]).toEqual([year + 3, { posted: 5_800, available: 5_800 }]);
  });

  test("does not count as done because an earlier renewal succeeded, even if its own answer was lost", async () => {
    const { account, name, year } = await renewing();
    await renewed(account, name);
    await renew(account, name);
    await lookWith(account, name, { renew: () => Promise.reject(silence()) });
    await lookWith(account, name);
    expect(await renewalOf(account, name)).toMatchObject({ stage: "asked" });
    await renewed(account, name);
    expect([await endYear(name), await wallet(account)]).toEqual([year + 2, { posted: 7_200, available: 7_200 }]);
  });

  test("continues while a request changes its domain, and keeps this change", async () => {
    const { account, name } = await renewing("slow-");
    const change = { dmarc_policy: "reject" };
    const looking = () => lookWith(account, name);
    const changing = () => domainsRequest(account, "PATCH", `/${name}`, change);
    await Promise.all([looking(), changing()]);
    await renewed(account, name);
    expect(await storedAs(account, name)).toMatchObject({ ...change, renewal: { stage: "captured" } });
    expect(await wallet(account)).toEqual(paid);
  });

  test("changes no other members of its domain, and the checks of the domain continue", async () => {
    const { account, name } = await renewing();
    const before = await storedAs(account, name);
    const after = await renewed(account, name);
    const changed = new Set(["renewal", "registration", "due_at", "updated_at", "version"]);
    const kept = (domain: object) => Object.fromEntries(Object.entries(domain).filter(([key]) => !changed.has(key)));
    expect(kept(after)).toEqual(kept(before));
    await lookWith(account, name);
    expect(await storedAs(account, name)).toMatchObject({ status: "active" });
  });
});

describe("a registrar", () => {
  test("that does not answer is not asked again for ten minutes, and the money stays held", async () => {
    const { account, name, year } = await renewing();
    const asked: number[] = [];
    const begun = Date.parse((await storedAs(account, name)).due_at ?? "");
    for (;;) {
      const at = Date.parse((await storedAs(account, name)).due_at ?? "") - begun;
      if (at >= 3_600_000) break;
      const own: Partial<Registrar> = {
        renew: () => {
          asked.push(at);
          return Promise.reject(silence());
        },
      };
      await lookWith(account, name, own);
      expect(await wallet(account)).toEqual(held);
    }
    expect(asked.length).toBeGreaterThan(1);
    expect(asked[1]).toBeGreaterThanOrEqual(600_000);
    await renewed(account, name);
    expect([await wallet(account), await endYear(name)]).toEqual([paid, year + 1]);
  });

  test("that refuses a renewal which it has just made for us: the name counts as renewed", async () => {
    const { account, name, year } = await renewing();
    const { due_at } = await storedAs(account, name);
    const plain = embeddedRegistrar(testTable(), () => new Date(due_at ?? ""));
    await lookWith(account, name, {
      renew: async (request) => {
        await plain.renew(request);
        throw new Refused("The registration ends in another year.");
      },
    });
    expect([await wallet(account), await endYear(name)]).toEqual([paid, year + 1]);
  });

  test("that reports a success is believed only once the registration has a later end", async () => {
    const { account, name } = await renewing();
    const before = await registrationAt(name);
    await lookWith(account, name, { registration: async () => before });
    expect([(await renewalOf(account, name))?.stage, await wallet(account)]).toEqual(["running", held]);
    await renewed(account, name);
    expect(await wallet(account)).toEqual(paid);
  });

  test("that shows a renewal by hand, and not the account's renewal for ten minutes, is asked again", async () => {
    const { account, name } = await ownedName();
    const { expiresAt } = await registrationAt(name);
    const byHand = embeddedRegistrar(testTable(), () => new Date());
    await byHand.renew({ name, years: 1, expiresAt, restore: false });
    const year = await endYear(name);
    await renew(account, name);
    await lookWith(account, name, { renew: () => Promise.reject(silence()) });
    const begun = Date.parse((await storedAs(account, name)).due_at ?? "");
    const asked: number[] = [];
    for (let looks = 0; looks < 20 && (await renewalOf(account, name))?.stage !== "captured"; looks++) {
      const at = new Date((await storedAs(account, name)).due_at ?? "");
      const { renew: plain } = embeddedRegistrar(testTable(), () => at);
      await lookWith(account, name, {
        renew: (request) => {
          asked.push(at.getTime() - begun);
          return plain(request);
        },
      });
    }
    expect(asked).toHaveLength(1);
    expect(asked[0]).toBeGreaterThanOrEqual(600_000);
    expect([await endYear(name), await wallet(account)]).toEqual([year + 1, paid]);
    expect(await told(account)).toEqual(["domain.renewed"]);
  });

  test.each([
    ["whose operation runs on", async () => ({ id: "one", state: "running" as const })],
    ["that does not answer about the operation", () => Promise.reject(silence())],
  ])("%s for more than a day: the domain has the shown end, and the renewal is paid once", async (_, operation) => {
    const { account, name, year } = await renewing();
    const { renewal, registration: before } = await storedAs(account, name);
    const { registration } = embeddedRegistrar(testTable(), () => new Date());
    const shown = await registration(name);
    const waiting: Partial<Registrar> = { renew: async () => ({ id: "one", state: "running" }), operation };
    const at = (days: number, own: Partial<Registrar>) =>
      advanceAt(account, name, daysFrom(renewal?.started_at, days), { ...waiting, ...own });
    const end = yearsAfter(new Date(shown?.expiresAt ?? ""), 1).toISOString();
    const renewedThere = async () => shown && registrationUntil(end);
    expect(await at(0.9, { registration: renewedThere })).toMatchObject({ registration: before });
    expect(await at(1.1, { registration: () => Promise.reject(silence()) })).toMatchObject({ registration: before });
    const later = await at(1.2, { registration: renewedThere });
    expect(later).toMatchObject({ registration: { expires_at: end }, renewal: { stage: "running" } });
    expect(await wallet(account)).toEqual(held);
    await at(1.3, { registration: renewedThere });
    expect(await storedAs(account, name)).toMatchObject({ updated_at: later?.updated_at });
    await at(1.4, { registration: renewedThere, operation: async () => ({ id: "one", state: "succeeded" }) });
    expect(await storedAs(account, name)).toMatchObject({ renewal: { stage: "captured" } });
    expect(new Date(end).getUTCFullYear()).toBe(year + 1);
    expect([await wallet(account), await told(account)]).toEqual([paid, ["domain.renewed"]]);
  });

  test("that does not show the name is not asked again for the same renewal", async () => {
    const { account, name, year } = await renewing();
    const asked: unknown[] = [];
    await lookWith(account, name, { registration: async () => undefined });
    for (let looks = 0; looks < 10; looks++) {
      await lookWith(account, name, {
        registration: async () => undefined,
        renew: (request) => {
          asked.push(request);
          return Promise.reject(silence());
        },
      });
    }
    expect(asked).toEqual([]);
    expect([(await renewalOf(account, name))?.stage, await wallet(account)]).toEqual(["running", held]);
    await renewed(account, name);
    expect([await wallet(account), await endYear(name)]).toEqual([paid, year + 1]);
  });

  test("whose adapter breaks leaves the renewal due, and the money held", async () => {
    const { account, name } = await renewing();
    await expect(lookWith(account, name, { renew: () => Promise.reject(new Error("a mistake")) })).rejects.toThrow();
    expect(await storedAs(account, name)).toMatchObject({ renewal: { stage: "asked" }, due_at: expect.any(String) });
    expect(await wallet(account)).toEqual(held);
  });
});

describe("a request for a renewal", () => {
  /** Asks for a renewal at a registrar that has some methods replaced by `own`. Returns the error. */
  async function ask(own: Partial<Registrar>): Promise<unknown> {
    const { account, name } = await ownedName();
    const now = (): Date => new Date();
    const table = testTable();
    const permissions = { member: true, everything: true, superAdmin: false, grants: [] };
    const context = { ...systemWriter({ table, now }, account.id), permissions } as unknown as Context;
    const registrar = { ...embeddedRegistrar(table, now), ...own };
    const error = await thrownBy(renewDomain(await storedAs(account, name), { years: 1 }, context, registrar));
    expect(await wallet(account)).toEqual(free);
    return error;
  }

  test("is a 503 when the registry gives no price", async () => {
    expect(await ask({ fees: async () => undefined })).toMatchObject({ code: "upstream_unavailable", status: 503 });
  });

  test("is a 409 for a name in redemption whose registrar cannot restore it", async () => {
    const registration = async () => ({
      ...registrationUntil("2026-01-01T00:00:00.000Z"),
      phase: "redemption" as const,
    });
    const error = await ask({ registration, fees: async () => ({ renewal: 1_400 }) });
    expect(error).toMatchObject({ code: "domain_not_ready", message: expect.stringContaining("by hand") });
  });
});

test.each(["lost-", "renewal-fails-", ""])(
  "several workers at the same time have the same result as one worker (%s)",
  async (prefix) => {
    const { account, name, year } = await renewing(prefix);
    for (let times = 0; times < 20; times++) {
      const { id, due_at, renewal } = await storedAs(account, name);
      if (renewal?.stage === "captured" || renewal?.stage === "voided") break;
      const work = workAt(new Date(due_at ?? ""));
      await Promise.all(Array.from({ length: 4 }, () => advanceDomain(account.id, id, due_at ?? "", work)));
    }
    const isPaid = prefix !== "renewal-fails-";
    expect([await wallet(account), await endYear(name)]).toEqual(isPaid ? [paid, year + 1] : [free, year]);
    expect(await told(account)).toEqual([isPaid ? "domain.renewed" : "domain.renewal_failed"]);
  },
);
