import { expect, test } from "vitest";

import { countLookups } from "../../../../shared/domains/records/spf-lookups.ts";
import { a, delegated, internet, serving, txt } from "../../../support/dns-network.ts";

const own = "_spf.ours.test";

/** Counts the look-ups of the SPF record `text` of `shop.test`. `texts` has the TXT records of names in the DNS. */
async function counted(text: string, texts: Record<string, string | string[]>) {
  const net = await internet();
  const rrsets = Object.entries(texts).map(([name, some]) => txt(name, ...[some].flat()));
  const host = await net.add(serving({ name: "shop.test", rrsets: [a("www.shop.test", "192.0.2.1"), ...rrsets] }));
  net.registered.push(...delegated("shop.test", host));
  return countLookups({ domain: "shop.test", text, own }, net.open());
}

/** `length` SPF records. Each one includes the next, and the last one has an address. */
const chain = (length: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length }, (_, index) => [
      `c${index}.shop.test`,
      index + 1 < length ? `v=spf1 include:c${index + 1}.shop.test -all` : "v=spf1 ip4:192.0.2.1 -all",
    ]),
  );

test.each<[title: string, text: string, texts: Record<string, string | string[]>, lookups: number]>([
  ["addresses", "v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 -all", {}, 0],
  ["our own include, even if it cannot be resolved", `v=spf1 include:${own} ~all`, {}, 1],
  ["a chain of includes", "v=spf1 include:c0.shop.test -all", chain(10), 10],
  [
    "an include twice if two records have it",
    "v=spf1 include:a.shop.test include:b.shop.test -all",
    {
      "a.shop.test": "v=spf1 include:c0.shop.test -all",
      "b.shop.test": "v=spf1 include:c0.shop.test -all",
      ...chain(1),
    },
    4,
  ],
  [
    "a, ptr and a macro, each once",
    "v=spf1 a:www.shop.test/24 ptr exists:%{i}.shop.test include:%{d}.x.test ~all",
    {},
    4,
  ],
  ["a redirect", "v=spf1 redirect=a.shop.test", { "a.shop.test": "v=spf1 a:www.shop.test -all" }, 2],
  [
    "no term after the term `all`",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": "v=spf1 -all include:b.shop.test" },
    1,
  ],
  [
    "only the SPF record among other texts",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": ["x=1", "v=spf1 -all"] },
    1,
  ],
])("counts %s", async (_, text, texts, lookups) => {
  expect(await counted(text, texts)).toEqual({ lookups });
});

test.each<[title: string, text: string, texts: Record<string, string | string[]>, term: string, message: string]>([
  [
    "eleven look-ups",
    "v=spf1 a:www.shop.test include:c0.shop.test -all",
    chain(10),
    "include:c0.shop.test",
    "more than 10 DNS",
  ],
  [
    "a circle",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": "v=spf1 include:b.shop.test -all", "b.shop.test": "v=spf1 include:a.shop.test -all" },
    "include:a.shop.test",
    "a.shop.test → b.shop.test → a.shop.test is a circle",
  ],
  [
    "a circle through the domain itself",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": "v=spf1 include:shop.test -all" },
    "include:a.shop.test",
    "shop.test → a.shop.test → shop.test is a circle",
  ],
  ["a name that does not exist", "v=spf1 include:a.shop.test -all", {}, "include:a.shop.test", "no SPF record"],
  [
    "a name with other texts only",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": "x=1" },
    "include:a.shop.test",
    "a.shop.test has no SPF record",
  ],
  [
    "two SPF records",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": ["v=spf1 -all", "v=spf1 a -all"] },
    "include:a.shop.test",
    "several SPF records",
  ],
  [
    "a record that is not valid",
    "v=spf1 include:a.shop.test -all",
    { "a.shop.test": "v=spf1 ipv4:192.0.2.1 -all" },
    "include:a.shop.test",
    "not a mechanism",
  ],
  [
    "three names without an address",
    "v=spf1 a:x.shop.test a:y.shop.test mx:z.shop.test -all",
    {},
    "a:x.shop.test",
    "3 names",
  ],
])("refuses %s, and names the term", async (_, text, texts, term, message) => {
  expect(await counted(text, texts)).toEqual({ fault: { term, message: expect.stringContaining(message) } });
});

test("the count is `unknown` if a nameserver is silent, unless the other terms are already too many", async () => {
  const net = await internet();
  const silent = await net.addAsLiked({});
  net.registered.push(...delegated("shop.test", silent));
  const resolver = net.open({ tryTimeoutMs: 250, timeoutMs: 1000 });
  const asked = (text: string) => countLookups({ domain: "shop.test", text, own }, resolver);
  expect(await asked("v=spf1 include:a.shop.test -all")).toEqual({
    unknown: expect.stringContaining("a.shop.test cannot be read: the nameservers of shop.test do not answer"),
  });
  const many = Array.from({ length: 10 }, (_, index) => `exists:%{i}.x${index}.test`).join(" ");
  expect(await asked(`v=spf1 ${many} include:a.shop.test -all`)).toMatchObject({ fault: expect.anything() });
});

test("the count stops in an endless tree of includes", async () => {
  const net = await internet();
  const host = await net.add(async ({ name }) =>
    serving({ name: "shop.test", rrsets: [txt(name, tree(name))] })({ name, type: "TXT" }),
  );
  const tree = (name: string) => `v=spf1 include:l.${name} include:r.${name} -all`;
  net.registered.push(...delegated("shop.test", host));
  const result = await countLookups({ domain: "x.shop.test", text: tree("x.shop.test"), own }, net.open());
  expect(result).toMatchObject({ fault: { message: expect.stringContaining("receivers stop at 10") } });
  expect(host.asked.length).toBeLessThanOrEqual(12);
});
