import { expect, test } from "vitest";

import { addedRecord, recordsRequest, www } from "../../support/dns-records.ts";
import { active, connected } from "../../support/domains.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("shows a record as the list does, and Location leads to it", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const made = await recordsRequest(account, "POST", "", { domain, ...www });
  const read = await recordsRequest(account, "GET", `/${made.body.id}`);
  expect([read.status, read.body]).toEqual([200, made.body]);
  expect(made.headers["location"]).toBe(`/v1/public/accounts/${account.id}/dns-records/${made.body.id}`);
  expect((await recordsRequest(account, "GET", `?domain=${domain}&name=www`)).body.items).toEqual([read.body]);
});

test("keeps the ETag of its last change while the nameservers take the change over", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { id } = await addedRecord(account, { domain, ...www });
  const changed = await recordsRequest(account, "PATCH", `/${id}`, { ttl: 600 });
  expect((await recordsRequest(account, "GET", `/${id}`)).headers["etag"]).toBe(changed.headers["etag"]);
});

test("is 404 for a caller who cannot see the records of its domain, and after its deletion", async () => {
  const account = await newAccount();
  const domain = await connected(account);
  const { id } = await addedRecord(account, { domain: domain.name, ...www });
  const scope = { type: "domain" as const, id: (await connected(account)).id };
  const other = await newMember(account, { capability: "dns.view", scope });
  expect((await recordsRequest(account, "GET", `/${id}`, undefined, other)).status).toBe(404);
  await recordsRequest(account, "DELETE", `/${id}`);
  expect((await recordsRequest(account, "GET", `/${id}`)).status).toBe(404);
});
