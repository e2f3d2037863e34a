import { expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { createLog } from "../../../../shared/core/log.ts";
import { registrationQuotes } from "../../../../shared/domains/purchase/offers.ts";
import { searchDomains } from "../../../../shared/domains/purchase/search.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import type { Offer, Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { createMemoryStore, openMemoryTable } from "../../../support/memory-table.ts";

const log = createLog("silent", {});
const table = openMemoryTable(createMemoryStore());
const registrar = embeddedRegistrar(table, () => new Date());
const never = <T>(): Promise<T> => new Promise(() => undefined);

/** A registrar that uses `offer` for the names for which it returns a promise. */
const offering = (offer: (name: string) => Promise<Offer> | undefined): Registrar => ({
  ...registrar,
  offer: (name) => offer(name) ?? registrar.offer(name),
});

const names = Array.from({ length: 50 }, (_, index) => `quoted-name-${index}.com`);

test("the quotes have the order of the names, whatever the order of the registrar's answers", async () => {
  const later: (() => void)[] = [];
  const backwards = offering(
    (name) =>
      new Promise<Offer>((settle) => {
        later.push(() => settle({ name, status: "available", price: 1_400 }));
        if (later.length % 10 === 0) for (const answer of later.splice(0).toReversed()) answer();
      }),
  );
  const quotes = await registrationQuotes(backwards, names, { budgetMs: 5_000, log });
  expect(quotes.map(({ name, price, reason }) => [name, price, reason])).toEqual(
    names.map((name) => [name, 1_400, undefined]),
  );
});

test("if the registrar never answers, the quotes end in time, and the registrar is not asked about more names", async () => {
  const asked: string[] = [];
  const silent = offering((name) => {
    asked.push(name);
    return never();
  });
  const quotes = await registrationQuotes(silent, names, { budgetMs: 10, log });
  expect(quotes).toEqual(names.map((name) => ({ name, reason: "unchecked" })));
  expect(asked).toEqual(names.slice(0, 20));
});

test("an offer that is missing, fails or has no price does not affect the quotes of other names", async () => {
  const some = offering((name) => {
    if (name.includes("-1.")) return never();
    if (name.includes("-2."))
      return Promise.reject(new Problem("upstream_unavailable", "Nobody answers.", { retry_after: 1 }));
    if (name.includes("-3.")) return Promise.reject(new Error("a mistake"));
    return name.includes("-4.") ? Promise.resolve({ name, status: "available" }) : undefined;
  });
  const quotes = await registrationQuotes(some, names.slice(0, 6), { budgetMs: 50, log });
  expect(quotes.map(({ reason }) => reason)).toEqual([undefined, ...Array(4).fill("unchecked"), undefined]);
  expect(quotes[5]).toEqual({ name: names[5], price: 1_400, renewalPrice: 1_400 });
});

test("the registrar is asked only about names directly under a public suffix", async () => {
  const asked: string[] = [];
  const noting = offering((name) => void asked.push(name));
  const given = ["www.example.com", "example.com", "shop.github.io", "example.co.uk"];
  const quotes = await registrationQuotes(noting, given, { budgetMs: 1_000, log });
  expect(quotes.map(({ reason }) => reason)).toEqual(["not_registrable", undefined, "not_registrable", undefined]);
  expect(asked).toEqual(["example.com", "example.co.uk"]);
});

test.each<[string, Registrar["tlds"]]>([
  ["does not answer", never],
  ["fails", () => Promise.reject(new Problem("upstream_unavailable", "Nobody answers.", { retry_after: 1 }))],
])(
  "if the registrar %s when it is asked for its top-level domains, a search uses the best-known ones",
  async (_, tlds) => {
    const query = { workspace_id: "", query: "a-word-of-ours" };
    const found = await searchDomains("account", query, { table, log }, { ...registrar, tlds }, 20);
    expect(found.slice(0, 3).map(({ name, available }) => [name, available])).toEqual(
      ["com", "net", "org"].map((tld) => [`a-word-of-ours.${tld}`, true]),
    );
  },
);

test("if the registrar answers nothing in time, a search marks every name as `unchecked`", async () => {
  const query = { workspace_id: "", query: "a-word-of-ours.net" };
  const silent = { ...offering(() => never()), tlds: () => never<string[]>() };
  const found = await searchDomains("account", query, { table, log }, silent, 20);
  expect(found[0]).toMatchObject({ name: "a-word-of-ours.net", available: false, reason: "unchecked", price: null });
  expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(["unchecked"]));
});
