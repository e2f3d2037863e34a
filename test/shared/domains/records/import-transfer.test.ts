import type { Answer } from "dns-packet";
import { expect, test } from "vitest";

import { transferZone } from "../../../../shared/dns/transfer.ts";
import { framed } from "../../../../shared/dns/transport.ts";
import { importRecords } from "../../../../shared/domains/records/import.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import type { Context } from "../../../../shared/http/route.ts";
import { dnsNetwork, record, responseTo } from "../../../support/dns-network.ts";
import { storedAs } from "../../../support/domain-work.ts";
import { connected } from "../../../support/domains.ts";
import { newAccount, testTable } from "../../../support/world.ts";

/**
 * Imports the answers of a zone transfer. `replaced` lists bytes of the response, each with bytes of the same length
 * that the server sends instead.
 */
async function imported(name: string, answers: Answer[], replaced: readonly [string, string][] = []) {
  const account = await newAccount();
  const domain = await connected(account, { name });
  const soa = record(name, "SOA", { mname: "ns.test", rname: "h.test", serial: 1 });
  const { endpoint } = await dnsNetwork().addAsLiked({
    tcp: (query, socket) => {
      let text = responseTo(query, { answers: [soa, ...answers, soa] }).toString("latin1");
      for (const [from, to] of replaced) text = text.replaceAll(from, to);
      socket.write(framed(Buffer.from(text, "latin1")));
    },
  });
  const limits = { timeoutMs: 5_000, maxBytes: 100_000, maxRecords: 1_000 };
  const resolver = {
    resolve: async () => ({ status: "none" }) as const,
    cut: async () => ({ status: "none" }) as const,
    delegation: async () => ({ status: "none" }) as const,
    transfer: (zone: string) => transferZone(endpoint, zone, limits),
  };
  const context = systemWriter({ table: testTable(), now: () => new Date() }, account.id) as Context;
  const body = { source: "public_dns", dry_run: false } as const;
  const stored = await storedAs(account, domain.name);
  const { answer } = await importRecords(stored, body, context, resolver);
  const { created, skipped, ...rest } = answer((one) => ({ ...one }) as never);
  return {
    ...rest,
    created: created.map((one) => `${one.name} ${one.type} ${one.value}`).toSorted(),
    skipped: skipped.map(({ text, reason }) => `${text}: ${reason}`),
  };
}

let count = 0;
const newName = (): string => `transferred-${process.pid}-${Date.now()}-${(count += 1)}.com`;

test("an import takes every record that our zones can have, and lists each other record with the reason", async () => {
  const name = newName();
  const odd = ["we(ird", "at@home", "@", 'quo"te', "back\\slash", "semi;colon", "dol$lar"];
  const { method, created, skipped } = await imported(
    name,
    [
      record(`www.${name}`, "A", "192.0.2.1"),
      ...odd.map((label, index) => record(`${label}.${name}`, "A", `192.0.2.${index + 10}`)),
      record(`aXXb.${name}`, "A", "192.0.2.30"),
      record(`cYYd.${name}`, "A", "192.0.2.31"),
      record(`eZZf.${name}`, "A", "192.0.2.32"),
      record(`${name}.${name}`, "A", "192.0.2.33"),
      record(`last.${name}`, "A", "192.0.2.40"),
    ],
    [
      ["aXXb", "a.\x20b"],
      ["cYYd", "c\n\xe9d"],
      ["eZZf", "ef.g"],
    ],
  );
  expect(method).toBe("transfer");
  expect(created).toEqual(["last A 192.0.2.40", "www A 192.0.2.1"]);
  expect(skipped.map((one) => one.slice(0, one.indexOf(" A")))).toEqual(
    expect.arrayContaining([
      `we(ird.${name}.`,
      `@.${name}.`,
      `a\\.\\032b.${name}.`,
      `c\\010\\233d.${name}.`,
      `ef\\.g.${name}.`,
    ]),
  );
  expect(skipped).toHaveLength(odd.length + 4);
  for (const one of skipped) expect(one).toMatch(/: The name (?:has characters|ends in)/);
});

test("an import keeps texts unchanged, and skips a text that it cannot keep", async () => {
  const name = newName();
  const texts = ['plain; with (all) "sorts" of \\ things', "tab-free @ $ORIGIN", "grüße", '"wholly quoted"'];
  const { created, skipped } = await imported(
    name,
    [...texts.map((text, index) => record(`t${index}.${name}`, "TXT", text)), record(`lossy.${name}`, "TXT", "bad-QQ")],
    [["bad-QQ", "bad-\xff\xfe"]],
  );
  expect(created).toEqual(texts.slice(0, 3).map((text, index) => `t${index} TXT ${text}`));
  expect(skipped).toEqual([
    expect.stringContaining("The text is in quotes twice"),
    `lossy.${name}. TXT: The text is not UTF-8`,
  ]);
});

/** A type that `dns-packet` knows only by its number. */
const numbered = (type: number) => `UNKNOWN_${type}` as Answer["type"];

test("an import skips an HTTPS record whose target has a label with a dot, a space or a backslash", async () => {
  const name = newName();
  const target = (...labels: string[]): Buffer =>
    Buffer.concat([
      Buffer.from([0, 1]),
      ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]),
      Buffer.alloc(1),
    ]);
  const { created, skipped } = await imported(name, [
    record(`plain.${name}`, numbered(65), target("a", "example", "net")),
    record(`dot.${name}`, numbered(65), target("a.b", "example", "net")),
    record(`space.${name}`, numbered(65), target("a b", "example", "net")),
    record(`back.${name}`, numbered(65), target("a\\b", "example", "net")),
  ]);
  expect(created).toEqual(["plain HTTPS a.example.net"]);
  expect(skipped).toEqual([
    expect.stringContaining("dot HTTPS 1 a\\.b.example.net"),
    expect.stringContaining("space HTTPS 1 a\\032b.example.net"),
    expect.stringContaining("back HTTPS 1 a\\\\b.example.net"),
  ]);
});

test("an import lists each record of a type that our zones cannot have, and leaves out SOA and DNSSEC", async () => {
  const name = newName();
  const naptr = { order: 1, preference: 1, flags: "u", services: "SIP+D2T", regexp: "", replacement: "sip.test" };
  const { created, skipped } = await imported(name, [
    record(`www.${name}`, "A", "192.0.2.1"),
    record(name, "NAPTR", naptr),
    record(`old.${name}`, "DNAME", "other.test"),
    record(`7.${name}`, "PTR", "www.test"),
    record(`uri.${name}`, numbered(256), Buffer.from("00010001", "hex")),
    record(`svc.${name}`, numbered(65), Buffer.from("00", "hex")),
    record(`signed.${name}`, "DS", { keyTag: 1, algorithm: 13, digestType: 2, digest: Buffer.alloc(32) }),
    record(`sub.${name}`, "SOA", { mname: "ns.test", rname: "h.test", serial: 1 }),
  ]);
  expect(created).toEqual(["www A 192.0.2.1"]);
  expect(skipped).toEqual([
    expect.stringMatching(new RegExp(`^${name}\\. NAPTR: Records of type NAPTR are not offered`)),
    expect.stringMatching(/^old\..* DNAME: Records of type DNAME are not offered/),
    expect.stringMatching(/^7\..* PTR: Records of type PTR are not offered/),
    expect.stringMatching(/^uri\..* TYPE256: Records of type TYPE256 are not offered/),
    `svc.${name}. HTTPS: The data of the record cannot be read`,
  ]);
});
