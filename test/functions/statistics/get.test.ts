import { expect, test } from "vitest";

import { activeIp, send as sendTo } from "../../support/dedicated-ips.ts";
import { connected, funded } from "../../support/domains.ts";
import { dayAgo } from "../../support/mail-reports.ts";
import { home, send } from "../../support/mailboxes.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("has every requested day, by default the last 30 days", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  const read = (query: string) => send(account, "GET", `statistics?${query}`);
  const { body } = await read(`domain=${name.toUpperCase()}`);
  expect(body).toMatchObject({ domain_id: id, dedicated_ip_id: null, since: dayAgo(29), until: dayAgo(0) });
  expect(body.days).toHaveLength(30);
  expect(body.days[0]).toEqual({ day: dayAgo(29), ...body.total });
  expect(new Set(Object.values(body.total))).toEqual(new Set([0]));
  const february = await read(`domain=${id}&since=2028-02-01&until=2028-02-29`);
  expect(february.body.days).toHaveLength(29);
  expect((await read(`domain=${id}&until=2026-01-31`)).body.since).toBe("2026-01-02");
  expect((await read(`domain=${id}&since=${dayAgo(91)}`)).body.days).toHaveLength(92);
});

test("refuses an invalid query with 422, and names the wrong parameter", async () => {
  const account = await newAccount();
  const { id } = await connected(account);
  const refused: [string, string][] = [
    ["", "domain"],
    [`domain=${id}&dedicated_ip_id=${id}`, "dedicated_ip_id"],
    [`dedicated_ip_id=${id}`, "dedicated_ip_id"],
    [`dedicated_ip_id=x`, "dedicated_ip_id"],
    [`domain=${account.id}`, "domain"],
    [`domain=${(await connected(await newAccount())).name}`, "domain"],
    [`domain=${id}&since=2026-02-01&until=2026-01-31`, "since"],
    [`domain=${id}&since=2000-01-01&until=9999-12-31`, "since"],
    [`domain=${id}&since=0001-01-01`, "since"],
    [`domain=${id}&until=0000-01-01`, "until"],
    [`domain=${id}&until=1999-12-31`, "until"],
    [`domain=${id}&since=2026-02-30`, "since"],
    [`domain=${id}&until=today`, "until"],
  ];
  for (const [query, member] of refused) {
    const { status, body } = await send(account, "GET", `statistics?${query}`);
    expect([status, body.detail?.[0]?.loc], query).toEqual([422, ["query", member]]);
  }
});

test("shows a domain to callers who see it, and a dedicated IP to callers who see one of its domains", async () => {
  const account = await funded(await newAccount());
  const [one, other] = [await home(account), await home(account)];
  const { id: ipId } = await activeIp(account);
  await sendTo(account, "POST", `/${ipId}/domains/assign`, { domains: [one.name] });
  const statusOf = async (query: string, as: { token: string }) =>
    (await send(account, "GET", `statistics?${query}`, undefined, { as })).status;
  const member = (domainId: string) =>
    newMember(account, { capability: "domain.view", scope: { type: "domain", id: domainId } });
  const [inside, outside] = [await member(one.id), await member(other.id)];
  const queries = [`domain=${one.name}`, `dedicated_ip_id=${ipId}`];
  for (const query of queries) {
    expect([await statusOf(query, inside), await statusOf(query, outside)], query).toEqual([200, 422]);
    expect(await statusOf(query, await newMember(account, { capability: "ip.view" }))).toBe(403);
  }
});
