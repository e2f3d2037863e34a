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

test.each(inside)("the resolver sends nothing to %s, whether the address is glue or was looked up", async (address) => {
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

test("the resolver does not treat a nameserver as known if its name has the letters of a known suffix only inside a label", async () => {
  const net = await internet(...delegated("notours.test", { address: "127.0.0.1" }), ns(name, "ns1.notours.test"));
  const ours = await net.add(sound);
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(ours.asked).toEqual([]);
});

test("the resolver skips a nameserver whose address is not public, and asks the other nameserver", async () => {
  const net = await internet();
  const server = await net.add(sound);
  net.registered.push(...delegated(name, { address: "127.0.0.1" }, server));
  expect(await net.open().resolve(name, "A")).toMatchObject({ status: "found" });
});

/** Adds the nameserver of `example.test`. It refers `sub.example.test` to `host`, with the glue 8.8.66.66. */
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

test("the resolver ignores glue for a nameserver whose name is outside the sender's zone", async () => {
  const net = await internet();
  await subdomainWithGlue("ns.elsewhere.test", net);
  const elsewhere = await net.add(serving({ name: "elsewhere.test", rrsets: [a("ns.elsewhere.test", "8.8.77.77")] }));
  net.registered.push(...delegated("elsewhere.test", elsewhere));
  await net.open({ tryTimeoutMs: 250 }).resolve(`sub.${name}`, "A");
  expect(net.routed).toContain("8.8.77.77");
  expect(net.routed).not.toContain("8.8.66.66");
});

test("the resolver uses glue for a nameserver whose name is inside the sender's zone", async () => {
  const net = await internet();
  await subdomainWithGlue(`ns.${name}`, net);
  await net.open({ tryTimeoutMs: 250 }).resolve(`sub.${name}`, "A");
  expect(net.routed.filter((address) => address === "8.8.66.66").length).toBe(1);
});
