import { afterEach, expect, test } from "vitest";

import { setClockAhead } from "../../../shared/core/time.ts";
import { appPasswordsKey } from "../../../shared/mail/app-passwords/app-password.ts";
import { masterKey } from "../../../shared/mail/credentials/credential.ts";
import { lastLogins } from "../../../shared/mail/servers/login-limits.ts";
import type { Key } from "../../../shared/table/writes.ts";
import { afterReading } from "../../support/between.ts";
import { withFault } from "../../support/faults.ts";
import { hashesDuring, logsIn } from "../../support/mail-routes.ts";
import { at, home, send, setPassword, stocked } from "../../support/mailboxes.ts";
import { statusesOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { countTrips } from "../../support/trips.ts";
import { testTable } from "../../support/world.ts";

afterEach(() => setClockAhead(0));

const password = "correct horse battery";
const hourMs = 3_600_000;
const inAnHour = () => new Date(Date.now() + hourMs).toISOString();

async function scene() {
  const account = await newRoomyAccount();
  const domain = await home(account);
  const [id = "", other = ""] = await stocked(account, domain.name, ["ada", "bob"]);
  for (const one of [id, other]) await setPassword(account, one, password);
  const add = async (protocols: string[], more = {}) =>
    (await send(account, "POST", at(id, "/app-passwords"), { name: "Phone", protocols, ...more })).body;
  const list = async () => (await send(account, "GET", at(id, "/app-passwords"))).body.items;
  const master = async (given: object) =>
    (await send(account, "POST", "credentials", { name: "Relay", ...given })).body;
  return { account, domain, id, email: `ada@${domain.name}`, otherEmail: `bob@${domain.name}`, add, list, master };
}

const protocols = ["imap", "pop3", "smtp"];
const byEach = async (user: string, secret: string): Promise<boolean[]> => {
  const answers = [];
  for (const protocol of protocols) answers.push(await logsIn(user, secret, protocol));
  return answers;
};

/** Whether a login is accepted, and its cost: the number of hashes, and the table calls except charges of limits. */
async function costOf(user: string, secret: string, protocol: string) {
  let isIn = false;
  let calls: string[] = [];
  const hashes = await hashesDuring(async () => {
    ({ value: isIn, calls } = await withFault(undefined, -1, () => logsIn(user, secret, protocol)));
  });
  return { isIn, hashes, calls: calls.filter((call) => call !== "UpdateItem").toSorted() };
}

test("an app password logs in only to its own mailbox and only over its protocols, and the mailbox's password still works", async () => {
  const { account, id, email, otherEmail, add } = await scene();
  await send(account, "POST", at(id, "/aliases"), { alias: "countess" });
  const [reads, sends, all] = [await add(["imap"]), await add(["smtp"]), await add(["pop", "imap", "smtp"])];
  expect(await byEach(email, reads.generated_secret)).toEqual([true, false, false]);
  expect(await byEach(email, sends.generated_secret)).toEqual([false, false, true]);
  expect(await byEach(email, all.generated_secret)).toEqual([true, true, true]);
  expect(await byEach(email, password)).toEqual([true, true, true]);
  expect(await byEach(email.replace("ada", "countess"), all.generated_secret)).toEqual([true, true, true]);
  expect(await byEach(otherEmail, all.generated_secret)).toEqual([false, false, false]);
});

test("an app password is invalid after its expiry or deletion, and stays valid after a rotation of the mailbox's password", async () => {
  const { account, id, email, add } = await scene();
  const [short, long] = [await add(["imap"], { expires_at: inAnHour() }), await add(["imap"])];
  const both = async () => [
    await logsIn(email, short.generated_secret, "imap"),
    await logsIn(email, long.generated_secret, "imap"),
  ];
  expect(await both()).toEqual([true, true]);
  setClockAhead(hourMs + 1_000);
  expect(await both()).toEqual([false, true]);
  await send(account, "POST", at(id, "/rotate-password"));
  expect(await both()).toEqual([false, true]);
  await send(account, "DELETE", at(id, `/app-passwords/${long.id}`));
  expect(await both()).toEqual([false, false]);
});

test("an app password does not work while its mailbox is paused or deleted, and works again after that", async () => {
  const { account, id, email, add, list } = await scene();
  const { generated_secret } = await add(["imap"]);
  const before = await list();
  await send(account, "PATCH", at(id, "/active"), { active: false });
  expect(await logsIn(email, generated_secret, "imap")).toBe(false);
  await send(account, "PATCH", at(id, "/active"), { active: true });
  await send(account, "DELETE", at(id));
  expect(await logsIn(email, generated_secret, "imap")).toBe(false);
  const again = await send(account, "POST", "mailboxes", {
    domain: email.slice(4),
    local_part: "ada",
    first_name: "Another",
    last_name: "Ada",
  });
  expect(await logsIn(email, generated_secret, "imap")).toBe(false);
  await send(account, "DELETE", at(again.body.id));
  expect((await send(account, "POST", at(id, "/restore"))).status).toBe(200);
  expect(await list()).toEqual(before);
  expect(await logsIn(email, generated_secret, "imap")).toBe(true);
});

test("a login records the last use of an app password at most every five minutes, and a deletion removes the record", async () => {
  const { account, id, email, add, list } = await scene();
  const [one, two] = [await add(["imap"]), await add(["imap"])];
  const uses = async () => (await list()).map((item: { last_used_at: string | null }) => item.last_used_at);
  await logsIn(email, one.generated_secret, "imap");
  const [first] = await uses();
  expect([first, ...(await uses())]).toEqual([expect.stringMatching(/Z$/), first, null]);
  setClockAhead(60_000);
  await logsIn(email, one.generated_secret, "imap");
  expect(await uses()).toEqual([first, null]);
  setClockAhead(301_000);
  await logsIn(email, one.generated_secret, "imap");
  await logsIn(email, two.generated_secret, "imap");
  const [later, other] = await uses();
  expect([later > first, other > first]).toEqual([true, true]);
  await send(account, "DELETE", at(id, `/app-passwords/${one.id}`));
  const [item] = await testTable().getMany([appPasswordsKey(account.id, id)]);
  expect(Object.keys(item ?? {}).filter((name) => name.startsWith("used_"))).toEqual([`used_${two.id}`]);
  expect(await uses()).toEqual([other]);
});

test.each(["imap", "smtp"])(
  "over %s, a login to a mailbox with app passwords makes the same table calls as to a mailbox without them",
  async (protocol) => {
    const { email, otherEmail, add } = await scene();
    const { generated_secret: wrongProtocol } = await add([protocol === "imap" ? "smtp" : "imap"]);
    const { generated_secret: expired } = await add([protocol], { expires_at: inAnHour() });
    const { generated_secret: right } = await add([protocol]);
    await logsIn(email, right, protocol);
    await logsIn(email, "wrong", protocol);
    setClockAhead(hourMs + 1_000);
    const without = await costOf(otherEmail, "wrong", protocol);
    expect(without).toMatchObject({ isIn: false, hashes: 1 });
    for (const secret of ["wrong", wrongProtocol, expired, right.toLowerCase()]) {
      expect(await costOf(email, secret, protocol)).toEqual(without);
    }
    setClockAhead(0);
    expect(await costOf(email, right, protocol)).toEqual({
      ...(await costOf(otherEmail, password, protocol)),
      hashes: 0,
    });
    const ways = [email, otherEmail].map((user) => countTrips(() => logsIn(user, "wrong", protocol)));
    const [mine, others] = await Promise.all(ways);
    expect(mine?.trips).toBe(others?.trips);
  },
);

test("a login is accepted even if the use of its app password cannot be recorded", async () => {
  const { account, id, email, add, list } = await scene();
  const [{ generated_secret }, other] = [await add(["imap"]), await add(["imap"])];
  const logIn = () => logsIn(email, generated_secret, "imap");
  const isRead = ({ SK }: Key) => SK === appPasswordsKey(account.id, id).SK;
  const change = () => send(account, "DELETE", at(id, `/app-passwords/${other.id}`));
  expect(await afterReading(isRead, change, logIn)).toBe(true);
  expect(await list()).toMatchObject([{ last_used_at: null }]);
  // Each login comes so late that its use is recorded again. Only the fault at this record leaves an accepted login
  // without a record.
  let [accepted, noted] = [0, 0];
  for (let place = 0; place < 12; place++) {
    setClockAhead(place * 400_000);
    const before = JSON.stringify(await list());
    accepted += Number((await withFault("throttled", place, logIn)).value);
    noted += Number(JSON.stringify(await list()) !== before);
  }
  expect(accepted - noted).toBe(1);
});

test("an inactive or expired master password is refused like a wrong one", async () => {
  const { account, email, master } = await scene();
  const [made, chosen] = [
    await master({ generate: true, expires_at: inAnHour() }),
    await master({ value: "quite another horse" }),
  ];
  const change = (id: string, body: object) => send(account, "PATCH", `credentials/${id}`, body);
  const both = async () => [await logsIn(email, made.generated_secret), await logsIn(email, "quite another horse")];
  expect(await both()).toEqual([true, true]);
  const wrong = await costOf(email, "wrong", "smtp");
  for (const { id } of [made, chosen]) expect((await change(id, { active: false })).body.active).toBe(false);
  expect(await both()).toEqual([false, false]);
  for (const secret of [made.generated_secret, "quite another horse"]) {
    expect(await costOf(email, secret, "smtp")).toEqual(wrong);
  }
  for (const { id } of [made, chosen]) await change(id, { active: true });
  expect(await both()).toEqual([true, true]);
  setClockAhead(hourMs + 1_000);
  expect(await both()).toEqual([false, true]);
  expect(await costOf(email, made.generated_secret, "smtp")).toEqual(wrong);
  await change(made.id, { expires_at: null });
  await change(chosen.id, { expires_at: new Date(Date.now() + 2 * hourMs).toISOString() });
  expect(await both()).toEqual([true, true]);
  setClockAhead(2 * hourMs + 1_000);
  expect(await both()).toEqual([true, false]);
});

test("of two master passwords with the same text, the valid one logs in", async () => {
  const { email, domain, master, account } = await scene();
  const value = "the same for both of them";
  const [wide, narrow] = [await master({ value }), await master({ value, domain: domain.name })];
  await send(account, "PATCH", `credentials/${wide.id}`, { active: false });
  expect(await logsIn(email, value)).toBe(true);
  await send(account, "PATCH", `credentials/${narrow.id}`, { active: false });
  expect(await logsIn(email, value)).toBe(false);
});

test("a master password that an earlier version stored is active and does not expire", async () => {
  const { account, email, master } = await scene();
  const { id, generated_secret } = await master({ generate: true });
  const key = masterKey(account.id, { type: "account", id: account.id }, id);
  await testTable().attempt({ update: key, remove: ["active", "expires_at"] });
  expect(await logsIn(email, generated_secret)).toBe(true);
  expect(statusesOf([await send(account, "PATCH", `credentials/${id}`, { active: false })])).toEqual([200]);
  expect(await logsIn(email, generated_secret)).toBe(false);
});

test("the mailbox's password and an app password make a network known, a master password does not", async () => {
  const { email, otherEmail, add, master } = await scene();
  const { generated_secret } = await master({ generate: true });
  const app = await add(["smtp"]);
  const known = async (user: string) => (await lastLogins(testTable(), user, new Date())).length;
  expect([await logsIn(email, generated_secret), await known(email)]).toEqual([true, 0]);
  expect([await logsIn(email, app.generated_secret), await known(email)]).toEqual([true, 1]);
  expect([await logsIn(otherEmail, password), await known(otherEmail)]).toEqual([true, 1]);
});
