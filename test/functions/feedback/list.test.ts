import { expect, test } from "vitest";

import { feedbackKey } from "../../../shared/feedback/feedback.ts";
import { listFeedback } from "../../../shared/feedback/list.ts";
import { setFeedbackStatus } from "../../../shared/feedback/operate.ts";
import { indexFeedback, listOwnFeedback, newestUnlisted } from "../../../shared/feedback/own.ts";
import { withStep } from "../../support/between-calls.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, method: string, query = "", body?: object, { token } = owner) =>
  request(method, `/v1/public/accounts/${id}/feedback${query}`, { token, ...(body ? { body } : {}) });

const submitted = async (account: Account, title: string) =>
  (await send(account, "POST", "", { category: "bug_report", title, description: "It is slow." })).body;

test("shows the account's feedback with our answer, newest first, by status and in pages", async () => {
  const account = await newAccount();
  const [first, second, third] = [
    await submitted(account, "First"),
    await submitted(account, "Second"),
    await submitted(account, "Third"),
  ];
  const decision = { accountId: account.id, id: second.id, status: "done" as const, notes: "Fixed today" };
  const answered = await setFeedbackStatus(testTable(), decision, new Date());
  expect((await send(account, "GET")).body).toEqual({
    items: [third, answered, first],
    total: 3,
    page: 1,
    page_size: 25,
  });
  expect((await send(account, "GET", "?order=asc&page_size=1&page=2")).body).toMatchObject({
    items: [{ id: second.id, admin_notes: "Fixed today" }],
    total: 3,
  });
  expect((await send(account, "GET", "?status=done")).body).toMatchObject({ items: [answered], total: 1 });
  expect((await send(account, "GET", "?status=new")).body).toMatchObject({ items: [third, first], total: 2 });
  expect((await send(account, "GET", "?status=planned")).body).toMatchObject({ items: [], total: 0 });
});

test("a page for one status has only feedback with this status, even if a status changes during the read", async () => {
  const account = await newAccount();
  const [first, second] = [await submitted(account, "First"), await submitted(account, "Second")];
  const table = testTable();
  let isChanged = false;
  const changing = {
    ...table,
    getMany: async (keys: Parameters<typeof table.getMany>[0]) => {
      const readsFeedback = keys.some(({ SK }) => SK === feedbackKey(account.id, second.id).SK);
      if (readsFeedback && !isChanged) {
        isChanged = true;
        await setFeedbackStatus(table, { accountId: account.id, id: second.id, status: "done" }, new Date());
      }
      return table.getMany(keys);
    },
  };
  const page = { page: 1, page_size: 25, order: "desc" } as const;
  expect(await listFeedback(changing, { account: account.id, status: "new" }, page)).toEqual({
    items: [first],
    total: 1,
  });
  expect(isChanged).toBe(true);
});

test("a caller without auth.manage sees only the caller's own feedback, with its own pages and totals", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "dns.view" });
  const text = { category: "other", description: "It works." };
  const own: string[] = [];
  for (const title of ["One", "Two"]) {
    await submitted(account, "Secret");
    own.push((await send(account, "POST", "", { ...text, title }, member)).body.id);
  }
  const [one, two] = own;
  const seen = async (query: string) => {
    const { body } = await send(account, "GET", query, undefined, member);
    return [body.items.map(({ id }: { id: string }) => id), body.total];
  };
  expect(await seen("")).toEqual([[two, one], 2]);
  expect(await seen("?order=asc&page_size=1&page=2")).toEqual([[two], 2]);
  expect(await seen("?status=new")).toEqual([[two, one], 2]);
  expect(await seen("?status=done")).toEqual([[], 0]);
  const manager = await newMember(account, { capability: "auth.manage" });
  expect((await send(account, "GET", "", undefined, manager)).body.total).toBe(4);
});

/** Changes stored feedback to the form of earlier versions, which had no list for each submitter. */
async function forgetSubmitters({ id }: Account): Promise<void> {
  const partition = `ACCOUNT#${id}`;
  // In the sort order, the backtick is the next character after the underscore, so `LIST#feedback_by/` is in the range.
  for (const { PK, SK, ...row } of await testTable().between(partition, "LIST#feedback", "LIST#feedback`")) {
    const { place_of_submitter: _, ...old } = row;
    if (SK.startsWith("LIST#feedback_by/")) await testTable().attempt({ delete: { PK, SK } });
    else if (SK.startsWith("LIST#feedback#ROW#")) await testTable().attempt({ put: { PK, SK, ...old } });
  }
}

test("feedback of earlier versions is shown to its submitter before and after its migration", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "dns.view" });
  const submit = async (title: string) =>
    String((await send(account, "POST", "", { category: "other", title, description: "Old" }, member)).body.id);
  const shown = async (query = "") =>
    (await send(account, "GET", query, undefined, member)).body.items.map(({ id }: { id: string }) => id);
  const [one, two] = [await submit("One"), await submit("Two")];
  await submitted(account, "Of another");
  await forgetSubmitters(account);
  expect(await shown()).toEqual([two, one]);
  const three = await submit("Three");
  expect(await shown("?status=new")).toEqual([three, two, one]);
  const decide = (id: string, status: "done" | "planned") =>
    setFeedbackStatus(testTable(), { accountId: account.id, id, status }, new Date());
  await decide(one, "done");
  for (let run = 0; run < 2; run++) await indexFeedback(testTable(), account.id);
  const four = await submit("Four");
  await decide(two, "planned");
  expect(await shown()).toEqual([four, three, two, one]);
  expect(await shown("?status=done")).toEqual([one]);
  expect(await shown("?status=planned")).toEqual([two]);
  expect(await shown("?status=new&order=asc")).toEqual([three, four]);
});

test("the migration of feedback reads each list of a submitter once, however much feedback the submitter has", async () => {
  const readsFor = async (count: number): Promise<number> => {
    const account = await newAccount();
    for (let made = 0; made < count; made++) await submitted(account, `Old ${made}`);
    await forgetSubmitters(account);
    const table = testTable();
    let reads = 0;
    const between: typeof table.between = (partition, from, to, options) => {
      if (from.startsWith("LIST#feedback_by/")) reads += 1;
      return table.between(partition, from, to, options);
    };
    await indexFeedback({ ...table, between }, account.id);
    expect((await send(account, "GET")).body.total).toBe(count);
    return reads;
  };
  expect(await readsFor(1)).toBeGreaterThan(0);
  expect(await readsFor(6)).toBe(await readsFor(1));
});

test("feedback that an earlier version changed after a roll-back is in its submitter's lists once", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "dns.view" });
  const submit = async (title: string) =>
    String((await send(account, "POST", "", { category: "other", title, description: "Old" }, member)).body.id);
  const shown = async (query = "") => {
    const { items, total } = (await send(account, "GET", query, undefined, member)).body;
    return [items.map(({ id }: { id: string }) => id), total];
  };
  const [one, two, three] = [await submit("One"), await submit("Two"), await submit("Three")];
  const key = (id: string) => feedbackKey(account.id, id);
  // Version 0.1.0 stores the feedback without this member, and does not know the lists of the submitter.
  for (const id of [one, two]) await testTable().attempt({ update: key(id), remove: ["place_of_submitter"] });
  await setFeedbackStatus(testTable(), { accountId: account.id, id: one, status: "done" }, new Date());
  for (let run = 0; run < 2; run++) {
    await indexFeedback(testTable(), account.id);
    expect(await shown()).toEqual([[three, two, one], 3]);
    expect(await shown("?status=new")).toEqual([[three, two], 2]);
    expect(await shown("?status=done")).toEqual([[one], 1]);
  }
  await setFeedbackStatus(testTable(), { accountId: account.id, id: one, status: "planned" }, new Date());
  expect(await shown("?status=done")).toEqual([[], 0]);
  expect(await shown("?status=planned")).toEqual([[one], 1]);
});

test("feedback that is submitted during the migration of older feedback is in its submitter's list", async () => {
  /**
   * Runs the migration or, if `isMigration` is false, the submission. Runs the other one before the call at `place`.
   * Returns the number of calls.
   */
  const meet = async (isMigration: boolean, place: number): Promise<number> => {
    const account = await newAccount();
    const submit = () => submitted(account, "New");
    const migrate = () => indexFeedback(testTable(), account.id);
    await submitted(account, "Old");
    await forgetSubmitters(account);
    const { calls } = isMigration ? await withStep(place, submit, migrate) : await withStep(place, migrate, submit);
    // If the run has too few calls, the other one did not run, and this run is the last.
    if (calls <= place) return calls;
    expect(await newestUnlisted(testTable(), account.id)).toBeUndefined();
    const filter = { account: account.id, submitter: account.owner.id };
    const { items } = await listOwnFeedback(testTable(), filter, { page: 1, page_size: 25, order: "asc" });
    expect(items.map(({ title }) => title)).toEqual(["Old", "New"]);
    return calls;
  };
  for (const isMigration of [true, false])
    for (let place = 0, calls = 1; calls >= place; place++) calls = await meet(isMigration, place);
});

test("a submitter's page costs the same however much feedback others have sent", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "dns.view" });
  await send(account, "POST", "", { category: "other", title: "Own", description: "Mine" }, member);
  const cost = async (): Promise<number> => {
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    const filter = { account: account.id, submitter: member.id };
    const page = { page: 1, page_size: 25, order: "desc" as const };
    expect((await listOwnFeedback(testTable(usage), filter, page)).total).toBe(1);
    return usage.readUnits;
  };
  const alone = await cost();
  for (let index = 0; index < 4; index++)
    await send(account, "POST", "", { category: "other", title: "Long", description: "x".repeat(9_000) });
  // The newest feedback of the account is read too, to see whether the lists are complete: 9 kB more at most.
  expect(await cost()).toBeLessThanOrEqual(alone + 3);
});

test("members with auth.manage see all feedback, strangers get 404, and an unknown status gets 422", async () => {
  const account = await newAccount();
  const { id } = await submitted(account, "First");
  const member = await newMember(account, { capability: "auth.manage" });
  expect((await send(account, "GET", "", undefined, member)).body.items).toMatchObject([{ id }]);
  expect((await send(account, "GET", "", undefined, (await newAccount()).owner)).status).toBe(404);
  expect((await send(account, "GET", "?status=closed")).body.detail[0].loc).toEqual(["query", "status"]);
});
