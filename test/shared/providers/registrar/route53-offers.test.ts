import { beforeEach, expect, test } from "vitest";

import { stubAws } from "../../../support/aws.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { refusal } from "../domains-service.ts";
import { callsOf, name, scene, since } from "./route53-scene.ts";

beforeEach(() => stubAws("eu-central-1"));

test.each([
  ["AVAILABLE", "available"],
  ["AVAILABLE_PREORDER", "unavailable"],
  ["AVAILABLE_RESERVED", "reserved"],
  ["RESERVED", "reserved"],
  ["UNAVAILABLE", "unavailable"],
  ["UNAVAILABLE_PREMIUM", "premium"],
  ["UNAVAILABLE_RESTRICTED", "reserved"],
  ["INVALID_NAME_FOR_TLD", "invalid"],
  ["DONT_KNOW", "unknown"],
  ["PENDING", "unknown"],
  ["SOMETHING_NEW", "unknown"],
])("the availability %s gives an offer with the status %s", async (given, status) => {
  const one = await scene();
  one.availability.set(name, given);
  const prices = status === "available" ? { price: 1_400, renewalPrice: 1_310 } : {};
  expect(await one.registrar.offer(name)).toEqual({ name, status, ...prices });
});

test.each([
  ["example.test", "unsupported_tld"],
  ["localhost", "invalid"],
])("the offer for %s is %s", async (name, status) => {
  expect(await (await scene()).registrar.offer(name)).toEqual({ name, status });
});

test("the offer is `unknown` while the registry is in maintenance", async () => {
  const one = await scene();
  await one.registrar.offer("other.com");
  one.troubles.push(refusal("TLDInMaintenance"));
  expect(await one.registrar.offer(name)).toEqual({ name, status: "unknown" });
});

test.each([
  ["9.99", "USD", 999],
  ["12", "USD", 1_200],
  ["0.1", "USD", 10],
  ["1234567.89", "USD", 123_456_789],
  ["9.999", "USD", undefined],
  ["9.99", "EUR", undefined],
])("a price of %s %s is %s minor units", async (price, Currency, minor) => {
  const one = await scene();
  const amount = { Price: Number(price), Currency };
  one.prices.push({ Name: "dev", RegistrationPrice: amount, RenewalPrice: amount });
  const expected = minor === undefined ? {} : { price: minor, renewalPrice: minor };
  expect(await one.registrar.offer("example.dev")).toEqual({ name: "example.dev", status: "available", ...expected });
});

test("the fee for a name is the renewal price of the price list, and a restoration has no fee", async () => {
  const one = await scene();
  expect(await one.registrar.fees(name)).toEqual({ renewal: 1_310 });
  expect(await one.registrar.fees("example.test")).toBeUndefined();
  expect(callsOf(one)).toEqual(["ListPrices", "ListPrices"]);
});

test("the prices of a top-level domain are fetched once in an hour, even for concurrent offers, and a failure is not cached", async () => {
  let now = since;
  const one = await scene([], { now: () => now });
  const names = ["a.com", "b.com", "c.com.mx", "d.com"];
  await Promise.all(names.map((each) => one.registrar.offer(each)));
  const asked = (): unknown[] =>
    one.recorded.filter((_, index) => callsOf(one)[index] === "ListPrices").map(({ body }) => JSON.parse(body));
  expect(asked()).toEqual([{ Tld: "com" }, { Tld: "com.mx" }]);
  now = new Date(since.getTime() + 3_600_000);
  await one.registrar.offer("b.com");
  expect(asked()).toHaveLength(3);
  one.troubles.push(refusal("AccessDenied"));
  await thrownBy(one.registrar.tlds());
  expect(await one.registrar.tlds()).toEqual(["com", "com.mx"]);
});

test("the top-level domains are all those with a price, and are cached", async () => {
  const one = await scene();
  for (let n = 0; n < 250; n++) {
    const amount = { Price: 1, Currency: "USD" };
    one.prices.push({ Name: `tld${n}`, RegistrationPrice: amount, RenewalPrice: amount });
  }
  const tlds = await one.registrar.tlds();
  expect(tlds).toHaveLength(252);
  expect(tlds).toEqual(expect.arrayContaining(["com", "com.mx", "tld249"]));
  await one.registrar.tlds();
  expect(one.recorded.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { MaxItems: 100 },
    { MaxItems: 100, Marker: "100" },
    { MaxItems: 100, Marker: "200" },
  ]);
});

test.each(["example.com.au", "example.ca", "example.co.uk"])(
  "%s is not offered, because its registry asks for data that our contacts do not have",
  async (unsold) => {
    const one = await scene();
    const amount = { Price: 9, Currency: "USD" };
    const Name = unsold.replace("example.", "");
    one.prices.push({ Name, RegistrationPrice: amount, RenewalPrice: amount, TransferPrice: amount });
    one.elsewhere.set(unsold, { authCode: "a-code" });
    const { registrar } = one;
    const none = { name: unsold, status: "unsupported_tld" };
    expect([await registrar.offer(unsold), await registrar.transferOffer(unsold, "a-code")]).toEqual([none, none]);
    expect(await registrar.tlds()).toEqual(["com", "com.mx"]);
    expect(await registrar.fees(unsold)).toEqual({ renewal: 900 });
  },
);
