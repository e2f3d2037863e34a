import { expect, test } from "vitest";

import type { IpOption } from "../../../shared/dedicated-ips/options.ts";
import { newWorkspace } from "../../support/auth.ts";
import { billing } from "../../support/billing.ts";
import { claimed, newOption, send } from "../../support/dedicated-ips.ts";
import { funded } from "../../support/domains.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

async function optionOf(account: Account, optionId: string, query = ""): Promise<IpOption | undefined> {
  const { status, body } = await send(account, "GET", `/available-options${query}`);
  expect(status).toBe(200);
  return (body as IpOption[]).find(({ option_id }) => option_id === optionId);
}

test("lists options with their country, ASN, number of free addresses, and price in the account's plan", async () => {
  const account = await funded(await newAccount());
  const { option_id } = await newOption(3, { country_code: "SE" });
  const option = { option_id, country_code: "SE", asn: 64_500, price: "25.00", currency: "USD", available: 3 };
  expect(await optionOf(account, option_id)).toEqual(option);
  await claimed(account, option_id);
  expect(await optionOf(account, option_id)).toEqual({ ...option, available: 2 });
  await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip" });
  expect(await optionOf(account, option_id)).toMatchObject({ price: "99.00" });
});

test("still lists an option without free addresses", async () => {
  const account = await funded(await newAccount());
  const { option_id } = await newOption(1);
  await claimed(account, option_id);
  expect(await optionOf(account, option_id)).toMatchObject({ available: 0 });
});

test("`country_code` limits the list to one country", async () => {
  const account = await newAccount();
  const { option_id } = await newOption(1, { country_code: "FI" });
  expect(await optionOf(account, option_id, "?country_code=FI")).toMatchObject({ available: 1 });
  expect(await optionOf(account, option_id, "?country_code=SE")).toBeUndefined();
  const { status, body } = await send(account, "GET", "/available-options?country_code=fi");
  expect([status, body.detail[0].loc]).toEqual([422, ["query", "country_code"]]);
});

test("needs ip.view on the whole account", async () => {
  const account = await newAccount();
  const scope = { type: "workspace" as const, id: await newWorkspace(account, "One") };
  const narrow = await newMember(account, { capability: "ip.view", scope });
  expect((await send(account, "GET", "/available-options", undefined, { as: narrow })).status).toBe(403);
});
