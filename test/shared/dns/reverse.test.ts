import { expect, test } from "vitest";

import type { ServedRRset } from "../../../infra/local/dns/records-wire.ts";
import type { Resolver } from "../../../shared/dns/answer.ts";
import { openResolver } from "../../../shared/dns/resolver.ts";
import { forwardConfirmed, reverseName } from "../../../shared/dns/reverse.ts";
import { a, cname, delegated, dnsNetwork, ptr, serving, txt, type DnsNetwork } from "../../support/dns-network.ts";

const four = "45.12.0.7";
const six = "2a01:4f8::7";

const aaaa = (name: string, address: string): ServedRRset => ({
  name,
  type: "AAAA",
  ttl: 300,
  data: [{ type: "AAAA", address }],
});

/** A resolver of an internet in which the root's server has all these records. */
async function internetWith(
  rrsets: ServedRRset[],
  network: DnsNetwork = dnsNetwork(),
): Promise<{ resolver: Resolver; asked: string[] }> {
  const root = await network.add(serving({ name: "", rrsets }));
  const resolver = openResolver({
    roots: [root.endpoint],
    route: network.route,
    tryTimeoutMs: 2_000,
    timeoutMs: 10_000,
  });
  return { resolver, asked: root.asked };
}

async function stateOf(ip: string, ...rrsets: ServedRRset[]) {
  const { resolver } = await internetWith(rrsets);
  return forwardConfirmed(resolver, ip);
}

test("an IPv4 address is confirmed if one of the A records of its name has the address", async () => {
  const state = await stateOf(
    four,
    ptr(reverseName(four), "Mail.example.test"),
    a("mail.example.test", "45.1.1.1", four),
  );
  expect(state).toEqual({
    status: "confirmed",
    rdns: "mail.example.test",
    message: "The reverse DNS of 45.12.0.7 is mail.example.test, which leads back to it.",
  });
});

test.each([six, "2A01:04F8:0:0:0:0:0:7", "2a01:4f8::0.0.0.7"])(
  "the IPv6 address %s is confirmed whatever its spelling",
  async (ip) => {
    const state = await stateOf(ip, ptr(reverseName(six), "mail.example.test"), aaaa("mail.example.test", six));
    expect(state).toMatchObject({ status: "confirmed", rdns: "mail.example.test" });
  },
);

test("the check of an address with one name asks two questions", async () => {
  const { resolver, asked } = await internetWith([
    ptr(reverseName(four), "mail.example.test"),
    a("mail.example.test", four),
  ]);
  await forwardConfirmed(resolver, four);
  expect(asked).toEqual(["7.0.12.45.in-addr.arpa PTR", "mail.example.test A"]);
});

test("the check follows the alias of an address in a small delegated range (RFC 2317), and an alias of its name", async () => {
  const network = dnsNetwork();
  const zone = "0/28.0.12.45.in-addr.arpa";
  const holder = await network.add(serving({ name: zone, rrsets: [ptr(`7.${zone}`, "mail.example.test")] }));
  const { resolver } = await internetWith(
    [
      ...delegated(zone, holder),
      cname(reverseName(four), `7.${zone}`),
      cname("mail.example.test", "host.example.test"),
      a("host.example.test", four),
    ],
    network,
  );
  expect(await forwardConfirmed(resolver, four)).toMatchObject({ status: "confirmed", rdns: "mail.example.test" });
  expect(holder.asked).toEqual([`7.${zone} PTR`]);
});

test("if several names lead back to the address, the check returns the alphabetically first name", async () => {
  const names = ["z.example.test", "b.example.test", "a.example.test", "c.example.test"];
  const leading = names.filter((name) => name !== "a.example.test").map((name) => a(name, four));
  const state = await stateOf(four, ptr(reverseName(four), ...names), ...leading);
  expect(state).toMatchObject({ status: "confirmed", rdns: "b.example.test" });
});

test("the check looks up at most three names, and says to keep one", async () => {
  const names = Array.from({ length: 4 }, (_, index) => `h${String(index).padStart(2, "0")}.example.test`);
  const { resolver, asked } = await internetWith([ptr(reverseName(four), ...names), a("h03.example.test", four)]);
  expect(await forwardConfirmed(resolver, four)).toEqual({
    status: "unconfirmed",
    rdns: "h00.example.test",
    message: "45.12.0.7 has 4 names. 3 of them were checked, and none leads back to it. Keep one PTR record.",
  });
  expect(asked).toHaveLength(4);
});

const withoutName = {
  status: "unconfirmed",
  rdns: null,
  message: "45.12.0.7 has no name. Ask its provider to set its PTR record to the host's name.",
};

test("the check says that an address without a PTR record has no name", async () => {
  expect(await stateOf(four)).toEqual(withoutName);
  expect(await stateOf(four, txt(reverseName(four), "nothing to see"))).toEqual(withoutName);
});

test("the root does not count as a name", async () => {
  expect(await stateOf(four, ptr(reverseName(four), ""))).toEqual(withoutName);
});

const oddNames = [
  "<b>.example.test",
  "a'b.example.test",
  "$(id).example.test",
  "x@example.test",
  "a..b",
  "\u001b[31m.test",
];

test.each(oddNames)("%j does not count as a name, because it is not a host name", async (host) => {
  const resolver: Pick<Resolver, "resolve"> = {
    resolve: async (name, type) => ({
      status: "found",
      records: type === "PTR" ? [{ name, ttl: 60, type, host }] : [{ name, ttl: 60, type: "A", address: four }],
    }),
  };
  expect(await forwardConfirmed(resolver, four)).toEqual({
    ...withoutName,
    message: "45.12.0.7 has a name that is not a host name. Ask its provider to set its PTR record to the host's name.",
  });
});

test("the check skips a name that is not a host name, and confirms by a valid name", async () => {
  const state = await stateOf(
    four,
    ptr(reverseName(four), "<a>.example.test", "_m-1.example.test"),
    a("_m-1.example.test", four),
    a("<a>.example.test", four),
  );
  expect(state).toMatchObject({ status: "confirmed", rdns: "_m-1.example.test" });
});

test.each([
  ["does not exist", []],
  ["has other addresses", [a("mail.example.test", "45.12.0.8")]],
  ["has only an address of the other family", [aaaa("mail.example.test", six)]],
  ["has only private addresses", [a("mail.example.test", "127.0.0.1", "10.0.0.1")]],
])("the check says which record is missing if the name %s", async (_, rrsets) => {
  expect(await stateOf(four, ptr(reverseName(four), "mail.example.test"), ...rrsets)).toEqual({
    status: "unconfirmed",
    rdns: "mail.example.test",
    message: "The PTR record names mail.example.test, but this name has no A record with 45.12.0.7. Add this record.",
  });
});

test("the check lists all names that do not lead back", async () => {
  const state = await stateOf(six, ptr(reverseName(six), "b.example.test", "a.example.test"));
  expect(state).toMatchObject({
    rdns: "a.example.test",
    message:
      "The PTR records name a.example.test and b.example.test, but these names have no AAAA record with 2a01:4f8::7. Add this record to one of them.",
  });
});

/**
 * Time limits for tests in which some servers are silent. They are long enough for the root to answer on a busy
 * machine.
 */
const patience = { tryTimeoutMs: 250, timeoutMs: 3_000 };

test("the result is `unknown` if the nameservers of the address are silent", async () => {
  const network = dnsNetwork();
  const silent = await network.addAsLiked({});
  const root = await network.add(serving({ name: "", rrsets: delegated("45.in-addr.arpa", silent) }));
  const resolver = openResolver({ roots: [root.endpoint], route: network.route, ...patience });
  const { status, rdns, message } = await forwardConfirmed(resolver, four);
  expect([status, rdns]).toEqual(["unknown", null]);
  expect(message).toContain("the nameservers of 45.in-addr.arpa do not answer");
});

/** The PTR record of `four` with a name, and a delegation of this name to a nameserver at `address`. */
const hostBehind = (address: string): ServedRRset[] => [
  ptr(reverseName(four), "mail.example.test"),
  ...delegated("example.test", { address }),
];

test("the result is `unknown`, with the name, if the nameservers of the name are silent", async () => {
  const network = dnsNetwork();
  const silent = await network.addAsLiked({});
  const root = await network.add(serving({ name: "", rrsets: hostBehind(silent.address) }));
  const resolver = openResolver({ roots: [root.endpoint], route: network.route, ...patience });
  expect(await forwardConfirmed(resolver, four)).toEqual({
    status: "unknown",
    rdns: "mail.example.test",
    message: "The check could not be completed: the nameservers of example.test do not answer. Try again later.",
  });
});

test("an address is confirmed by one name even if the nameservers of another name are silent", async () => {
  const network = dnsNetwork();
  const silent = await network.addAsLiked({});
  const rrsets = [
    ptr(reverseName(four), "mail.example.test", "z.other.test"),
    ...delegated("example.test", silent),
    a("z.other.test", four),
  ];
  const root = await network.add(serving({ name: "", rrsets }));
  const resolver = openResolver({ roots: [root.endpoint], route: network.route, ...patience });
  expect(await forwardConfirmed(resolver, four)).toMatchObject({ status: "confirmed", rdns: "z.other.test" });
});

test("the check sends nothing to nameservers that are not on the public internet", async () => {
  const network = dnsNetwork();
  const { resolver } = await internetWith(hostBehind("127.0.0.1"), network);
  const state = await forwardConfirmed(resolver, four);
  expect(state).toMatchObject({ status: "unknown", rdns: "mail.example.test" });
  expect(network.routed).toEqual([]);
});
