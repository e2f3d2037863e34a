import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { zoneWork } from "../../../shared/domains/records/sync-now.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { newWorkspace } from "../../support/auth.ts";
import { ownRecords, recordsRequest, served, www } from "../../support/dns-records.ts";
import { active, connected, uniqueName } from "../../support/domains.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, newServiceAccount, testTable } from "../../support/world.ts";

describe("at the same time", () => {
  test("one of twelve requests for the same record succeeds", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => recordsRequest(account, "POST", "", { domain, ...www })),
    );
    expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
    expect(await ownRecords(account, domain)).toHaveLength(1);
  });

  test("of a CNAME and an A record of one name, only one is added", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const answers = await Promise.all(
      [www, { ...www, type: "CNAME", value: "example.net" }].map((body) =>
        recordsRequest(account, "POST", "", { domain, ...body }),
      ),
    );
    expect(statusesOf(answers)).toEqual([201, 409]);
  });

  test("different records of one name or of one domain are all added, and the zone has them all", async () => {
    const account = await newAccount();
    const { name: domain, id: domainId } = await active(account);
    const values = Array.from({ length: 4 }, (_, index) => `192.0.2.${index}`);
    const answers = await Promise.all([
      ...values.map((value) => recordsRequest(account, "POST", "", { domain, ...www, value })),
      ...values.map((value, index) =>
        recordsRequest(account, "POST", "", { domain, ...www, name: `n${index}`, value }),
      ),
    ]);
    expect(statusesOf(answers)).toEqual(Array(8).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(8);
    // A request leaves its records to a sync that is already running, and this sync may leave them to the worker.
    await syncZone(account.id, domainId, zoneWork("test"));
    const shown = (await ownRecords(account, domain)).map(({ zone_status }) => zone_status);
    expect(new Set(shown)).toEqual(new Set(["in_sync"]));
    expect(await served(`www.${domain}`, "A")).toEqual(values);
    const others = await Promise.all(values.map((_, index) => served(`n${index}.${domain}`, "A")));
    expect(others.flat()).toEqual(values);
  });
});

describe("access", () => {
  test("a caller with dns.manage on a domain or workspace can add records there, but nowhere else", async () => {
    const account = await newAccount();
    const workspaceId = await newWorkspace(account, "Theirs");
    const [mine, inside, outside] = [
      await connected(account),
      await connected(account, { workspaceId }),
      await connected(account),
    ];
    const program = await newServiceAccount(
      account,
      { capability: "dns.manage", scope: { type: "domain", id: mine.id } },
      { capability: "dns.manage", scope: { type: "workspace", id: workspaceId } },
    );
    const add = (domain: string) => recordsRequest(account, "POST", "", { domain, ...www }, program);
    expect([(await add(mine.name)).status, (await add(inside.id)).status]).toEqual([201, 201]);
    const [hidden, missing] = [await add(outside.name), await add(uniqueName())];
    expect(hidden.status).toBe(422);
    expect(hidden.body).toEqual(missing.body);
    expect(await ownRecords(account, outside.name)).toEqual([]);
  });

  test("a viewer is told the missing capability", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const viewer = await newMember(account, { role: "viewer" });
    const { body } = await recordsRequest(account, "POST", "", { domain, ...www }, viewer);
    expect(body).toMatchObject({ status: 403, code: "forbidden", required_capability: "dns.manage" });
  });

  test("a suspended account cannot add records", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    expect((await recordsRequest(account, "POST", "", { domain, ...www })).body).toMatchObject({
      code: "account_suspended",
    });
    expect(await ownRecords(account, domain)).toEqual([]);
  });
});

describe("a request that is sent again", () => {
  test("with the same key gets the same bytes, and adds no second record", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const headers = { "idempotency-key": randomUUID() };
    const send = (value = www.value) => recordsRequest(account, "POST", "", { domain, ...www, value }, { headers });
    const [first, second] = [await send(), await send()];
    expect(first.body).toMatchObject({ zone_status: "in_sync" });
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers["idempotency-replayed"]).toBe("true");
    expect((await send("192.0.2.2")).body.detail).toMatchObject([{ loc: ["header", "idempotency-key"] }]);
    expect(await ownRecords(account, domain)).toHaveLength(1);
  });
});
