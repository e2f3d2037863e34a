import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { feedbackCommands } from "../../../infra/operator/feedback-commands.ts";
import { idWithOrdinal } from "../../../shared/core/ids.ts";
import { FeedbackStatus, type Feedback } from "../../../shared/feedback/feedback.ts";
import { setFeedbackStatus } from "../../../shared/feedback/operate.ts";
import { newTable } from "../../support/changes.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";
import { operator } from "./command-line.ts";

type Listed = { feedback: { id: string; status: string; title: string }[]; total: number; page: number };

const run = async <T>(name: string, options: Record<string, string>): Promise<T> =>
  (await feedbackCommands[`feedback ${name}`]?.run(testTable(), options, { open: () => testTable() })) as T;
const list = (options: Record<string, string>): Promise<Listed> => run("list", options);

async function submitted({ id, owner }: Account, title = "It is slow", more: object = {}): Promise<Feedback> {
  const body = { category: "other", title, description: "Very.", ...more };
  const answer = await request("POST", `/v1/public/accounts/${id}/feedback`, { token: owner.token, body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body as Feedback;
}

const set = (of: Pick<Feedback, "id" | "account_id">, status: string, notes?: string): Promise<Feedback> =>
  run("set-status", { id: of.id, status, ...(notes === undefined ? {} : { notes }) });

test("list shows the feedback of an account, newest first, in pages", async () => {
  const account = await newAccount();
  for (let index = 0; index < 3; index += 1) await submitted(account, `T${index}`);
  const { feedback, total } = await list({ account: account.id });
  expect([feedback.map(({ title }) => title), total]).toEqual([["T2", "T1", "T0"], 3]);
  expect(feedback[0]).toEqual({
    id: expect.any(String),
    account_id: account.id,
    created_at: expect.any(String),
    status: "new",
    category: "other",
    title: "T2",
    submitter_email: `${account.owner.id}@example.com`,
  });
  expect(await list({ account: account.id, page: "2" })).toMatchObject({ feedback: [], page: 2, total: 3 });
});

test("list shows the feedback of all accounts, or only the feedback in a status", async () => {
  const [one, other] = [await submitted(await newAccount()), await submitted(await newAccount())];
  await set(one, "planned");
  const idsIn = async (options: Record<string, string>): Promise<string[]> => {
    const ids: string[] = [];
    for (let page = 1; ; page += 1) {
      const { feedback, total } = await list({ ...options, page: String(page) });
      ids.push(...feedback.map(({ id }) => id));
      if (page * 25 >= total) return ids;
    }
  };
  const all = await idsIn({});
  expect([all.includes(one.id), all.includes(other.id)]).toEqual([true, true]);
  const planned = await idsIn({ status: "planned" });
  expect([planned.includes(one.id), planned.includes(other.id)]).toEqual([true, false]);
  const fresh = await idsIn({ status: "new" });
  expect([fresh.includes(one.id), fresh.includes(other.id)]).toEqual([false, true]);
});

test("show prints one feedback with all its members, by its id", async () => {
  const feedback = await submitted(await newAccount(), "Shown", { attributes: { a: [1] } });
  expect(await run("show", { id: feedback.id })).toEqual(feedback);
});

test("set-status changes the status and the notes, and the account gets an event", async () => {
  const account = await newAccount();
  const feedback = await submitted(account);
  const planned = await set(feedback, "planned", "In spring.\nPerhaps.");
  expect(planned).toEqual({
    ...feedback,
    status: "planned",
    admin_notes: "In spring.\nPerhaps.",
    updated_at: planned.updated_at,
  });
  expect(await set(feedback, "done")).toMatchObject({ status: "done", admin_notes: "In spring.\nPerhaps." });
  const last = await set(feedback, "done", "");
  expect(last).toMatchObject({ status: "done", admin_notes: null });
  expect(await run("show", { id: feedback.id })).toEqual(last);
  expect((await recorded(account)).slice(0, 3)).toMatchObject([
    { type: "feedback.updated", actor_type: "operator", before: { status: "done" }, after: { admin_notes: null } },
    { type: "feedback.updated", before: { status: "planned" }, after: { status: "done" } },
    { type: "feedback.updated", before: { status: "new" }, after: { status: "planned" } },
  ]);
});

test("set-status with the present status changes nothing and sends no event", async () => {
  const account = await newAccount();
  const feedback = await submitted(account);
  const before = await recorded(account);
  expect(await set(feedback, "new")).toEqual(feedback);
  expect(await recorded(account)).toEqual(before);
});

test("each feedback is only in the list of its present status, even after concurrent changes", async () => {
  const account = await newAccount();
  const all = [await submitted(account), await submitted(account), await submitted(account)];
  const statuses = FeedbackStatus.options;
  await Promise.all(all.flatMap((one) => statuses.map((status) => set(one, status))));
  const found = await Promise.all(statuses.map((status) => list({ account: account.id, status })));
  expect(found.reduce((sum, { total }) => sum + total, 0)).toBe(3);
  found.forEach(({ feedback }, index) => {
    for (const one of feedback) expect(one.status).toBe(statuses[index]);
  });
  expect(found.flatMap(({ feedback }) => feedback.map(({ id }) => id)).toSorted()).toEqual(
    all.map(({ id }) => id).toSorted(),
  );
});

test("show and set-status refuse an unknown id", async () => {
  const feedback = await submitted(await newAccount());
  const missing = { code: "not_found" };
  await expect(run("show", { id: randomUUID() })).rejects.toMatchObject(missing);
  for (const id of [idWithOrdinal(0), idWithOrdinal(7), randomUUID()]) {
    await expect(set({ ...feedback, id }, "done")).rejects.toMatchObject(missing);
  }
  expect(await run("show", { id: feedback.id })).toEqual(feedback);
});

test("list is empty for a table without feedback", async () => {
  const table = await newTable();
  const listed = await feedbackCommands["feedback list"]?.run(table, {}, { open: () => testTable() });
  expect(listed).toEqual({ feedback: [], page: 1, page_size: 25, total: 0 });
  const decision = { accountId: randomUUID(), id: randomUUID(), status: "done" as const };
  await expect(setFeedbackStatus(table, decision, new Date())).rejects.toMatchObject({ code: "not_found" });
});

test.each([
  ["list", "status", ["New", "", "open"], ["new", "declined"]],
  ["list", "page", ["0", "-1", "1.5", "", "x", "12345678"], ["1", "40"]],
  ["set-status", "status", ["", "closed"], FeedbackStatus.options],
  ["set-status", "notes", ["\u001b[31m", "x".repeat(10_001), "\u202e"], ["", "two\nlines", " trimmed "]],
])("%s --%s accepts right values and refuses wrong values", (name, option, wrong, right) => {
  const schema = feedbackCommands[`feedback ${name}`]?.options[option]?.schema;
  for (const value of wrong) expect([value, schema?.safeParse(value).success]).toEqual([value, false]);
  for (const value of right) expect([value, schema?.safeParse(value).success]).toEqual([value, true]);
});

test("show prints no control character except the line break", async () => {
  const attributes = { "a\u009b31m": "b\u001b[2J" };
  const feedback = await submitted(await newAccount(), "Shown", { description: "One\ntwo", attributes });
  const show = async (...more: string[]) => (await operator("feedback", "show", "--id", feedback.id, ...more)).out;
  const [json, text] = await Promise.all([show("--json"), show()]);
  expect(JSON.parse(json)).toEqual(feedback);
  expect(text).toContain("description  One\ntwo\n");
  expect(text).toContain('attributes   {"a\\u009b31m":"b\\u001b[2J"}');
  for (const out of [json, text]) expect(out).toMatch(/^[^\p{Cc}]*(?:\n[^\p{Cc}]*)*$/u);
});
