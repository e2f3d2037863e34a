import { randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import { activeIp, holderOf, send } from "../../support/dedicated-ips.ts";
import { funded, uniqueName } from "../../support/domains.ts";
import { publicIp } from "../../support/reverse-dns.ts";
import { newAccount } from "../../support/world.ts";
import { operator } from "./command-line.ts";

const newOptionId = (): string => `op-${randomBytes(6).toString("hex")}`;

const add = (given: Record<string, string>) => {
  const all = { country: "DE", asn: "64500", rdns: `mail.${uniqueName("ip")}`, relay: "10.0.0.7:25", ...given };
  return operator("ip", "add", ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]), "--json");
};

test("an address is added to the stock, taken, rests, and is returned to the stock; a free address can be withdrawn", async () => {
  const [option, ip] = [newOptionId(), publicIp()];
  const added = await add({ address: ip, option });
  expect(JSON.parse(added.out)).toMatchObject({ ip, option_id: option, asn: 64_500, state: "free" });
  const account = await funded(await newAccount());
  const { id } = await activeIp(account, option);
  const list = async (...more: string[]) =>
    JSON.parse((await operator("ip", "list", "--option", option, ...more, "--json")).out).addresses;
  expect(await list()).toMatchObject([{ ip, state: "taken", account_id: account.id, dedicated_ip_id: id }]);
  expect(await list("--state", "free")).toEqual([]);
  for (const verb of ["return", "withdraw"]) {
    expect(await operator("ip", verb, "--address", ip)).toMatchObject({
      code: 1,
      err: expect.stringContaining(account.id),
    });
  }
  await send(account, "DELETE", `/${id}`);
  expect(await list("--state", "resting")).toMatchObject([{ ip }]);
  expect(await operator("ip", "return", "--address", ip)).toMatchObject({ code: 0 });
  expect((await activeIp(account, option)).ip_addresses).toMatchObject([{ ip }]);
  const other = publicIp(6);
  await add({ address: other.toUpperCase(), option });
  expect(JSON.parse((await operator("ip", "withdraw", "--address", other, "--json")).out)).toEqual({
    withdrawn: other,
  });
  expect(await holderOf(other)).toBeUndefined();
  expect(await operator("ip", "withdraw", "--address", other)).toMatchObject({
    code: 1,
    err: expect.stringContaining("not in stock"),
  });
});

test("an option is no longer offered once its last address is withdrawn", async () => {
  const [option, ip] = [newOptionId(), publicIp()];
  await add({ address: ip, option });
  const account = await newAccount();
  const isOffered = async () =>
    (await send(account, "GET", "/available-options")).body.some(
      (one: { option_id: string }) => one.option_id === option,
    );
  expect(await isOffered()).toBe(true);
  await operator("ip", "withdraw", "--address", ip);
  expect(await isOffered()).toBe(false);
  expect((await add({ address: ip, option, country: "FR" })).code).toBe(0);
});

test(
  "an address can be added again unchanged; another address with the same name is refused",
  { timeout: 30_000 },
  async () => {
    const [option, ip, rdns] = [newOptionId(), publicIp(), `mail.${uniqueName("ip")}`];
    for (let time = 0; time < 2; time++) expect((await add({ address: ip, option, rdns })).code).toBe(0);
    expect(await add({ address: publicIp(), option, rdns })).toMatchObject({
      code: 1,
      err: expect.stringContaining(ip),
    });
    expect(await add({ address: ip, option: newOptionId(), rdns })).toMatchObject({ code: 1 });
    expect(await add({ address: publicIp(), option, country: "FR" })).toMatchObject({
      code: 1,
      err: expect.stringContaining("DE"),
    });
  },
);

test("the operator can suspend and resume the dedicated IP of an account, and the owner sees the reason", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const which = ["--account", account.id, "--id", id];
  expect(await operator("ip", "suspend", ...which, "--reason", "Spam.")).toMatchObject({ code: 0 });
  expect((await send(account, "GET", `/${id}`)).body).toMatchObject({ status: "suspended", status_reason: "Spam." });
  expect(await operator("ip", "resume", ...which)).toMatchObject({ code: 0 });
  expect((await send(account, "GET", `/${id}`)).body).toMatchObject({ status: "active", status_reason: null });
  expect(await operator("ip", "resume", ...which)).toMatchObject({ code: 1 });
  expect(await operator("ip", "suspend", "--account", account.id, "--id", account.id)).toMatchObject({
    code: 1,
    err: expect.stringContaining("dedicated IP"),
  });
});

test.each([
  [["--address", "8.8.8"], "Not an IP address"],
  [["--address", "fe80::1%1"], "Not an IP address"],
  [["--address", "8.8.8.8", "--option", "No Option"], "option"],
  [["--address", "8.8.8.8", "--option", "a", "--country", "de"], "country"],
  [["--address", "8.8.8.8", "--option", "a", "--country", "DE", "--asn", "AS1"], "autonomous system"],
  [["--address", "8.8.8.8", "--option", "a", "--country", "DE", "--asn", "1", "--rdns", "x"], "host name"],
  [
    [
      "--address",
      "8.8.8.8",
      "--option",
      "a",
      "--country",
      "DE",
      "--asn",
      "1",
      "--rdns",
      "mail.example.com",
      "--relay",
      "x:25",
    ],
    "IP address with a port",
  ],
])("ip add refuses the options %j with exit code 2", async (args, message) => {
  expect(await operator("ip", "add", ...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});
