import { expect, test } from "vitest";

import { activeHost, claimed, holderOf, host, newOption, send, storedIp } from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { funded } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { statusesOf } from "../../support/mailboxes.ts";
import { happened } from "../../support/purchases.ts";
import { publicIp } from "../../support/reverse-dns.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, type Account } from "../../support/world.ts";

const add = (account: Account, ip_addresses: unknown, name: unknown = "Own host") =>
  send(account, "POST", "", { name, ip_addresses });

test("adds a host without any proof, and another account can add the same addresses", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const ips = [publicIp(), publicIp(6)];
  const { status, body, headers } = await add(account, ips, " Berlin ");
  expect(status).toBe(201);
  const address = {
    rdns: null,
    fcrdns_confirmed: false,
    healthy: false,
    message: "The address was not checked yet. Authorize the host.",
    setup_record: null,
  };
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: "Berlin",
    type: "byoh",
    status: "pending_authorization",
    status_reason: null,
    asn: null,
    country_code: null,
    ip_addresses: ips.map((ip) => ({ ip, ...address })),
    domain_count: 0,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: body.created_at,
  });
  expect(headers["location"]).toBe(`/v1/public/accounts/${account.id}/dedicated-ips/${body.id}`);
  expect(await holderOf(ips[0] ?? "")).toBeUndefined();
  expect((await storedIp(account, body.id))?.due_at).toBeNull();
  expect(await happened(account)).toContain("dedicated_ip.created");
  expect((await add(other, ips)).status).toBe(201);
});

const spellings: [given: string, kept: string][] = [
  ["2606:4700:0000:0000:0000:0000:0000:1111", "2606:4700::1111"],
  ["2606:4700::ABCD", "2606:4700::abcd"],
  ["2001:4860:0:0:0:0:0:8888", "2001:4860::8888"],
  [" 45.77.12.9 ", "45.77.12.9"],
  ["2a00:0:0:1:0:0:0:1", "2a00:0:0:1::1"],
];

test("stores an address in one spelling, whichever spelling is given", async () => {
  const account = await newRoomyAccount();
  for (const [given, kept] of spellings) {
    const { status, body } = await add(account, [given]);
    expect([status, body.ip_addresses?.[0].ip], given).toEqual([201, kept]);
    expect((await add(account, [kept])).body, given).toMatchObject({ code: "ip_taken", conflicts_with: body.id });
  }
});

/** Addresses in the blocks of IANA's registries of special addresses, and addresses that contain another address. */
const special = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "127.0.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.88.99.1",
  "192.168.1.1",
  "192.175.48.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::8.8.8.8",
  "::808:808",
  "::ffff:8.8.8.8",
  "::ffff:808:808",
  "::FFFF:8.8.8.8",
  "0:0:0:0:0:ffff:808:808",
  "::ffff:0:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "64:ff9b::808:808",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:0:808:808::1",
  "2001:2::1",
  "2001:3::1",
  "2001:4:112::1",
  "2001:10::1",
  "2001:20::1",
  "2001:30::1",
  "2001:db8::1",
  "2002:808:808::1",
  "2620:4f:8000::1",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fec0::1",
  "ff02::1",
];
const unreadable = [
  "",
  "example.com",
  "8.8.8",
  "8.8.8.8/32",
  "8.8.8.8:25",
  "008.8.8.8",
  "0x8.8.8.8",
  "134744072",
  "[2606:4700::1111]",
  "2606:4700::1111%eth0",
  "fe80::1%1",
  "2606:4700::1::1",
  "2606:4700::1111/64",
  "٨.٨.٨.٨",
  "8.8.8.8\u0000",
];

test("refuses special addresses and texts that are not an address, names their index, and stores nothing", async () => {
  const account = await newRoomyAccount();
  const before = await storedOf(account);
  for (const [ips, msg] of [
    [special, "This is not the address of a host on the public internet"],
    [unreadable, "Write one IPv4 or IPv6 address, such as 8.8.8.8, without a zone, port or prefix length"],
  ] as const) {
    for (const ip of ips) {
      const { status, body } = await add(account, ["45.1.2.3", ip]);
      expect([status, body.detail], ip).toEqual([
        422,
        [expect.objectContaining({ loc: ["body", "ip_addresses", 1], msg })],
      ]);
    }
  }
  expect(await storedOf(account)).toEqual(before);
});

test("refuses invalid values, and `loc` names the place of each", async () => {
  const account = await newRoomyAccount();
  const ip = publicIp();
  const many = Array.from({ length: 17 }, () => publicIp());
  const cases: [ips: unknown, name: unknown, loc: (string | number)[]][] = [
    [[], "x", ["body", "ip_addresses"]],
    [many, "x", ["body", "ip_addresses"]],
    [ip, "x", ["body", "ip_addresses"]],
    [[ip, ip], "x", ["body", "ip_addresses", 1]],
    [["2606:4700::5", ip, "2606:4700:0::5"], "x", ["body", "ip_addresses", 2]],
    [[ip], "", ["body", "name"]],
    [[ip], "\u202egnp", ["body", "name"]],
  ];
  for (const [ips, name, loc] of cases) {
    const { status, body } = await add(account, ips, name);
    expect([status, body.detail?.[0].loc], JSON.stringify(ips)).toEqual([422, loc]);
  }
  expect((await add(account, many.slice(1))).status).toBe(201);
});

test("an account can add an address that another account has proved, and the other account keeps it", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, ip_addresses } = await activeHost(other);
  const ip = ip_addresses[0]?.ip ?? "";
  expect((await add(account, [ip])).status).toBe(201);
  expect(await holderOf(ip)).toEqual({ account_id: other.id, dedicated_ip_id: id, firm: true });
});

test("refuses a managed address, free or claimed, and does not show who claimed it", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { ips } = await newOption();
  const { ip_addresses: managed } = await claimed(await funded(other));
  for (const ip of [ips[0], managed[0]?.ip]) {
    const { status, body } = await add(account, [publicIp(), ip]);
    expect([status, body.code, body.ip]).toEqual([409, "ip_taken", ip]);
    expect(JSON.stringify(body)).not.toContain(other.id);
  }
  expect((await send(account, "GET")).body.total).toBe(0);
});

test("an account has an address only once, even if concurrent requests add it", async () => {
  const account = await newAccount();
  const ip = publicIp();
  const answers = await Promise.all(Array.from({ length: 6 }, () => add(account, [publicIp(), ip])));
  expect(statusesOf(answers)).toEqual([201, 409, 409, 409, 409, 409]);
  expect((await send(account, "GET")).body.total).toBe(1);
});

test("an account can have at most 100 dedicated IPs", async () => {
  const account = await newAccount();
  await host(account);
  await write({ update: { PK: `ACCOUNT#${account.id}`, SK: "LIST#dedicated_ips#HEAD" }, set: { live: 100 } });
  expect((await add(account, [publicIp()])).body).toMatchObject({ status: 409, code: "limit_reached" });
});
