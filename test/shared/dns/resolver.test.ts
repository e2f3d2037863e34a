import { expect, test } from "vitest";

import type { AnsweredRecord } from "../../../shared/dns/answer.ts";
import type { RRset } from "../../../shared/dns/rrset.ts";
import { a, cname, delegated, internet, record, responseTo, txt } from "../../support/dns-network.ts";
import { apex, withExample } from "./resolver-scene.ts";

const everyType: RRset[] = [
  a("example.test", "192.0.2.1", "192.0.2.2"),
  { name: "example.test", type: "AAAA", ttl: 300, data: [{ type: "AAAA", address: "2001:db8::1" }] },
  { name: "example.test", type: "MX", ttl: 300, data: [{ type: "MX", priority: 10, host: "mx.example.test" }] },
  txt("example.test", "v=spf1 -all"),
  {
    name: "example.test",
    type: "SRV",
    ttl: 300,
    data: [{ type: "SRV", priority: 1, weight: 2, port: 993, host: "imap.example.test" }],
  },
  { name: "example.test", type: "CAA", ttl: 300, data: [{ type: "CAA", flags: 128, tag: "issue", value: "ca.test" }] },
  apex,
  cname("www.example.test", "example.test"),
];

test.each(everyType)("the resolver finds the $type records of $name", async ({ name, type, ttl, data }) => {
  const net = await withExample(...everyType.filter((rrset) => rrset !== apex));
  const records = data.map((one) => ({ name, ttl, ...one }));
  expect(await net.open().resolve(name, type as AnsweredRecord["type"])).toEqual({ status: "found", records });
});

test("for each question, the resolver asks the registry and the domain's nameserver once, and the root only for the first question", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"), txt("_dmarc.example.test", "v=DMARC1"));
  const resolver = net.open();
  await resolver.resolve("example.test", "A");
  expect([net.root.asked, net.registry.asked, net.asked]).toEqual([
    ["example.test A"],
    ["example.test A"],
    ["example.test A"],
  ]);
  await resolver.resolve("_dmarc.example.test", "TXT");
  expect([net.root.asked.length, net.registry.asked.length, net.asked.length]).toEqual([1, 2, 2]);
});

test("the resolver joins the character-strings of a long text, even if a character is split between two", async () => {
  const text = "é".repeat(400);
  const net = await withExample(txt("example.test", text, "other"));
  const answer = await net.open().resolve("example.test", "TXT");
  expect(answer).toMatchObject({ status: "found", records: [{ text }, { text: "other" }] });
});

test("the resolver answers `none` for a name without records of the type, and `absent` for a name that does not exist", async () => {
  const net = await withExample(a("a.deep.example.test", "192.0.2.1"));
  const resolver = net.open();
  expect(await resolver.resolve("example.test", "MX")).toEqual({ status: "none" });
  expect(await resolver.resolve("deep.example.test", "A")).toEqual({ status: "none" });
  expect(await resolver.resolve("b.example.test", "A")).toEqual({ status: "absent" });
  expect(await resolver.resolve("unregistered.test", "A")).toEqual({ status: "absent" });
  expect(await resolver.resolve("name.nosuchtld", "A")).toEqual({ status: "absent" });
});

test("the resolver ignores the letter case of a name, and a dot at its end", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  expect(await net.open().resolve("EXAMPLE.Test.", "A")).toMatchObject({ status: "found" });
  expect(net.asked).toEqual(["example.test A"]);
});

test.each(["", "."])("the resolver asks the root for its own name %j", async (name) => {
  const net = await internet();
  expect(await net.open().resolve(name, "MX")).toEqual({ status: "none" });
});

test.each(["a..test", `${"a".repeat(64)}.test`, `${"a.".repeat(127)}test`, "ex ample.test", "münchen.test"])(
  "the resolver sends nothing for %j, which is not a name",
  async (name) => {
    const net = await internet();
    const resolver = net.open();
    expect(await resolver.resolve(name, "A")).toEqual({ status: "unknown", reason: "it is not a domain name" });
    expect(await resolver.delegation(name)).toEqual({ status: "unknown", reason: "it is not a domain name" });
    expect(net.root.asked).toEqual([]);
  },
);

test("the resolver looks up the target of a CNAME from the root, and ignores the target's records beside the CNAME", async () => {
  const net = await withExample(a("host.other.test", "192.0.2.66"));
  const lying = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          answers: [record("www.liar.test", "CNAME", "example.test"), record("example.test", "A", "192.0.2.66")],
        }),
      ),
  });
  net.registered.push(...delegated("liar.test", lying));
  expect(await net.open().resolve("www.liar.test", "A")).toEqual({ status: "none" });
  expect(net.asked).toEqual(["example.test A"]);
});

test("the resolver follows a chain of 8 CNAMEs, and no longer chain", async () => {
  const chain = Array.from({ length: 9 }, (_, index) => cname(`${index}.example.test`, `${index + 1}.example.test`));
  const net = await withExample(...chain, a("9.example.test", "192.0.2.9"));
  const resolver = net.open();
  expect(await resolver.resolve("1.example.test", "A")).toMatchObject({
    status: "found",
    records: [{ name: "9.example.test", address: "192.0.2.9" }],
  });
  expect(await resolver.resolve("0.example.test", "A")).toEqual({
    status: "unknown",
    reason: "its chain has more than 8 CNAME records",
  });
});

test("the resolver reports CNAMEs that lead in a circle", async () => {
  const net = await withExample(cname("a.example.test", "b.example.test"), cname("b.example.test", "a.example.test"));
  expect(await net.open().resolve("a.example.test", "MX")).toEqual({
    status: "unknown",
    reason: "its CNAME records lead in a circle",
  });
  expect(net.asked.length).toBe(2);
});

test("the resolver says that the target of a CNAME is absent", async () => {
  const net = await withExample(cname("www.example.test", "gone.example.test"));
  expect(await net.open().resolve("www.example.test", "A")).toEqual({ status: "absent" });
});
