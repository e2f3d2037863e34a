import { expect, test } from "vitest";

import { recordLimit } from "../../../shared/domains/records/stored-record.ts";
import { recordsRequest, www } from "../../support/dns-records.ts";
import { storedAs, withRecords } from "../../support/domain-work.ts";
import { connected } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { newAccount } from "../../support/world.ts";

test("a domain takes its thousandth record and no other, one by one and by import", { timeout: 60_000 }, async () => {
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
