import { expect, test } from "vitest";

import { syncZone } from "../../../shared/domains/records/sync.ts";
import { getZone } from "../../../shared/domains/zone.ts";
import { embeddedDns, zoneAt } from "../../../shared/providers/dns/embedded.ts";
import { quicklyActive, workAt } from "../../support/domain-work.ts";
import { connected } from "../../support/domains.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";
import { operator } from "./command-line.ts";

/** The answer of `zones publish` for an account. */
async function publish(account: Pick<Account, "id">): Promise<unknown> {
  const { out, err } = await operator("zones", "publish", "--account", account.id, "--json");
  if (err !== "") throw new Error(err);
  return JSON.parse(out);
}

/** `<name> <type>` of the RRsets that the nameservers have for a domain. */
const served = async (name: string): Promise<string[]> =>
  ((await zoneAt(testTable(), name))?.rrsets ?? []).map((rrset) => `${rrset.name} ${rrset.type}`).toSorted();

test("zones publish makes the worker write all records of the account's zones to the nameservers again", async () => {
  const account = await newAccount();
  const { id, name } = await quicklyActive(account);
  await connected(account);
  const before = await served(name);
  const { zone_id = "", revision = 0 } = (await getZone(testTable(), account.id, id)) ?? {};
  const lost = { remove: { name, type: "MX" as const } };
  const wrong = { put: { name, type: "TXT" as const, ttl: 60, data: [{ type: "TXT" as const, text: "wrong" }] } };
  await embeddedDns(testTable()).changeZone(zone_id, [lost, wrong]);
  expect(await served(name)).not.toEqual(before);
  expect(await publish(account)).toEqual({ zones: 1 });
  expect(await getZone(testTable(), account.id, id)).toMatchObject({ revision: revision + 1, dirty: ["*"] });
  await syncZone(account.id, id, workAt(new Date()));
  expect(await served(name)).toEqual(before);
  expect((await zoneAt(testTable(), name))?.rrsets.find(({ type }) => type === "TXT")).not.toMatchObject(wrong.put);
});

test("zones publish refuses an account that does not exist", async () => {
  const { code, err } = await operator("zones", "publish", "--account", "00000000-0000-4000-8000-000000000000");
  expect([code, err]).toEqual([1, expect.stringContaining("not")]);
});
