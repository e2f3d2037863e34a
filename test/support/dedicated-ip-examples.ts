import { addStock } from "../../shared/dedicated-ips/stock.ts";
import { activeIp, claimed, host, newOption, send } from "./dedicated-ips.ts";
import { connected, funded } from "./domains.ts";
import { testTable, type Account } from "./world.ts";

type Example = Record<string, unknown>;

const hostOf = async (account: Account): Promise<Example> => ({
  account_id: account.id,
  dedicated_ip_id: (await host(account)).id,
});

/** Makes an option in a country that no other test uses, so that its stock is the same at any time. */
async function farAway(): Promise<void> {
  const given = { ip: "192.0.2.77", option_id: "reykjavik-1", country_code: "IS", asn: 64_500 };
  await addStock(testTable(), { ...given, rdns: "mail.reykjavik.example", relay: "10.0.0.77:25" });
}

async function assignable(account: Account): Promise<Example> {
  await funded(account);
  const { id } = await activeIp(account);
  const { name } = await connected(account);
  return { account_id: account.id, dedicated_ip_id: id, domains: [name] };
}

/** The arguments with which each route of dedicated IPs succeeds for the account's owner. */
export const dedicatedIpExamples: Record<string, (account: Account) => Promise<Example>> = {
  "dedicated_ips.list": async (account) => {
    await claimed(await funded(account));
    return { account_id: account.id, type: "managed", page_size: 10 };
  },
  "dedicated_ips.available_options": async ({ id }) => {
    await farAway();
    return { account_id: id, country_code: "IS" };
  },
  "dedicated_ips.claim": async (account) => ({
    account_id: (await funded(account)).id,
    option_id: (await newOption()).option_id,
    name: "Newsletters",
  }),
  "dedicated_ips.add": async ({ id }) => ({
    account_id: id,
    name: "Our mail server",
    ip_addresses: ["45.0.0.1", "2606:4700::1111"],
  }),
  "dedicated_ips.authorize": hostOf,
  "dedicated_ips.get": hostOf,
  "dedicated_ips.update": async (account) => ({ ...(await hostOf(account)), name: "Our second mail server" }),
  "dedicated_ips.delete": hostOf,
  "dedicated_ips.domains.assign": assignable,
  "dedicated_ips.domains.unassign": async (account) => {
    const example = await assignable(account);
    const { domains } = example;
    await send(account, "POST", `/${String(example["dedicated_ip_id"])}/domains/assign`, { domains });
    return example;
  },
};
