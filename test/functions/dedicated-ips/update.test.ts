import { expect, test } from "vitest";

import { claimed, host, send } from "../../support/dedicated-ips.ts";
import { funded } from "../../support/domains.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("renames a host and a managed dedicated IP, and changes nothing else", async () => {
  const account = await funded(await newAccount());
  for (const ip of [await host(account), await claimed(account)]) {
    const renamed = await send(account, "PATCH", `/${ip.id}`, { name: " Newsletters " });
    expect(renamed.body).toEqual({ ...ip, name: "Newsletters", updated_at: expect.any(String) });
    expect((await send(account, "GET", `/${ip.id}`)).body).toMatchObject({ name: "Newsletters", status: ip.status });
    const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token });
    expect(log.body.items[0]).toMatchObject({ event_type: "dedicated_ip.updated", resource: { id: ip.id } });
  }
});

test("honours If-Match, and a request with the present name changes nothing", async () => {
  const account = await newAccount();
  const { id, name } = await host(account);
  const { etag = "" } = (await send(account, "GET", `/${id}`)).headers;
  const same = await send(account, "PATCH", `/${id}`, { name }, { headers: { "if-match": etag } });
  expect([same.status, same.headers["etag"]]).toEqual([200, etag]);
  expect((await send(account, "PATCH", `/${id}`, { name: "Second" }, { headers: { "if-match": etag } })).status).toBe(
    200,
  );
  const late = await send(account, "PATCH", `/${id}`, { name: "Third" }, { headers: { "if-match": etag } });
  expect([late.status, (await send(account, "GET", `/${id}`)).body.name]).toEqual([412, "Second"]);
});

test("another account gets 404, a caller without ip.manage gets 403, and an empty name gets 422", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  expect((await send(await newAccount(), "PATCH", `/${id}`, { name: "Theirs" })).status).toBe(404);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await send(account, "PATCH", `/${id}`, { name: "Mine" }, { as: viewer })).status).toBe(403);
  expect((await send(account, "PATCH", `/${id}`, { name: "" })).body.detail[0].loc).toEqual(["body", "name"]);
});
