import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { activeIp, host, send } from "../../support/dedicated-ips.ts";
import { connected, funded } from "../../support/domains.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("shows the dedicated IP with its domains, oldest first, and the number of domains", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const workspaceId = await newWorkspace(account, "Sales");
  const domains = [await connected(account, { workspaceId }), await connected(account, { workspaceId })];
  await send(account, "POST", `/${id}/domains/assign`, { domains: domains.map(({ name }) => name).toReversed() });
  const { status, body } = await send(account, "GET", `/${id}`);
  expect([status, body.domain_count]).toEqual([200, 2]);
  expect(body.domains).toEqual(domains.map((domain) => ({ id: domain.id, name: domain.name })));
});

test("shows only the domains that the caller can see; a caller with only another domain gets 404", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const [one, other, third] = [await connected(account), await connected(account), await connected(account)];
  await send(account, "POST", `/${id}/domains/assign`, { domains: [one.name, other.name] });
  const on = (domain: string) => ({ role: "viewer", scope: { type: "domain", id: domain } }) as const;
  const narrow = await newMember(account, on(one.id));
  const read = (as: { token: string }) => send(account, "GET", `/${id}`, undefined, { as });
  expect((await read(narrow)).body).toMatchObject({ domain_count: null, domains: [{ id: one.id, name: one.name }] });
  expect((await read(await newMember(account, on(third.id)))).status).toBe(404);
  const onlyIps = await newMember(account, { capability: "ip.view" });
  expect((await read(onlyIps)).body).toMatchObject({ domain_count: null, domains: [] });
});

test("another account's IP and a missing one are 404", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const theirs = await host(other);
  await host(account);
  for (const id of [theirs.id, account.id]) expect((await send(account, "GET", `/${id}`)).status).toBe(404);
});

test("has an ETag that an assignment of domains does not change", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const { name } = await connected(account);
  const tag = async () => (await send(account, "GET", `/${id}`)).headers["etag"];
  const before = await tag();
  expect(await tag()).toBe(before);
  await send(account, "POST", `/${id}/domains/assign`, { domains: [name] });
  expect(await tag()).toBe(before);
});
