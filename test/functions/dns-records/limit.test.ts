import { expect, test } from "vitest";

import { recordLimit } from "../../../shared/domains/records/stored-record.ts";
import { recordsRequest, www } from "../../support/dns-records.ts";
import { storedAs, withRecords } from "../../support/domain-work.ts";
import { connected } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount } from "../../support/world.ts";

test("a domain takes at most 1,000 records, one by one or by an import", { timeout: 60_000 }, async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  await withRecords(account, domain, recordLimit - 1);
  expect((await recordsRequest(account, "POST", "", { domain, ...www })).status).toBe(201);
  expect((await storedAs(account, domain)).record_count).toBe(1_000);
  const before = await storedOf(account);
  const one = await recordsRequest(account, "POST", "", { domain, ...www, name: "more" });
  expect(one.body).toMatchObject({ status: 409, code: "limit_reached" });
  const some = await recordsRequest(account, "POST", "/import", { domain, zone_file: "more IN A 192.0.2.1" });
  expect(some.body).toMatchObject({
    created_count: 0,
    skipped: [{ reason: "A domain can have 1000 records at most" }],
  });
  expect(await storedOf(account)).toEqual(before);
});

test("a name takes at most 400 records of a type, with at most 12,000 bytes of values together", async () => {
  const account = await newRoomyAccount();
  const { name: domain } = await connected(account);
  const add = (body: object) => recordsRequest(account, "POST", "", { domain, name: "big", type: "TXT", ...body });
  const ids: number[] = [];
  for (let index = 0; index < 5; index++) {
    const { status, body } = await add({ value: String(index).repeat(2_048) });
    expect(status).toBe(201);
    ids.push(body.id);
  }
  const tooMuch = await add({ value: "é".repeat(881) });
  expect(tooMuch.body).toMatchObject({ status: 409, code: "limit_reached", detail: expect.stringContaining("12002") });
  const last = (await add({ value: "é".repeat(880) })).body;
  const grown = await recordsRequest(account, "PATCH", `/${last.id}`, { value: "é".repeat(881) });
  expect(grown.body).toMatchObject({ status: 409, code: "limit_reached" });
  expect((await recordsRequest(account, "PATCH", `/${ids[0]}`, { value: "short" })).status).toBe(200);
  expect((await add({ type: "A", value: "192.0.2.1" })).status).toBe(201);

  const crowd = Array.from({ length: 401 }, (_, n) => `crowd A 10.0.${n >> 8}.${n & 255}`).join("\n");
  const { body } = await recordsRequest(account, "POST", "/import", { domain, zone_file: crowd, dry_run: true });
  expect(body).toMatchObject({ created_count: 400, skipped: [{ line: 401 }] });
  expect(body.skipped[0].reason).toBe("A name can have 400 records of one type at most");
});
