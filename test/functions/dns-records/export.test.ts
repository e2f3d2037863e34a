import { expect, test } from "vitest";

import { active, connected } from "../../support/domains.ts";
import { request, type Answer } from "../../support/request.ts";
import { newAccount, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, method: string, rest: string, body?: unknown): Promise<Answer> =>
  request(method, `/v1/public/accounts/${id}/dns-records${rest}`, { token: owner.token, body });

test("gives a zone file that can be imported into another domain", async () => {
  const account = await newAccount();
  const [from, to] = [await connected(account), await connected(account)];
  const records = [
    { name: "www", type: "A", value: "192.0.2.1", ttl: 600 },
    { name: "@", type: "TXT", value: 'say "hi"; \\ and ü' },
    { name: "*.sub", type: "CNAME", value: "www.example.net" },
    { name: "_sip._tcp", type: "SRV", value: "sip.example.net", priority: 1, weight: 2, port: 5060 },
    { name: "@", type: "CAA", value: "letsencrypt.org", tag: "issue" },
  ];
  for (const record of records) {
    expect((await send(account, "POST", "", { domain: from.name, ...record })).status).toBe(201);
  }
  const exported = await send(account, "GET", `/export?domain=${from.name}`);
  expect(exported.body).toMatchObject({ domain: from.name, record_count: records.length });
  const zone_file = exported.body.zone_file.replaceAll(from.name, to.name);
  const imported = await send(account, "POST", "/import", { domain: to.name, zone_file });
  expect(imported.body.created_count).toBe(records.length);
  const shown = ({ name, type, value, ttl, priority, weight, port, tag }: Record<string, unknown>) =>
    JSON.stringify({ name, type, value, ttl, priority, weight, port, tag });
  const all = async (domain: string): Promise<string[]> =>
    (await send(account, "GET", `?domain=${domain}`)).body.items.map(shown).toSorted();
  expect(await all(to.name)).toEqual(await all(from.name));
});

test("has the system records of an active domain", async () => {
  const account = await newAccount();
  const { name } = await active(account);
  const { body } = await send(account, "GET", `/export?domain=${name}`);
  expect(body.zone_file).toMatch(/MX\s+10 mx1\./);
  expect(body.zone_file).toMatch(/v=DKIM1/);
});

test.each(["", "?domain=nothing", "?domain=example.com&page=1"])("refuses the query %j", async (query) => {
  expect((await send(await newAccount(), "GET", `/export${query}`)).status).toBe(422);
});
