import { expect, test } from "vitest";

import { openBudget, type Budget } from "../../../shared/dns/budget.ts";
import { a, cname, delegated, internet, ns, record, responseTo, serving } from "../../support/dns-network.ts";
import { name, noAddress, replying } from "./bad-nameservers.ts";

test("the resolver looks up the address of only three of fifty nameservers without glue", async () => {
  const net = await internet();
  const victim = await net.add(serving({ name: "victim.test", rrsets: [] }));
  const hosts = Array.from({ length: 50 }, (_, index) => `host${index}.victim.test`);
  net.registered.push(...delegated("victim.test", victim), ns(name, ...hosts));
  expect(await net.open().resolve(name, "A")).toEqual(noAddress);
  expect(victim.asked.length).toBe(3);
});

test("the resolver asks at most thirteen servers of a zone", async () => {
  const net = await internet();
  const bad = { udp: replying(() => ({ flags: 5 })) };
  const servers = await Promise.all(Array.from({ length: 30 }, () => net.addAsLiked(bad)));
  net.registered.push(...delegated(name, ...servers));
  await net.open().resolve(name, "A");
  expect(servers.flatMap(({ asked }) => asked).length).toBe(13);
});

test("the resolver gives up on nameservers that can only be found through each other", async () => {
  const net = await internet();
  net.registered.push(ns(name, "ns.other.test"), ns("other.test", `ns.${name}`), ns("own.test", "ns.own.test"));
  const resolver = net.open();
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(net.registry.asked).toEqual(["example.test A", "ns.other.test A", "ns.example.test A"]);
  expect(await resolver.resolve("own.test", "A")).toMatchObject({ status: "unknown" });
  expect(net.registry.asked.length).toBe(4);
});

test("the resolver sends at most `maxQueries` messages, even if the look-ups branch", async () => {
  const net = await internet();
  const tree = await net.addAsLiked({
    udp: (query, send) => {
      const [question] = query.questions ?? [];
      const hosts = [1, 2, 3].map((branch) => record(question?.name ?? "", "NS", `ns.${branch}${question?.name}`));
      send(responseTo(query, { flags: 0, authorities: hosts }));
    },
  });
  const root = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record("test", "NS", "t.test")],
          additionals: [record("t.test", "A", tree.address)],
        }),
      ),
  });
  const resolver = net.open({ roots: [root.endpoint], maxQueries: 20 });
  expect(await resolver.resolve("x.test", "A")).toMatchObject({ status: "unknown" });
  expect(tree.asked.length + root.asked.length).toBeLessThanOrEqual(20);
});

test("the resolver stops when it has sent as many messages as one question may take", async () => {
  const net = await internet(...delegated(name, { address: "8.8.0.99" }));
  expect(await net.open({ maxQueries: 2 }).resolve(name, "A")).toEqual({
    status: "unknown",
    reason: "it takes too many DNS queries",
  });
});

test("the resolver stops when it has sent as many messages as several questions together may take", async () => {
  const net = await internet(a("one.test", "45.0.0.1"), a("two.test", "45.0.0.2"), a("three.test", "45.0.0.3"));
  const resolver = net.open();
  const within = openBudget(10_000, 3);
  const names = ["one.test", "two.test", "three.test"];
  const answers: string[] = [];
  for (const each of names) answers.push((await resolver.resolve(each, "A", within)).status);
  expect(answers).toEqual(["found", "found", "unknown"]);
  expect(net.root.asked.length + net.registry.asked.length).toBe(3);
  expect((await resolver.resolve("three.test", "A")).status).toBe("found");
});

test("the resolver remembers the nameservers of a domain for the questions of one budget, and asks the registry again for another budget", async () => {
  const net = await internet();
  const names = ["one", "two", "three"].map((label) => `${label}.${name}`);
  const own = await net.add(serving({ name, rrsets: names.map((each) => a(each, "45.0.0.1")) }));
  net.registered.push(...delegated(name, own));
  const resolver = net.open();
  const answersWithin = async (budget: Budget) =>
    (await Promise.all(names.map((each) => resolver.resolve(each, "A", budget)))).map(({ status }) => status);
  const budget = openBudget(10_000, 50);
  await resolver.resolve(name, "A", budget);
  expect(await answersWithin(budget)).toEqual(["found", "found", "found"]);
  expect([net.registry.asked.length, own.asked.length]).toEqual([1, 4]);
  expect(await answersWithin(openBudget(10_000, 50))).toEqual(["found", "found", "found"]);
  expect(net.registry.asked.length).toBe(4);
});

test("the resolver asks a registry again if the servers that it named for a domain fail", async () => {
  const net = await internet();
  const bad = await net.addAsLiked({ udp: replying(() => ({ flags: 5 })) });
  net.registered.push(...delegated(name, bad));
  const resolver = net.open();
  const budget = openBudget(10_000, 50);
  await resolver.resolve(name, "A", budget);
  await resolver.resolve(name, "A", budget);
  expect(net.registry.asked.length).toBe(2);
});

test("the resolver stops when the time for several questions together is over", async () => {
  const net = await internet();
  expect(await net.open().resolve(name, "A", openBudget(0, 50))).toEqual({
    status: "unknown",
    reason: "the nameservers of the root do not answer in time",
  });
});

test("the resolver stops when the time for a question is over", async () => {
  const net = await internet();
  const servers = await Promise.all(Array.from({ length: 13 }, () => net.addAsLiked({})));
  net.registered.push(...delegated(name, ...servers));
  expect(await net.open({ tryTimeoutMs: 150, timeoutMs: 250 }).resolve(name, "A")).toEqual({
    status: "unknown",
    reason: "the nameservers of example.test do not answer in time",
  });
  expect(servers.flatMap(({ asked }) => asked).length).toBeLessThan(servers.length);
});

test("the resolver follows at most 16 referrals towards a name of many labels", async () => {
  const net = await internet();
  const deep = await net.addAsLiked({
    udp: (query, send) => {
      const [asked] = query.questions ?? [];
      const depth = deep.asked.length;
      const zone = (asked?.name ?? "")
        .split(".")
        .slice(-2 - depth)
        .join(".");
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record(zone, "NS", `ns.${zone}`)],
          additionals: [record(`ns.${zone}`, "A", deep.address)],
        }),
      );
    },
  });
  net.registered.push(...delegated(name, deep));
  expect(await net.open().resolve(`${"a.".repeat(60)}${name}`, "A")).toMatchObject({ status: "unknown" });
  expect(deep.asked.length).toBeGreaterThan(10);
  expect(deep.asked.length).toBeLessThanOrEqual(16);
});

test("the resolver reports CNAMEs that lead out to another domain and back in a circle", async () => {
  const net = await internet();
  const server = await net.add(
    serving(
      { name, rrsets: [cname(`www.${name}`, "www.other.test")] },
      { name: "other.test", rrsets: [cname("www.other.test", `www.${name}`)] },
    ),
  );
  net.registered.push(...delegated(name, server), ns("other.test", `ns1.${name}`));
  expect(await net.open().resolve(`www.${name}`, "TXT")).toMatchObject({
    reason: "its CNAME records lead in a circle",
  });
});

test("the resolver does not follow an alias to find a nameserver's address", async () => {
  const net = await internet();
  const server = await net.add(
    serving({
      name: "hosts.test",
      rrsets: [cname("ns.hosts.test", "real.hosts.test"), a("real.hosts.test", "8.8.0.99")],
    }),
  );
  net.registered.push(...delegated("hosts.test", server), ns(name, "ns.hosts.test"));
  expect(await net.open().resolve(name, "A")).toEqual(noAddress);
  expect(server.asked).toEqual(["ns.hosts.test A"]);
});
