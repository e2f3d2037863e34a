import { beforeAll, describe, expect, test } from "vitest";

import { zoneWork } from "../../../shared/domains/records/sync-now.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { addedRecord, ownRecords, recordsRequest, served } from "../../support/dns-records.ts";
import { active, connected } from "../../support/domains.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const www = { name: "www", type: "A", value: "192.0.2.1", ttl: 600 };

async function accountWith(...records: object[]) {
  const account = await newAccount();
  const { name: domain, id: domainId } = await connected(account);
  const ids: number[] = [];
  for (const record of records) ids.push((await addedRecord(account, { domain, ...record })).id);
  const [id = 0] = ids;
  const update = (body: unknown, record = id) => recordsRequest(account, "PATCH", `/${record}`, body);
  return { account, domain, domainId, ids, id, update };
}

/** The record with this id of the account. */
const read = async (account: Account, domain: string, id: number) =>
  (await ownRecords(account, domain)).find((record) => record.id === id);

describe("a record", () => {
  test("changes the given members, and keeps the others, its id and its creation time", async () => {
    const { account, domain, id, update } = await accountWith({
      name: "_sip._tcp",
      type: "SRV",
      value: "a.example.net",
      priority: 1,
      weight: 2,
      port: 5060,
    });
    const before = await read(account, domain, id);
    const changed = await update({ weight: 7, value: "B.example.net." });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...before,
      weight: 7,
      value: "b.example.net",
      updated_at: expect.stringMatching(/\.\d{3}Z$/),
    });
    expect(changed.body.updated_at >= changed.body.created_at).toBe(true);
    expect(await read(account, domain, id)).toEqual(changed.body);
  });

  test("changes its name and value in the zone, where nothing is left of the old record", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const { id } = await addedRecord(account, { domain, ...www });
    const update = (body: object) => recordsRequest(account, "PATCH", `/${id}`, body);
    expect((await update({ value: "192.0.2.2" })).body).toMatchObject({ id, zone_status: "in_sync" });
    expect(await served(`www.${domain}`, "A")).toEqual(["192.0.2.2"]);
    expect((await update({ name: `Shop.${domain}.` })).body).toMatchObject({
      id,
      name: "shop",
      zone_status: "in_sync",
    });
    expect(await served(`www.${domain}`, "A")).toEqual([]);
    expect(await served(`shop.${domain}`, "A")).toEqual(["192.0.2.2"]);
    expect((await addedRecord(account, { domain, ...www, type: "CNAME", value: "example.net" })).zone_status).toBe(
      "in_sync",
    );
  });

  test("that gets another name does not change the other records of its old name and type", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const { id } = await addedRecord(account, { domain, ...www });
    await addedRecord(account, { domain, ...www, value: "192.0.2.2" });
    await recordsRequest(account, "PATCH", `/${id}`, { name: "shop" });
    expect(await served(`www.${domain}`, "A")).toEqual(["192.0.2.2"]);
    expect(await served(`shop.${domain}`, "A")).toEqual(["192.0.2.1"]);
  });

  test("can be updated with its own values, and is no duplicate of itself", async () => {
    const { id, update } = await accountWith(www);
    expect((await update({ value: "192.0.2.1", name: "WWW" })).body).toMatchObject({ id, name: "www" });
  });
});

describe("an update is refused", () => {
  let scene: Awaited<ReturnType<typeof accountWith>>;
  beforeAll(async () => void (scene = await accountWith(www)));

  test.each<[body: object, loc: string[]]>([
    [{ type: "AAAA" }, ["body", "type"]],
    [{ domain: "example.com" }, ["body", "domain"]],
    [{ id: 7 }, ["body", "id"]],
    [{ priority: 1 }, ["body", "priority"]],
    [{ tag: "issue" }, ["body", "tag"]],
    [{ value: "2001:db8::1" }, ["body", "value"]],
    [{ value: "" }, ["body", "value"]],
    [{ name: "a..b" }, ["body", "name"]],
    [{ ttl: 59 }, ["body", "ttl"]],
    [{ ttl: null }, ["body", "ttl"]],
  ])("for %j, and nothing is changed", async (body, loc) => {
    const { account, domain, id, update } = scene;
    const before = await read(account, domain, id);
    const answer = await update(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc }]);
    expect(await read(account, domain, id)).toEqual(before);
  });

  test("for a null MX (`.`) with a priority other than 0", async () => {
    const { update } = await accountWith({ name: "mail", type: "MX", value: "mx.example.net", priority: 5 });
    expect((await update({ value: "." })).body.detail).toMatchObject([{ loc: ["body", "priority"] }]);
    expect((await update({ value: ".", priority: 0 })).body).toMatchObject({ value: ".", priority: 0 });
  });

  test("with the id of the record that already has the new name or value", async () => {
    const { update, ids } = await accountWith(
      www,
      { ...www, value: "192.0.2.2" },
      { name: "alias", type: "CNAME", value: "example.net" },
    );
    expect((await update({ value: "192.0.2.2" })).body).toMatchObject({
      code: "record_exists",
      conflicts_with: ids[1],
    });
    expect((await update({ name: "alias" })).body).toMatchObject({ code: "record_conflict", conflicts_with: ids[2] });
    expect((await update({ name: "www" }, ids[2])).body).toMatchObject({
      code: "record_conflict",
      conflicts_with: ids[0],
    });
    expect((await update({ name: "_dmarc" })).body).toMatchObject({ code: "system_managed" });
  });

  test("for a system record, with any change", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const { items } = (await recordsRequest(account, "GET", `?domain=${domain}`)).body;
    expect(items).toHaveLength(7);
    for (const { id } of items) {
      const answer = await recordsRequest(account, "PATCH", `/${id}`, { ttl: 60 });
      expect(answer.body).toMatchObject({ status: 409, code: "system_managed" });
    }
    expect((await recordsRequest(account, "GET", `?domain=${domain}`)).body.items).toEqual(items);
  });

  test("in the same way for a missing record, another account's record, and a record out of sight", async () => {
    const { account, id } = await accountWith(www);
    const theirs = await accountWith(www, { ...www, name: "more" });
    const hidden = await newMember(account, { role: "dns_manager", scope: { type: "domain", id: theirs.domainId } });
    const answers = [
      await recordsRequest(account, "PATCH", "/2", { ttl: 60 }),
      await recordsRequest(account, "PATCH", "/2147483647", { ttl: 60 }),
      await recordsRequest(account, "PATCH", `/${id}`, { ttl: 60 }, hidden),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(answers.map(({ body }) => JSON.stringify({ ...body, request_id: "" }))).size).toBe(1);
    expect((await theirs.update({ ttl: 60 })).status).toBe(200);
  });

  test.each(["abc", "0", "-1", "1.5", "01", "2147483648", "99999999999999999999", "%20"])(
    "for an id such as %s",
    async (id) => {
      const answer = await recordsRequest(scene.account, "PATCH", `/${id}`, { ttl: 60 });
      expect(answer.body.detail).toMatchObject([{ loc: ["path", "record_id"] }]);
    },
  );

  test("for a caller without dns.manage on the domain", async () => {
    const { account, domainId, ids, update } = await accountWith(www);
    const viewer = await newMember(account, { role: "viewer" });
    const manager = await newMember(account, { capability: "dns.manage", scope: { type: "domain", id: domainId } });
    const as = (token: string) => recordsRequest(account, "PATCH", `/${ids[0]}`, { ttl: 120 }, { token });
    expect((await as(viewer.token)).body).toMatchObject({ status: 403, required_capability: "dns.manage" });
    expect((await as(manager.token)).status).toBe(200);
    expect((await update({ ttl: 60 })).status).toBe(200);
  });
});

describe("at the same time", () => {
  test("changes of different members all take effect", async () => {
    const { account, domain, id, update } = await accountWith({
      name: "_sip._tcp",
      type: "SRV",
      value: "a.example.net",
      priority: 1,
      port: 1,
    });
    const changes = [{ priority: 9 }, { weight: 9 }, { port: 9 }, { ttl: 900 }, { value: "b.example.net" }];
    const answers = await Promise.all(changes.map((body) => update(body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(changes.length).fill(200));
    expect(await read(account, domain, id)).toMatchObject(Object.assign({}, ...changes));
  });

  test("of several changes of the name one stays, and the zone has only this name", async () => {
    const account = await newAccount();
    const { name: domain, id: domainId } = await active(account);
    const { id } = await addedRecord(account, { domain, ...www });
    const names = Array.from({ length: 4 }, (_, index) => `n${index}`);
    const answers = await Promise.all(names.map((name) => recordsRequest(account, "PATCH", `/${id}`, { name })));
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(200));
    await syncZone(account.id, domainId, zoneWork("test"));
    const last = (await ownRecords(account, domain))[0];
    expect(last).toMatchObject({ zone_status: "in_sync" });
    const found = await Promise.all(names.map((name) => served(`${name}.${domain}`, "A")));
    expect(found.map((values) => values.length)).toEqual(names.map((name) => Number(name === last?.name)));
  });

  test("two records cannot become equal", async () => {
    const { account, domain, ids, update } = await accountWith(www, { ...www, value: "192.0.2.2" });
    const answers = await Promise.all(ids.map((id) => update({ value: "192.0.2.3" }, id)));
    expect(statusesOf(answers)).toEqual([200, 409]);
    const values = (await ownRecords(account, domain)).map(({ value }) => value);
    expect(values.filter((value) => value === "192.0.2.3")).toHaveLength(1);
  });

  test("a change and a deletion leave no record, whichever comes first", async () => {
    const { account, domain, id, update } = await accountWith(www);
    const [changed, deleted] = await Promise.all([
      update({ name: "shop" }),
      recordsRequest(account, "DELETE", `/${id}`),
    ]);
    expect([200, 404]).toContain(changed.status);
    expect(deleted.status).toBe(200);
    expect(await ownRecords(account, domain)).toEqual([]);
  });
});
