import { afterEach, beforeAll, expect, test } from "vitest";

import { handler } from "../../../functions/workers/end-grants.ts";
import { queueExpiries } from "../../../shared/access/service-account.ts";
import { accessKey, userKey } from "../../../shared/accounts/standing.ts";
import { clock, dayMs, hourMs, setClockAhead } from "../../../shared/core/time.ts";
import { grantQueue } from "../../../shared/grants/assignments.ts";
import { dueKey, readDue, tasksOf } from "../../../shared/table/due.ts";
import { asOwner, capabilityFor, giveGroup, join, newGroup, statusOf } from "../../support/auth.ts";
import { leftOf, storedOf, through } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { useOwnTable } from "../../support/own-table.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, newServiceAccount, newUser, testTable, type Account } from "../../support/world.ts";

beforeAll(useOwnTable);
afterEach(() => setClockAhead(0));

const inHours = (hours: number): string => new Date(Date.now() + hours * hourMs).toISOString();
const attempt = through("REST");
const give = async (account: Account, subject: string, expires_at: string | null, key = "dns.view", type = "user") => {
  const args = { ...capabilityFor(account, subject, key, type), expires_at };
  return (await attempt("auth.authorizations.grant", args, account.owner)).body;
};
/** The number of an account's tasks that are due in the next 99 hours. */
const dueTasks = async (account: Account): Promise<number> => {
  const tasks = (await readDue(testTable(), grantQueue, new Date(Date.now() + 99 * hourMs))).flat();
  return tasks.filter(({ subject }) => subject[0] === account.id).length;
};

test("an ended grant is moved to the history once, with one event and the time of its end, and leaves nothing else behind", async () => {
  const account = await newAccount();
  const user = newUser();
  const end = inHours(1);
  const { id } = await give(account, user.id, end);
  await handler();
  expect(await leftOf(account, user.id)).toContain(`ASSIGNMENT#${id}`);
  setClockAhead(1.1 * hourMs);
  await handler();
  await handler();
  expect(await leftOf(account, user.id)).toEqual([]);
  const events = await recorded(account, "auth.grant.expired");
  expect(events).toMatchObject([
    { actor_type: "system", before: { id, revoked_at: null }, after: { id, expires_at: end, revoked_at: end } },
  ]);
  expect(await recorded(account, "auth.grant.revoked")).toEqual([]);
  const [stored] = await testTable().getMany([userKey(user.id)]);
  expect(stored?.["access_ends"]).toEqual({});
  expect(await dueTasks(account)).toBe(0);
});

test("a grant that got another end or was revoked meanwhile makes no expiry event, and its old task is removed", async () => {
  const account = await newAccount();
  const [longer, lasting, revoked] = [newUser(), newUser(), newUser()];
  for (const user of [longer, lasting]) await give(account, user.id, inHours(1));
  const { id } = await give(account, revoked.id, inHours(1));
  await give(account, longer.id, inHours(5));
  await give(account, lasting.id, null);
  await asOwner(account, "DELETE", `authorizations/${id}`);
  setClockAhead(2 * hourMs);
  await handler();
  expect(await recorded(account, "auth.grant.expired")).toEqual([]);
  // The grant with the later end still has its task.
  expect(await dueTasks(account)).toBe(1);
  const listed = (user: { id: string }) => asOwner(account, "GET", `authorizations?subject_id=${user.id}`);
  expect([await listed(longer), await listed(lasting), await listed(revoked)]).toMatchObject([[{}], [{}], []]);
});

test("the end of an old grant takes nothing from a new grant of the same capability or of ownership", async () => {
  const account = await newAccount();
  const user = newUser();
  const rank = (grant_kind: string, expires_at?: string) =>
    asOwner(account, "POST", "authorizations", { grant_kind, subject_id: user.id, subject_type: "user", expires_at });
  await give(account, user.id, inHours(1));
  await rank("account_owner", inHours(1));
  setClockAhead(1.5 * hourMs);
  await give(account, user.id, null);
  await rank("account_owner");
  await handler();
  const listed = await asOwner(account, "GET", `authorizations?subject_id=${user.id}`);
  expect(listed).toMatchObject([{ expires_at: null }, { expires_at: null, grant_kind: "account_owner" }]);
  expect(await statusOf(account, user, "auth/authorizations")).toBe(200);
  const [record] = await testTable().getMany([accessKey(account.id, { type: "user", id: user.id })]);
  expect(record?.["grants"]).toHaveLength(1);
  // The first owner can be removed, because the new owner has no end.
  const [own] = (await asOwner(account, "GET", `authorizations?subject_id=${account.owner.id}`)) as unknown as [
    { id: string },
  ];
  expect((await asOwner(account, "DELETE", `authorizations/${own.id}`)) ?? {}).toEqual({});
});

test("the ended grants of a deleted group or service account are moved to the history too", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Support");
  const program = await newServiceAccount(account);
  await give(account, group.id, inHours(1), "dns.view", "group");
  await give(account, program.id, inHours(1), "dns.view", "service_account");
  setClockAhead(2 * hourMs);
  // A new grant removes the ended grants of its subject, so the deletions below do not see the ended grants.
  await giveGroup(account, group, "ip.view");
  await give(account, program.id, null, "ip.view", "service_account");
  await asOwner(account, "DELETE", `groups/${group.id}`);
  await asOwner(account, "DELETE", `service-accounts/${program.id}`);
  await handler();
  expect(await recorded(account, "auth.grant.expired")).toHaveLength(2);
  expect(await dueTasks(account)).toBe(0);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("ASSIGNMENT#"))).toHaveLength(1);
});

test("if a run dies before any of its table calls, the next run does the due work", async () => {
  for (let at = 0, calls = 1; at < calls; at++) {
    setClockAhead(0);
    const account = await newAccount();
    const user = newUser();
    await give(account, user.id, inHours(1));
    setClockAhead(2 * hourMs);
    // The run that dies either throws the error or logs it.
    const died = await withFault("death", at, () => handler().catch(() => undefined));
    calls = Math.max(calls, died.calls.length);
    await handler();
    expect([at, (await recorded(account, "auth.grant.expired")).length]).toEqual([at, 1]);
    expect(await leftOf(account, user.id)).toEqual([]);
  }
});

test("a service account has one event 7 days and another 1 day before it expires, also after a rotation", async () => {
  const account = await newAccount();
  const make = async (expires_at: string | null) =>
    (
      await attempt(
        "auth.service_accounts.create",
        { account_id: account.id, name: "Deploys", expires_at },
        account.owner,
      )
    ).body;
  const day = 24;
  const { id } = await make(inHours(30 * day));
  const [soon, revoked] = [await make(inHours(3 * day)), await make(inHours(30 * day))];
  await make(inHours(1));
  await make(null);
  const args = { account_id: account.id, service_account_id: id };
  await attempt("auth.service_accounts.rotate", args, account.owner);
  await attempt("auth.service_accounts.revoke", { ...args, service_account_id: revoked.id }, account.owner);
  const told = async () =>
    (await recorded(account, "auth.service_account.expiring")).map(({ resource_id }) => resource_id);
  await handler();
  expect(await told()).toEqual([]);
  setClockAhead(2.1 * day * hourMs);
  await handler();
  expect(await told()).toEqual([soon.id]);
  setClockAhead(23.1 * day * hourMs);
  await Promise.all([handler(), handler()]);
  expect(await told()).toEqual([id, soon.id]);
  setClockAhead(29.1 * day * hourMs);
  await handler();
  await handler();
  expect(await told()).toEqual([id, id, soon.id]);
  setClockAhead(99 * day * hourMs);
  await handler();
  expect(await told()).toHaveLength(3);
});

test("a service account of version 0.1.0 has both events and is revoked, once its tasks are queued", async () => {
  const account = await newAccount();
  const created = async (days: number | null) => {
    const expires_at = days === null ? null : inHours(24 * days);
    const args = { account_id: account.id, name: "Nightly", expires_at };
    return (await attempt("auth.service_accounts.create", args, account.owner)).body.id;
  };
  const id = await created(10);
  const revoked = await created(10);
  await created(null);
  const tasks = () => tasksOf(testTable(), grantQueue, account.id);
  const present = await tasks();
  // Each service account with an end has a task for each of its two events, and one for its revocation.
  expect(present).toHaveLength(6);
  // Version 0.1.0 stored no tasks.
  for (const { at, subject } of present)
    await testTable().attempt({ delete: dueKey(grantQueue, [account.id, ...subject.slice(1)], at) });
  const args = { account_id: account.id, service_account_id: revoked };
  await attempt("auth.service_accounts.revoke", args, account.owner);
  for (let run = 0; run < 2; run++) await queueExpiries(testTable(), account.id, new Date());
  expect(await tasks()).toEqual(present.filter(({ subject }) => subject[1]?.endsWith(id)));
  const counts = async () => [
    (await recorded(account, "auth.service_account.expiring")).length,
    (await recorded(account, "auth.service_account.revoked")).length,
  ];
  for (const [days, expected] of [
    [4, [1, 1]],
    [9.5, [2, 1]],
    [411, [2, 2]],
  ] as const) {
    setClockAhead(days * dayMs);
    await queueExpiries(testTable(), account.id, clock());
    await handler();
    expect([days, await counts()]).toEqual([days, expected]);
  }
});

test("a run that is late records only the latest notice, and none after the service account has expired", async () => {
  const account = await newAccount();
  const day = 24;
  const make = async (days: number) => {
    const args = { account_id: account.id, name: "Deploys", expires_at: inHours(days * day) };
    return (await attempt("auth.service_accounts.create", args, account.owner)).body;
  };
  await make(8);
  const { id } = await make(10);
  setClockAhead(9.5 * day * hourMs);
  await handler();
  expect((await recorded(account, "auth.service_account.expiring")).map(({ resource_id }) => resource_id)).toEqual([
    id,
  ]);
  expect(await dueTasks(account)).toBe(0);
});

const expiredProgram = async () => {
  const account = await newAccount();
  const args = { account_id: account.id, name: "Deploys", expires_at: inHours(1) };
  const { id } = (await attempt("auth.service_accounts.create", args, account.owner)).body;
  await give(account, id, null, "dns.view", "service_account");
  await join(account, await newGroup(account, "Staff"), id, "service_account");
  return { account, id };
};

test("a service account is revoked with its grants and memberships 400 days after it expired, and then kept for 400 days", async () => {
  const { account, id } = await expiredProgram();
  const listed = () => asOwner(account, "GET", "service-accounts");
  setClockAhead(400 * dayMs);
  await handler();
  expect(await listed()).toMatchObject([{ id, revoked_at: null }]);
  setClockAhead(400 * dayMs + 2 * hourMs);
  await Promise.all([handler(), handler()]);
  await handler();
  expect(await listed()).toMatchObject([{ id, revoked_at: expect.any(String) }]);
  expect(await leftOf(account, id)).toEqual([`SERVICE_ACCOUNT#${id}`]);
  const row = (await storedOf(account)).find(({ SK }) => SK === `SERVICE_ACCOUNT#${id}`);
  expect(row?.["ttl"]).toBe(Math.ceil(Date.parse(String(row?.["revoked_at"])) / 1_000) + 400 * 86_400);
  expect(await recorded(account, "auth.service_account.revoked")).toMatchObject([{ actor_type: "system" }]);
  expect(await dueTasks(account)).toBe(0);
});

test("if the revocation of an expired service account dies before any of its table calls, the next run completes it", async () => {
  for (let at = 0, calls = 1; at < calls; at++) {
    setClockAhead(0);
    const { account, id } = await expiredProgram();
    setClockAhead(401 * dayMs);
    const died = await withFault("death", at, () => handler().catch(() => undefined));
    calls = Math.max(calls, died.calls.length);
    await handler();
    expect([at, (await recorded(account, "auth.service_account.revoked")).length]).toEqual([at, 1]);
    expect(await leftOf(account, id)).toEqual([`SERVICE_ACCOUNT#${id}`]);
  }
});
