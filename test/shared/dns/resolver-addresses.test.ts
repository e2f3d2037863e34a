import { expect, test } from "vitest";

import { type Internet, a, delegated, internet, ns, record, responseTo, serving } from "../../support/dns-network.ts";
import { name, noAddress, sound } from "./bad-nameservers.ts";

const inside = [
  "127.0.0.1",
  "169.254.169.254",
  "10.0.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "0.0.0.0",
  "255.255.255.255",
  "224.0.0.251",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fd00::1",
  "fe80::1",
];

test.each(inside)("sends nothing to %s, given as glue or found by looking up", async (address) => {
  const net = await internet();
  const type = address.includes(":") ? ("AAAA" as const) : ("A" as const);
  const hosts = await net.add(
    serving({ name: "hosts.test", rrsets: [{ name: "in.hosts.test", type, ttl: 60, data: [{ type, address }] }] }),
  );
  net.registered.push(...delegated("hosts.test", hosts), ...delegated(name, { address }));
  const resolver = net.open();
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  net.registered.splice(-2, 2, ns(name, "in.hosts.test"));
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(hosts.asked.length).toBeGreaterThan(0);
  expect(new Set(net.routed)).toEqual(new Set([net.registry.address, hosts.address]));
});

test("does not take a name that only ends like a known suffix for a known one", async () => {
  const net = await internet(...delegated("notours.test", { address: "127.0.0.1" }), ns(name, "ns1.notours.test"));
  const ours = await net.add(sound);
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(ours.asked).toEqual([]);
});

test("passes over the inner one of two nameservers", async () => {
  const net = await internet();
  const server = await net.add(sound);
  net.registered.push(...delegated(name, { address: "127.0.0.1" }, server));
  expect(await net.open().resolve(name, "A")).toMatchObject({ status: "found" });
});

/** A registry's server that refers to `ns.elsewhere.test` and gives these addresses of it. */
async function subdomainWithGlue(host: string, net: Internet): Promise<Internet["root"]> {
  const server = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record(`sub.${name}`, "NS", host)],
          additionals: [record(host, "A", "8.8.66.66"), record("a.nic.test", "A", "8.8.66.66")],
        }),
      ),
  });
  net.registered.push(...delegated(name, server));
  return server;
}

test("believes no glue of a server that the name is not under", async () => {
  const net = await internet();
  await subdomainWithGlue("ns.elsewhere.test", net);
  const elsewhere = await net.add(serving({ name: "elsewhere.test", rrsets: [a("ns.elsewhere.test", "8.8.77.77")] }));
  net.registered.push(...delegated("elsewhere.test", elsewhere));
  await net.open({ tryTimeoutMs: 250 }).resolve(`sub.${name}`, "A");
  expect(net.routed).toContain("8.8.77.77");
  expect(net.routed).not.toContain("8.8.66.66");
});

test("believes the glue of a server that the name is under, for that referral", async () => {
  const net = await internet();
  await subdomainWithGlue(`ns.${name}`, net);
  await net.open({ tryTimeoutMs: 250 }).resolve(`sub.${name}`, "A");
  expect(net.routed.filter((address) => address === "8.8.66.66").length).toBe(1);
});
