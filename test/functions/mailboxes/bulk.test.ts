import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test, vi } from "vitest";

import type { Mailbox } from "../../../shared/mail/mailboxes/mailbox.ts";
import { withStep } from "../../support/between-calls.ts";
import { runFor } from "../../support/code-context.ts";
import { setStored, storedAs } from "../../support/domain-work.ts";
import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { at, home, listed, person, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

type Bulk = {
  created: { index: number; mailbox: Mailbox }[];
  failed: { index: number; code: string; message: string }[];
};

const bulk = (account: Account, domain: string, items: unknown, options = {}) =>
  send(account, "POST", "mailboxes/bulk", { domain, items }, options);

const people = (count: number, label = "p") => Array.from({ length: count }, (_, index) => person(`${label}${index}`));

const createdIn = ({ created }: Bulk) => created.map(({ index, mailbox }) => [index, mailbox.local_part]);
const failedIn = ({ failed }: Bulk) => failed.map(({ index, code }) => [index, code]);

/** Lets each call of `performance.now` move the clock on by `stepMs` milliseconds. `stop` restores the real clock. */
function ticking(stepMs: number): { stop: () => void } {
  let atMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (atMs += stepMs));
  onTestFinished(() => clock.mockRestore());
  return { stop: () => clock.mockRestore() };
}

test("creates 100 mailboxes in the order of the request, in at most five transactions", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const items = people(100);
  // The clock stands still, so a busy machine cannot use up the time of the request.
  const clock = ticking(0);
  const { value: answer, calls } = await withFault(undefined, -1, () => bulk(account, name, items));
  clock.stop();
  expect(answer.status).toBe(200);
  const { created, failed } = answer.body as Bulk;
  expect(failed).toEqual([]);
  expect(created.map(({ index }) => index)).toEqual(items.map((_, index) => index));
  expect(calls.filter((command) => command === "TransactWriteItems").length).toBeLessThanOrEqual(5);
  const pages = [
    await listed(account, { page_size: "100" }),
    await listed(account, { page_size: "100", domain: name }),
  ];
  for (const page of pages) {
    expect(page.total).toBe(100);
    expect(page.items).toEqual(created.map(({ mailbox }) => mailbox));
  }
  expect((await storedAs(account, name)).mailbox_count).toBe(100);
  const types = (await recorded(account)).map(({ type }) => type);
  expect(types.slice(0, 100)).toEqual(Array(100).fill("mailbox.created"));
});

test("gives the index and the reason of each mailbox that it does not create, and creates the others", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  await send(account, "POST", at(ada, "/aliases"), { alias: "sales" });
  const items = [
    person("bob"),
    person("Ada"),
    person("not right"),
    person("BOB "),
    person("sales"),
    person("carl", { first_name: "" }),
    person("dora", { last_name: "a\nb" }),
    person("carl"),
    person("carl"),
    person("-"),
    person("-"),
  ];
  const { status, body } = await bulk(account, name, items);
  expect(status).toBe(200);
  expect(createdIn(body)).toEqual([
    [0, "bob"],
    [7, "carl"],
  ]);
  expect(body.failed).toEqual([
    {
      index: 1,
      code: "address_taken",
      message: `ada@${name} is an address of a mailbox already. Choose another address.`,
    },
    {
      index: 2,
      code: "invalid_local_part",
      message: "Only letters, digits, dots, hyphens and underscores are allowed",
    },
    { index: 3, code: "duplicate_in_request", message: "An earlier item of this request has the same address." },
    {
      index: 4,
      code: "address_taken",
      message: `sales@${name} is an address of a mailbox already. Choose another address.`,
    },
    { index: 5, code: "invalid_name", message: "first_name: Write at least 1 character" },
    { index: 6, code: "invalid_name", message: expect.stringContaining("invisible character") },
    { index: 8, code: "duplicate_in_request", message: "An earlier item of this request has the same address." },
    { index: 9, code: "invalid_local_part", message: "A local part must begin and end with a letter or a digit" },
    { index: 10, code: "invalid_local_part", message: "A local part must begin and end with a letter or a digit" },
  ]);
  expect((await listed(account)).total).toBe(3);
});

test("accepts a single item, and returns 200 even if every item fails", async () => {
  const account = await newAccount();
  const { name, id } = await home(account, { status: "pending_delegation" });
  expect(createdIn((await bulk(account, id, people(1))).body)).toEqual([[0, "p0"]]);
  const before = await storedOf(account);
  const { value, calls } = await withFault(undefined, -1, () => bulk(account, name, people(1)));
  expect([value.status, value.body]).toEqual([200, { created: [], failed: [expect.objectContaining({ index: 0 })] }]);
  expect(calls.filter((command) => command.startsWith("Transact"))).toEqual([]);
  expect(await storedOf(account)).toEqual(before);
});

test("finds 100 taken addresses with fewer than 20 table calls", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, people(100));
  const { value, calls } = await withFault(undefined, -1, () => bulk(account, name, people(100)));
  expect(failedIn(value.body)).toEqual(people(100).map((_, index) => [index, "address_taken"]));
  expect(calls.length).toBeLessThan(20);
});

test.each([
  ["an empty list", [], ["body", "items"]],
  ["101 items", people(101), ["body", "items"]],
  ["a text instead of a list", "ada", ["body", "items"]],
  ["a password", [{ ...person("ada"), password: "correct horse" }], ["body", "items", 0, "password"]],
  ["no last name", [{ local_part: "ada", first_name: "Ada" }], ["body", "items", 0, "last_name"]],
])("refuses %s at its place, and creates nothing", async (_, items, loc) => {
  const account = await newAccount();
  const { name } = await home(account);
  const { status, body } = await bulk(account, name, items);
  expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc })]]);
  expect((await listed(account)).total).toBe(0);
});

test("refuses another account's domain, a domain without mailbox.create, and a domain that takes no mailboxes", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [own, foreign, releasing] = [await home(account), await home(other), await home(account)];
  await setStored(account, releasing.name, { status: "releasing", is_open: false });
  const viewer = await newMember(account, { role: "viewer" });
  expect((await bulk(account, foreign.name, people(1))).body.detail).toMatchObject([{ loc: ["body", "domain"] }]);
  expect((await bulk(account, own.name, people(1), { as: viewer })).body.code).toBe("forbidden");
  expect((await bulk(account, releasing.name, people(1))).body.code).toBe("domain_not_ready");
  expect([(await listed(account)).total, (await listed(other)).total]).toEqual([0, 0]);
});

test("requests at the same time create each address once, also the addresses that several of them want", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const wanted = ["a", "b", "c"].map((label) => [...people(3, label), ...people(3, "shared")]);
  const answers = await Promise.all(wanted.map((items) => bulk(account, name, items)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const bodies = answers.map(({ body }) => body as Bulk);
  const created = bodies.flatMap((body) => body.created.map(({ mailbox }) => mailbox.local_part));
  expect(created.toSorted()).toEqual([...new Set(wanted.flat().map(({ local_part }) => local_part))].toSorted());
  expect(bodies.flatMap(failedIn).map(([, code]) => code)).toEqual(Array(6).fill("address_taken"));
  for (const { created: own, failed } of bodies) expect(own.length + failed.length).toBe(6);
  expect((await listed(account)).total).toBe(12);
});

test("if a request with an idempotency key is cut off, its repeat creates the rest and lists every created mailbox", async () => {
  const items = people(26);
  const scene = async () => {
    const account = await newAccount();
    const { name } = await home(account);
    await stocked(account, name, ["p3"]);
    const headers = { "idempotency-key": randomUUID() };
    return { account, name, sent: () => bulk(account, name, items, { headers }) };
  };
  const { account, name, sent } = await scene();
  const { value: died } = await withFault("answer lost", { transaction: 1 }, sent);
  expect(died.status).toBe(503);
  // p3 was there before. The first transaction made 23 mailboxes, and the second one made the other two.
  expect((await listed(account)).total).toBe(1 + 23 + 2);
  // The repeat also lists the mailboxes of a domain that was closed since.
  await setStored(account, name, { is_open: false });
  const again = await sent();
  expect(failedIn(again.body)).toEqual([[3, "address_taken"]]);
  expect(createdIn(again.body)).toEqual(
    items.flatMap(({ local_part }, index) => (index === 3 ? [] : [[index, local_part]])),
  );
  const replayed = await sent();
  expect([replayed.headers["idempotency-replayed"], replayed.body]).toEqual(["true", again.body]);
  expect((await listed(account)).total).toBe(26);
});

test("when the time of the request is over, the answer has the created mailboxes, and not_attempted for the others", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const items = [...people(60), person("p0")];
  const clock = ticking(60_000);
  const headers = { "idempotency-key": randomUUID() };
  const { status, body } = await bulk(account, name, items, { headers });
  const places = items.map((_, index) => index);
  expect(status).toBe(200);
  expect(createdIn(body)).toEqual(places.slice(0, 23).map((index) => [index, `p${index}`]));
  expect(failedIn(body)).toEqual([
    ...places.slice(23, 60).map((index) => [index, "not_attempted"]),
    [60, "duplicate_in_request"],
  ]);
  expect((await listed(account)).total).toBe(23);
  clock.stop();
  expect((await bulk(account, name, items, { headers })).body).toEqual(body);
  const rest = await bulk(account, name, items.slice(23, 60), { headers: { "idempotency-key": randomUUID() } });
  expect([rest.body.created.length, rest.body.failed]).toEqual([37, []]);
});

test("if the domain is closed half-way, the answer has the created mailboxes, and not_attempted with the reason for the others", async () => {
  const items = people(26);
  const outcomes = [];
  for (let [place, last] = [0, 1]; place < last; place++) {
    const account = await newAccount();
    const { name } = await home(account);
    const sent = () => bulk(account, name, items, { headers: { "idempotency-key": `bulk-${name}` } });
    const { value, calls } = await withStep(place, () => setStored(account, name, { is_open: false }), sent);
    last = calls;
    const { total } = await listed(account);
    outcomes.push([value.status, total]);
    if (value.status !== 200 || total === 26) continue;
    expect(createdIn(value.body)).toEqual(items.slice(0, 23).map(({ local_part }, index) => [index, local_part]));
    expect(failedIn(value.body)).toEqual([23, 24, 25].map((index) => [index, "not_attempted"]));
    for (const { message } of (value.body as Bulk).failed) expect(message).toContain(`The domain ${name} is`);
    expect((await bulk(account, name, items.slice(23))).body.code).toBe("domain_not_ready");
  }
  expect(outcomes).toContainEqual([200, 23]);
  expect(outcomes).not.toContainEqual([409, 23]);
});

test("without an idempotency key, a repeat of an interrupted request returns address_taken for created mailboxes, and creates the rest", async () => {
  const items = people(26);
  const scene = async () => {
    const account = await newAccount();
    const { name } = await home(account);
    return { account, sent: () => bulk(account, name, items) };
  };
  const { calls } = await withFault(undefined, -1, (await scene()).sent);
  const [, second = -1] = calls.flatMap((command, place) => (command.startsWith("Transact") ? [place] : []));
  const { account, sent } = await scene();
  expect((await withFault("death", second, sent)).value.status).toBe(503);
  expect((await listed(account)).total).toBe(23);
  const again = await sent();
  expect(failedIn(again.body)).toEqual(items.slice(0, 23).map((_, index) => [index, "address_taken"]));
  expect(createdIn(again.body)).toEqual(items.slice(23).map(({ local_part }, place) => [23 + place, local_part]));
});

test("in a program, the call has only the time that the program has left", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  // Each reading of the clock is four seconds later.
  let elapsedMs = 0;
  const now = () => new Date(Date.now() + (elapsedMs += 4_000));
  const items = JSON.stringify(people(60));
  const code = `mailboxes.bulk(account_id="${account.id}", domain="${name}", items=${items})`;
  const { result } = await runFor(account.owner, code, { now });
  const answer = result.last_value as Bulk;
  expect(answer.created.length).toBeGreaterThan(0);
  expect(answer.created.length).toBeLessThan(60);
  expect(answer.failed.map(({ code }) => code)).toEqual(Array(60 - answer.created.length).fill("not_attempted"));
});
