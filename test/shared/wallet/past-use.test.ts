import { expect, test } from "vitest";

import { readPastIps, readPastMailboxes } from "../../../shared/wallet/past-use.ts";
import { write } from "../../support/domain-work.ts";
import { newAccount, testTable } from "../../support/world.ts";

// The rows in this file have the form in which version 1.0.0 stores them. The form never changes.

test("stored rows of purged mailboxes can be read up to their last day", async () => {
  const { id } = await newAccount();
  const days = { first_day: "2026-11-01", last_day: "2026-11-20" };
  const key = { PK: `ACCOUNT#${id}`, SK: "PAST_MAILBOXES#2026-11-20#2026-11-01" };
  await write({ put: { ...key, ...days, count: 7, ttl: 1_800_000_000 } });
  expect(await readPastMailboxes(testTable(), id, "2026-11-20")).toEqual([{ ...days, count: 7 }]);
  expect(await readPastMailboxes(testTable(), id, "2026-11-21")).toEqual([]);
});

test("stored rows of removed managed IPs can be read up to their last day", async () => {
  const { id } = await newAccount();
  const [ip, last_day] = ["00000000-0000-4000-8000-000000000000", "2026-11-20"];
  const times = { created_at: "2026-10-01T12:00:00.000Z", paid_until: "2026-10-31T12:00:00.000Z" };
  const key = { PK: `ACCOUNT#${id}`, SK: `PAST_IP#${last_day}#${ip}` };
  await write({ put: { ...key, id: ip, ...times, last_day, ttl: 1_800_000_000 } });
  expect(await readPastIps(testTable(), id, "2026-11-20")).toEqual([{ id: ip, ...times, last_day }]);
  expect(await readPastIps(testTable(), id, "2026-11-21")).toEqual([]);
});
