import { registerElsewhere } from "../../shared/providers/registrar/embedded-names.ts";
import { newWorkspace } from "./auth.ts";
import { active, connected, contact, delegated, domainsRequest, funded, purchase, uniqueName } from "./domains.ts";
import { registered } from "./purchases.ts";
import { registeredFor } from "./renewals.ts";
import { request } from "./request.ts";
import { testTable, type Account } from "./world.ts";

type Example = Record<string, unknown>;

const named = async (account: Account): Promise<Example> => ({
  account_id: account.id,
  domain: (await connected(account)).name,
});

async function made({ id, owner }: Account, path: string, body: unknown): Promise<Example> {
  return (await request("POST", `/v1/public/accounts/${id}/${path}`, { token: owner.token, body })).body;
}

/** Buys a name for the account, and returns it once it is registered. */
async function bought(account: Account): Promise<string> {
  const name = uniqueName();
  await purchase(await funded(account), [name]);
  await registered(account, name);
  return name;
}

const newRecord = async (account: Account): Promise<Example> => {
  const { name: domain } = await connected(account);
  return made(account, "dns-records", { domain, name: "www", type: "A", value: "192.0.2.1" });
};

const aTag = (account: Account): Promise<Example> => made(account, "tags", { name: "Important", color_hex: "#1a7f37" });

/** The arguments with which each route of domains, DNS records and tags succeeds for the account's owner. */
export const domainExamples: Record<string, (account: Account) => Promise<Example>> = {
  "domains.list": async (account) => ({ account_id: (await connected(account)).account.id, page_size: 10 }),
  "domains.add": async (account) => ({
    account_id: account.id,
    name: uniqueName(),
    workspace_id: await newWorkspace(account, "Sales"),
  }),
  "domains.search": async (account) => ({
    account_id: account.id,
    workspace_id: await newWorkspace(account, "Sales"),
    query: "ada-and-friends",
    tlds: "com",
  }),
  "domains.purchase": async (account) => ({
    account_id: (await funded(account)).id,
    workspace_id: await newWorkspace(account, "Sales"),
    domains: [uniqueName()],
    contact_info: contact,
    max_total: "100.00",
  }),
  "domains.renew": async (account) => ({
    account_id: account.id,
    domain: await bought(account),
    years: 2,
    max_total: "100.00",
  }),
  "domains.transfer": async (account) => {
    const name = uniqueName();
    await registerElsewhere(testTable(), name, { auth_code: "Example-Auth-Code" });
    return {
      account_id: (await funded(account)).id,
      workspace_id: await newWorkspace(account, "Sales"),
      domains: [{ name, auth_code: "Example-Auth-Code" }],
      contact_info: contact,
      max_total: "100.00",
    };
  },
  "domains.auth_code.create": async (account) => {
    const name = await bought(account);
    await registeredFor(name, 60);
    await domainsRequest(account, "PATCH", `/${name}`, { locked: false });
    return { account_id: account.id, domain: name };
  },
  "domains.contact.get": async (account) => ({ account_id: account.id, domain: await bought(account) }),
  "domains.contact.update": async (account) => ({
    account_id: account.id,
    domain: await bought(account),
    organization: null,
    city: "Oakland",
  }),
  "domains.get": async (account) => ({ account_id: account.id, domain: (await active(account)).name }),
  "domains.update": async (account) => ({ ...(await named(account)), dmarc_policy: "reject" }),
  "domains.delete": named,
  "domains.restore": async (account) => {
    const { name } = await active(account);
    await domainsRequest(account, "DELETE", `/${name}`);
    return { account_id: account.id, domain: name };
  },
  "domains.move": async (account) => ({
    ...(await named(account)),
    workspace_id: await newWorkspace(account, "Marketing"),
  }),
  "domains.verify": async (account) => {
    const { name } = await connected(account);
    await delegated(account, name);
    return { account_id: account.id, domain: name };
  },
  "domains.dkim.rotate": async (account) => ({ account_id: account.id, domain: (await active(account)).name }),
  "domains.health": async (account) => ({ account_id: account.id, domain: (await active(account)).name }),
  "domains.dns_setup.get": async (account) => ({ account_id: account.id, domain: (await active(account)).name }),
  "dns_records.list": async (account) => {
    await newRecord(account);
    return { account_id: account.id, type: "A", search: "192.0.2" };
  },
  "dns_records.add": async (account) => ({
    account_id: account.id,
    domain: (await active(account)).name,
    name: "www",
    type: "A",
    value: "192.0.2.1",
  }),
  "dns_records.update": async (account) => ({
    account_id: account.id,
    record_id: (await newRecord(account))["id"],
    ttl: 600,
  }),
  "dns_records.get": async (account) => ({ account_id: account.id, record_id: (await newRecord(account))["id"] }),
  "dns_records.delete": async (account) => ({ account_id: account.id, record_id: (await newRecord(account))["id"] }),
  "dns_records.import": async (account) => ({
    account_id: account.id,
    domain: (await active(account)).name,
    zone_file: "www 600 IN A 192.0.2.1\n@ IN MX 10 mail.example.net.\n",
  }),
  "dns_records.export": async (account) => {
    const { name: domain } = await connected(account);
    await made(account, "dns-records", { domain, name: "www", type: "A", value: "192.0.2.1" });
    return { account_id: account.id, domain };
  },
  "tags.list": async (account) => {
    await aTag(account);
    return { account_id: account.id };
  },
  "tags.add": async ({ id }) => ({
    account_id: id,
    name: "Important",
    color_hex: "#1a7f37",
    description: "Domains of our largest customers",
  }),
  "tags.update": async (account) => ({
    account_id: account.id,
    tag_id: (await aTag(account))["id"],
    name: "Urgent",
    color_hex: null,
  }),
  "tags.delete": async (account) => ({ account_id: account.id, tag_id: (await aTag(account))["id"] }),
};
