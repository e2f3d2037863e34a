import { expect, test } from "vitest";

import { checkDns } from "../../../shared/dedicated-ips/check-dns.ts";
import type { StoredIp } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import type { DnsAnswer, Resolver } from "../../../shared/dns/answer.ts";
import { openResolver } from "../../../shared/dns/resolver.ts";
import { reverseName } from "../../../shared/dns/reverse.ts";
import { host, readyHost, storedIp } from "../../support/dedicated-ips.ts";
import { a, dnsNetwork, ptr, serving, txt } from "../../support/dns-network.ts";
import { publicIp } from "../../support/reverse-dns.ts";
import { newAccount } from "../../support/world.ts";

const sixteen = (): string[] => Array.from({ length: 16 }, () => publicIp());

/** The stored host with these addresses, which `add` made with or without a setup key. */
async function hostOf(ips: readonly string[], add: typeof host): Promise<StoredIp> {
  const account = await newAccount();
  const ip = await storedIp(account, (await add(account, ips)).id);
  if (!ip) throw new Error("there is no such host");
  return ip;
}

/** A resolver that answers with `answer`, and the questions that it was asked. */
function dnsOf(answer: (name: string, type: string) => DnsAnswer): { resolver: Resolver; asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolver["resolve"] = async (name, type) => {
    asked.push(`${name} ${type}`);
    return answer(name, type);
  };
  return { resolver: { resolve, delegation: async () => ({ status: "none" }) }, asked };
}

test("one check asks at most 64 DNS questions, even if the addresses have many names", async () => {
  const { resolver, asked } = dnsOf((name, type) =>
    type === "PTR"
      ? {
          status: "found",
          records: Array.from({ length: 10 }, (_, index) => ({
            name,
            ttl: 1,
            type,
            host: `r${index}.${name}.victim.example`,
          })),
        }
      : { status: "none" },
  );
  for (const add of [host, readyHost]) {
    asked.length = 0;
    const { status } = await checkDns(await hostOf(sixteen(), add), resolver);
    expect(asked).toHaveLength(64);
    expect(status).toBe("failed");
  }
});

test("a check that would ask more than 64 questions is `unknown`; a host with one name for each of 16 addresses needs 48", async () => {
  const ips = sixteen();
  const ip = await hostOf(ips, readyHost);
  const names = (count: number) =>
    dnsOf((name, type) => {
      const about = { name, ttl: 60 };
      if (type === "TXT") return { status: "found", records: [{ ...about, type, text: ip.key_hash ?? "" }] };
      if (type === "A") return { status: "found", records: ips.map((address) => ({ ...about, type, address })) };
      const hosts = Array.from({ length: count }, (_, index) => `m${index}.example.com`);
      return { status: "found", records: hosts.map((one) => ({ ...about, type: "PTR", host: one })) };
    });
  const one = names(1);
  expect((await checkDns(ip, one.resolver)).status).toBe("passed");
  expect(one.asked).toHaveLength(48);
  const three = names(3);
  expect(await checkDns(ip, three.resolver)).toMatchObject({
    status: "unknown",
    message: "The check could not be completed: it takes too many DNS queries. Try again later.",
  });
  expect(three.asked).toHaveLength(64);
});

test("one check sends at most 320 DNS messages, and a host without faults and with 16 addresses needs 48", async () => {
  const ips = sixteen();
  const ip = await hostOf(ips, readyHost);
  const network = dnsNetwork();
  const sound = ips.flatMap((address, index) => [
    ptr(reverseName(address), `m${index}.example.test`),
    a(`m${index}.example.test`, address),
    txt(`_setup.m${index}.example.test`, ip.key_hash ?? ""),
  ]);
  const root = await network.add(serving({ name: "", rrsets: sound }));
  const look = await checkDns(ip, openResolver({ roots: [root.endpoint], route: network.route }));
  expect([look.status, root.asked.length]).toEqual(["passed", 48]);
  const failing = await network.addAsLiked({});
  const roots = Array.from({ length: 60 }, () => failing.endpoint);
  const seen = await checkDns(ip, openResolver({ roots, route: network.route, tryTimeoutMs: 5 }));
  expect(seen).toMatchObject({ status: "unknown", message: expect.stringContaining("too many DNS queries") });
  expect(failing.asked.length).toBeLessThanOrEqual(320);
});
