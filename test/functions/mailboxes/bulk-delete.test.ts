import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test, vi } from "vitest";

import { loseRole } from "../../support/auth.ts";
import { withStep } from "../../support/between-calls.ts";
import { runFor } from "../../support/code-context.ts";
import { storedAs } from "../../support/domain-work.ts";
import { domainsRequest } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { added, at, home, listed, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

type Outcome = {
  deleted: { index: number; mailbox_id: string }[];
  failed: { index: number; code: string; message: string }[];
};

const bulkDelete = (account: Account, mailboxes: unknown, options = {}) =>
  send(account, "POST", "mailboxes/bulk-delete", { mailboxes }, options);

const locals = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`);
const deletedIn = ({ deleted }: Outcome) => deleted.map(({ mailbox_id }) => mailbox_id);
const failedIn = ({ failed }: Outcome) => failed.map(({ index, code }) => [index, code]);

async function scene(count: number) {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const ids = await stocked(account, name, locals(count));
  const member = (id: string) => newMember(account, { role: "viewer", scope: { type: "mailbox", id } });
  return { account, name, ids, member };
}

/**
 * The sort keys of all stored items that mention the mailboxes. The journal, the progress of a request, grants, and
 * the items for a restore are left out.
 */
const leftOf = async (account: Account, ids: readonly string[]): Promise<string[]> =>
  (await storedOf(account))
    .filter((item) => !/^(?:JOURNAL|BULK_DELETE|ACCESS|ASSIGNMENT|SCOPED|DELETED_|LIST#deleted_)/.test(item.SK))
    .filter((item) => ids.some((id) => JSON.stringify(item).includes(id)))
    .map(({ SK }) => SK);

test("two calls delete 200 mailboxes, each in at most 12 transactions, and then the domain can be deleted", async () => {
  const { account, name, ids } = await scene(200);
  for (const some of [ids.slice(0, 100), ids.slice(100)]) {
    const { value, calls } = await withFault(undefined, -1, () => bulkDelete(account, some));
    expect([value.status, value.body.failed]).toEqual([200, []]);
    expect(value.body.deleted).toEqual(some.map((mailbox_id, index) => ({ index, mailbox_id })));
    expect(calls.filter((command) => command === "TransactWriteItems").length).toBeLessThanOrEqual(12);
  }
  expect(await listed(account)).toMatchObject({ items: [], total: 0 });
  expect((await storedAs(account, name)).mailbox_count).toBe(0);
  expect(await leftOf(account, ids)).toEqual([]);
  const types = (await recorded(account)).map(({ type }) => type);
  expect(types.filter((type) => type === "mailbox.deleted").length).toBeGreaterThanOrEqual(100);
  expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
});

test("deletes mailboxes of several domains by id and by any spelling of the address, also mailboxes with aliases and grants", async () => {
  const { account, name, ids, member } = await scene(4);
  const other = await home(account);
  const [far = ""] = await stocked(account, other.name, ["far"]);
  const [first = "", second = ""] = ids;
  for (let index = 0; index < 30; index++) await send(account, "POST", at(first, "/aliases"), { alias: `a${index}` });
  for (let index = 0; index < 12; index++) await member(second);
  const { body } = await bulkDelete(account, [first, second.toUpperCase(), ` P2@${name.toUpperCase()} `, far]);
  expect(body).toEqual({
    deleted: [first, second, ids[2], far].map((mailbox_id, index) => ({ index, mailbox_id })),
    failed: [],
  });
  expect(await leftOf(account, [...ids.slice(0, 3), far])).toEqual([]);
  expect((await listed(account)).items).toMatchObject([{ id: ids[3] }]);
  expect((await storedAs(account, name)).mailbox_count).toBe(1);
});

test("gives the index and the reason of each mailbox that it does not delete, and deletes the others", async () => {
  const { account, name, ids } = await scene(3);
  const stranger = await scene(1);
  const [first = "", second = "", third = ""] = ids;
  await send(account, "POST", at(third, "/aliases"), { alias: "sales" });
  const refs = [
    first,
    `p0@${name}`,
    `sales@${name}`,
    `nobody@${name}`,
    stranger.ids[0],
    `p0@${stranger.name}`,
    randomUUID(),
    "neither",
    "",
    "\ud800@example.com",
    second,
  ];
  const { status, body } = await bulkDelete(account, refs);
  expect(status).toBe(200);
  expect(body.deleted).toEqual([
    { index: 0, mailbox_id: first },
    { index: 10, mailbox_id: second },
  ]);
  expect(failedIn(body)).toEqual([
    [1, "duplicate_in_request"],
    ...[2, 3, 4, 5, 6, 7, 8, 9].map((at) => [at, "not_found"]),
  ]);
  expect((await listed(account)).items).toMatchObject([{ id: third }]);
  expect((await listed(stranger.account)).total).toBe(1);
});

test("needs mailbox.delete on each mailbox, and gives not_found for a mailbox that the caller cannot see", async () => {
  const { account, ids } = await scene(3);
  const [own = "", seen = "", hidden = ""] = ids;
  const on = (id: string) => ({ type: "mailbox" as const, id });
  const someone = await newMember(
    account,
    { role: "viewer", scope: on(own) },
    { capability: "mailbox.delete", scope: on(own) },
    { role: "viewer", scope: on(seen) },
  );
  const { body } = await bulkDelete(account, ids, { as: someone });
  expect(body.deleted).toEqual([{ index: 0, mailbox_id: own }]);
  expect(failedIn(body)).toEqual([
    [1, "forbidden"],
    [2, "not_found"],
  ]);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await bulkDelete(account, [seen], { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.delete",
  });
  expect((await listed(account)).items).toMatchObject([{ id: seen }, { id: hidden }]);
});

test.each([
  ["an empty list", []],
  ["101 mailboxes", locals(101)],
  ["a text instead of a list", "ada"],
])("refuses %s, and deletes nothing", async (_, mailboxes) => {
  const { account } = await scene(1);
  const { status, body } = await bulkDelete(account, mailboxes);
  expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc: ["body", "mailboxes"] })]]);
  expect((await listed(account)).total).toBe(1);
});

test("if the domain moves to a workspace outside the caller's grants during the request, no mailbox is deleted", async () => {
  const run = async (place: number) => {
    const { account, name, ids } = await scene(3);
    const { workspace_id: id } = await storedAs(account, name);
    const grants = (["mailbox.view", "mailbox.delete"] as const).map((capability) => {
      return { capability, scope: { type: "workspace" as const, id } };
    });
    const caller = await newMember(account, ...grants);
    const other = await send(account, "POST", "workspaces", { name: "Other" });
    let isMoved = false;
    const move = async () => {
      const moved = await domainsRequest(account, "POST", `/${name}/move`, { workspace_id: other.body.id });
      expect(moved.status).toBe(200);
      isMoved = true;
    };
    const { value } = await withStep(place, move, () => bulkDelete(account, ids, { as: caller }));
    const left = (await listed(account)).total;
    return { isMoved, deleted: (value.body as Outcome).deleted?.length ?? 0, left };
  };
  const runs = [];
  for (let place = 2; place < 7; place++) runs.push(await run(place));
  const moved = runs.filter(({ isMoved }) => isMoved);
  expect(moved.length).toBeGreaterThan(3);
  expect(moved.map(({ deleted, left }) => [deleted, left])).toEqual(moved.map(() => [0, 3]));
});

test("a repeat is refused if the caller may not delete mailboxes there any more", async () => {
  const account = await newRoomyAccount();
  const [one, other] = [await home(account), await home(account)];
  const [id] = await stocked(account, one.name, locals(1));
  const on = ({ id: domainId }: { id: string }) => ({ type: "domain" as const, id: domainId });
  const as = await newMember(
    account,
    { role: "domain_manager", scope: on(one) },
    { role: "domain_manager", scope: on(other) },
  );
  const repeat = () => bulkDelete(account, [id], { as, headers: { "idempotency-key": "k" } });
  const [first, second] = [await repeat(), await repeat()];
  expect([first.status, second.status, second.headers["idempotency-replayed"]]).toEqual([200, 200, "true"]);
  expect(deletedIn(second.body)).toEqual([id]);
  await loseRole(account, as, one.id);
  expect((await repeat()).body).toMatchObject({ status: 403, required_capability: "mailbox.delete" });
});

test("requests at the same time delete each mailbox once", async () => {
  const { account, name, ids } = await scene(24);
  const answers = await Promise.all([ids, ids.toReversed(), ids.slice(12)].map((some) => bulkDelete(account, some)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.flatMap(({ body }) => deletedIn(body)).toSorted()).toEqual(ids.toSorted());
  for (const { body } of answers) for (const { code } of (body as Outcome).failed) expect(code).toBe("not_found");
  expect((await storedAs(account, name)).mailbox_count).toBe(0);
});

test("if a request with an idempotency key is cut off after its first write, its repeat deletes the rest and lists every deleted mailbox", async () => {
  const furnished = async () => {
    const { account, name, ids } = await scene(18);
    const headers = { "idempotency-key": randomUUID() };
    const refs = ids.map((id, index) => (index === 0 ? `p0@${name}` : id));
    return { account, name, ids, sent: () => bulkDelete(account, refs, { headers }) };
  };
  const { calls } = await withFault(undefined, -1, (await furnished()).sent);
  const places = calls.flatMap((command, place) => (/^(?:Transact|Put|Update)/.test(command) ? [place] : []));
  expect(places.length).toBeGreaterThan(4);
  for (const fault of ["lost before", "answer lost"] as const) {
    for (const place of places.slice(1)) {
      const { account, name, ids, sent } = await furnished();
      const { value: died } = await withFault(fault, place, sent);
      // If the first mailbox is already deleted, a new mailbox takes its address.
      const again = (await listed(account)).items.some(({ id }) => id === ids[0])
        ? undefined
        : await added(account, name, "p0");
      const answer = died.status === 200 ? died : await sent();
      const where = `${fault} at call ${place}`;
      expect(answer.body, where).toEqual({
        deleted: ids.map((mailbox_id, index) => ({ index, mailbox_id })),
        failed: [],
      });
      const rest = (await listed(account)).items.map(({ id }) => id);
      expect(rest, where).toEqual(again ? [again.id] : []);
      expect((await storedAs(account, name)).mailbox_count, where).toBe(rest.length);
      const replayed = await sent();
      expect([replayed.headers["idempotency-replayed"], replayed.body]).toEqual(["true", answer.body]);
    }
  }
});

test("after an interruption, a repeat does not delete a new mailbox with the address of a deleted one that is listed twice", async () => {
  const furnished = async () => {
    const { account, name, ids } = await scene(18);
    const headers = { "idempotency-key": randomUUID() };
    const refs = [...ids, `p0@${name}`, `P0@${name.toUpperCase()}`, ids[0]];
    return { account, name, ids, sent: () => bulkDelete(account, refs, { headers }) };
  };
  const { calls } = await withFault(undefined, -1, (await furnished()).sent);
  const [, second = -1] = calls.flatMap((command, place) => (command.startsWith("Transact") ? [place] : []));
  const { account, name, ids, sent } = await furnished();
  expect((await withFault("lost before", second, sent)).value.status).toBe(503);
  const { id } = await added(account, name, "p0");
  const { body } = await sent();
  expect(deletedIn(body)).toEqual(ids);
  expect(failedIn(body)).toEqual([18, 19, 20].map((index) => [index, "duplicate_in_request"]));
  expect((await listed(account)).items).toMatchObject([{ id }]);
});

test("without an idempotency key, a repeat of an interrupted request returns not_found for deleted mailboxes, and deletes the rest", async () => {
  const sceneOf = async () => {
    const { account, ids } = await scene(18);
    return { account, ids, sent: () => bulkDelete(account, ids) };
  };
  const { calls } = await withFault(undefined, -1, (await sceneOf()).sent);
  const [, second = -1] = calls.flatMap((command, place) => (command.startsWith("Transact") ? [place] : []));
  const { account, ids, sent } = await sceneOf();
  expect((await withFault("death", second, sent)).value.status).toBe(503);
  const gone = ids.slice(0, 18 - (await listed(account)).total);
  expect(gone.length).toBeGreaterThan(0);
  const again = await sent();
  expect(failedIn(again.body)).toEqual(gone.map((_, index) => [index, "not_found"]));
  expect(deletedIn(again.body)).toEqual(ids.slice(gone.length));
});

test("when the time of the request is over, the answer has the deleted mailboxes, and not_attempted for the others", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const ids = await stocked(account, name, locals(40));
  // Each reading of the clock is a minute later. So the time of the request is over when the request first checks it.
  let atMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (atMs += 60_000));
  onTestFinished(() => clock.mockRestore());
  const { status, body } = await bulkDelete(account, ids);
  expect(status).toBe(200);
  expect(body.deleted.length).toBeGreaterThan(0);
  const left = ids.slice(body.deleted.length);
  expect(failedIn(body)).toEqual(left.map((_, index) => [body.deleted.length + index, "not_attempted"]));
  expect((await listed(account)).total).toBe(left.length);
  clock.mockRestore();
  expect(deletedIn((await bulkDelete(account, left)).body)).toEqual(left);
});

test("in a program, the call has only the time that the program has left", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const ids = await stocked(account, name, locals(40));
  // Each reading of the clock is four seconds later.
  let elapsedMs = 0;
  const now = () => new Date(Date.now() + (elapsedMs += 4_000));
  const code = `mailboxes.bulk_delete(account_id="${account.id}", mailboxes=${JSON.stringify(ids)})`;
  const { result } = await runFor(account.owner, code, { now });
  const { deleted, failed } = result.last_value as Outcome;
  expect(deleted.length).toBeGreaterThan(0);
  expect(failed.map(({ code }) => code)).toEqual(Array(40 - deleted.length).fill("not_attempted"));
  expect((await listed(account)).total).toBe(failed.length);
  expect(failed).not.toEqual([]);
});
