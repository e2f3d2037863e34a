import { expect, test } from "vitest";

import { a, delegated, internet, ns, serving } from "../../support/dns-network.ts";
import { apex, withExample } from "./resolver-scene.ts";

test("looks up nameservers in other zones, by IPv4 and else by IPv6", async () => {
  const net = await internet();
  const server = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.1")] }));
  const hosts = await net.add(
    serving({
      name: "hosts.test",
      rrsets: [
        ns("hosts.test", "ns1.hosts.test"),
        { name: "six.hosts.test", type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2606:4700::53" }] },
      ],
    }),
  );
  net.registered.push(...delegated("hosts.test", hosts), ns("example.test", "six.hosts.test"));
  const route: typeof net.route = (address) => (address === "2606:4700::53" ? server.endpoint : net.route(address));
  expect(await net.open({ route }).resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(hosts.asked).toEqual(["six.hosts.test A", "six.hosts.test AAAA"]);
});

test("asks a nameserver with a known suffix at its configured address, with any glue", async () => {
  const net = await internet();
  const ours = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.1")] }));
  const glue = a("x.ns1.ours.test", "8.8.0.99");
  net.registered.push(ns("example.test", "x.ns1.ours.test", "x.ns2.ours.test"), glue);
  const resolver = net.open({ known: [{ suffix: "Ours.Test.", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(net.routed).toEqual([net.registry.address]);
  expect(ours.asked.length).toBe(1);
});

test("asks an address once, for any number of nameservers there", async () => {
  const net = await internet(ns("example.test", "a.ours.test", "b.ours.test", "c.ours.test"));
  const ours = await net.add(serving({ name: "other.test", rrsets: [] }));
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  expect(ours.asked.length).toBe(1);
});

test("does not take the root for a suffix of nameservers", async () => {
  const net = await internet();
  expect(() => net.open({ known: [{ suffix: ".", endpoint: net.root.endpoint }] })).toThrow("not a suffix");
});

test("keeps where a top-level domain is for its TTL, and an hour at most", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  let nowMs = 0;
  const resolver = net.open({ nowMs: () => nowMs });
  const rootQueriesAt = async (ms: number): Promise<number> => {
    nowMs = ms;
    await resolver.resolve("example.test", "A");
    return net.root.asked.length;
  };
  expect(await rootQueriesAt(0)).toBe(1);
  expect(await rootQueriesAt(3_599_999)).toBe(1);
  expect(await rootQueriesAt(3_600_000)).toBe(2);
});

test("sees at once that a domain has other nameservers", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  const resolver = net.open();
  await resolver.resolve("example.test", "A");
  const next = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.2")] }));
  net.registered.splice(-2, 2, ...delegated("example.test", next));
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ records: [{ address: "192.0.2.2" }] });
});

test("asks the root again when a top-level domain's servers have gone", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  let hasMoved = false;
  const resolver = net.open({
    route: (address) => (hasMoved ? { address: "127.0.0.1", port: 1 } : net.route(address)),
  });
  hasMoved = true;
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  hasMoved = false;
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
});
