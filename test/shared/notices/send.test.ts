import { expect, test } from "vitest";

import { accountKey } from "../../../shared/accounts/account.ts";
import { accessKey } from "../../../shared/accounts/standing.ts";
import { dayMs } from "../../../shared/core/time.ts";
import { sendNotice } from "../../../shared/notices/send.ts";
import { noticeSettingsKey } from "../../../shared/notices/settings.ts";
import { type Letter, type Mail, MailRefused } from "../../../shared/providers/mail/mail.ts";
import type { Table } from "../../../shared/table/table.ts";
import { write } from "../../support/domain-work.ts";
import { stranger } from "../../support/forwarding.ts";
import {
  accountWithAddress,
  eventFor,
  knowEmail,
  noticesTo,
  noticeWork,
  ownerAt,
  pastDue,
} from "../../support/notices.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

const countTo = async (address: string): Promise<number> => (await noticesTo(address)).length;

/** A mail server that calls `before`, and then adds the letter to `letters`. */
function mailTo(letters: Letter[], before: (letter: Letter) => void = () => undefined): Mail {
  return {
    send: async (letter) => {
      before(letter);
      letters.push(letter);
    },
  };
}

test("every owner gets one mail even if the event comes several times, at once or one after the other", async () => {
  const { account, address } = await accountWithAddress();
  const other = stranger("other");
  await ownerAt(account, other);
  const event = pastDue(account);
  await Promise.allSettled([1, 2, 3].map(() => sendNotice(event, noticeWork())));
  await sendNotice(event, noticeWork());
  expect([await countTo(address), await countTo(other)]).toEqual([1, 1]);
  const [mail] = await noticesTo(address);
  expect(mail?.subject).toBe("Your account is past due");
  expect(mail?.text).toContain(`“Initech”`);
});

test("an owner with an internationalised or unusual address gets the mail at its normal form, and other texts get none", async () => {
  const account = await newAccount();
  const addresses = ["ivan@xn--80a1acny.xn--p1ai", "Ada@Bücher.example", "o&m@example.com", "eve@mail.internal"];
  for (const address of [...addresses, "eve", "a@b.example,c@d.example"]) await ownerAt(account, address);
  const letters: Letter[] = [];
  await sendNotice(pastDue(account), noticeWork(new Date(), { mail: mailTo(letters) }));
  expect(letters.flatMap(({ to }) => (to === account.owner.email ? [] : to)).toSorted()).toEqual([
    "ada@xn--bcher-kva.example",
    "eve@mail.internal",
    "ivan@xn--80a1acny.xn--p1ai",
    "o&m@example.com",
  ]);
});

test("two owners with one address get one mail, and members who do not own the account get none", async () => {
  const { account, address } = await accountWithAddress();
  await ownerAt(account, address.toUpperCase());
  const viewer = await newMember(account, { role: "manager" });
  await knowEmail(account, viewer, stranger("viewer"));
  const letters: Letter[] = [];
  await sendNotice(pastDue(account), noticeWork(new Date(), { mail: mailTo(letters) }));
  expect(letters.map(({ to }) => to)).toEqual([address]);
});

test("a refused address and a silent address stop no other address, and only the silent address is tried again", async () => {
  const { account, address } = await accountWithAddress();
  const [refused, silent] = [stranger("refused-x"), stranger("y")];
  await ownerAt(account, refused);
  await ownerAt(account, silent);
  const event = pastDue(account);
  const letters: Letter[] = [];
  const tried: string[] = [];
  const mail = (isDown: boolean) =>
    mailTo(letters, ({ to }) => {
      tried.push(to);
      if (to === refused) throw new MailRefused("550");
      if (to === silent && isDown) throw new Error("no answer");
    });
  await expect(sendNotice(event, noticeWork(new Date(), { mail: mail(true) }))).rejects.toThrow("no answer");
  expect(letters.map(({ to }) => to)).toEqual([address]);
  await sendNotice(event, noticeWork(new Date(), { mail: mail(false) }));
  expect(letters.map(({ to }) => to)).toEqual([address, silent]);
  expect(tried.filter((to) => to === refused)).toHaveLength(1);
});

test("if a worker dies while it sends, another worker can send the mail a minute later", async () => {
  const { account, address } = await accountWithAddress();
  const event = pastDue(account);
  const { promise: isSending, resolve } = Promise.withResolvers<void>();
  const never: Mail = {
    send: () => {
      resolve();
      return new Promise(() => undefined);
    },
  };
  const at = new Date();
  void sendNotice(event, noticeWork(at, { mail: never }));
  await isSending;
  const workAfter = (seconds: number) => noticeWork(new Date(at.getTime() + seconds * 1_000));
  await expect(sendNotice(event, workAfter(59))).rejects.toThrow("Another worker is sending this notice.");
  await sendNotice(event, workAfter(61));
  expect(await countTo(address)).toBe(1);
});

/** A table and a mail server whose process dies before or after call number `call`. From then on, each call fails. */
function mortal(call: number, isAfter: boolean, letters: Letter[]) {
  let calls = 0;
  const step = async <T>(run: () => Promise<T>): Promise<T> => {
    calls += 1;
    if (calls > call || (calls === call && !isAfter)) throw new Error("dead");
    const result = await run();
    if (calls >= call) throw new Error("dead");
    return result;
  };
  const table = testTable();
  const dying: Table = {
    ...table,
    get: (key, schema) => step(() => table.get(key, schema)),
    getMany: (keys) => step(() => table.getMany(keys)),
    attempt: (one) => step(() => table.attempt(one)),
    commit: (plan) => step(() => table.commit(plan)),
  };
  const mail: Mail = { send: (letter) => step(() => mailTo(letters).send(letter)) };
  return { table: dying, mail, calls: () => calls };
}

test("wherever the process dies, the next run sends every mail, and a second copy of a mail has the same Message-ID", async () => {
  /** Whether the run ended before the process could die. */
  let wasWhole = false;
  for (let call = 1; !wasWhole; call++) {
    for (const isAfter of [false, true]) {
      const { account, address } = await accountWithAddress();
      const other = stranger("other");
      await ownerAt(account, other);
      const event = pastDue(account);
      const at = new Date();
      const letters: Letter[] = [];
      const { table, mail, calls } = mortal(call, isAfter, letters);
      await sendNotice(event, noticeWork(at, { table, mail })).catch(() => undefined);
      wasWhole = calls() < call;
      await sendNotice(event, noticeWork(new Date(at.getTime() + 61_000), { mail: mailTo(letters) }));
      const byAddress = Map.groupBy(letters, ({ to }) => to);
      expect(new Set(byAddress.keys())).toEqual(new Set([address, other]));
      for (const copies of byAddress.values()) {
        expect(new Set(copies.map(({ id }) => id)).size).toBe(1);
        expect(copies.length).toBeLessThanOrEqual(2);
      }
      if (wasWhole) expect(letters).toHaveLength(2);
    }
    expect(call).toBeLessThan(40);
  }
});

test("an account gets at most 30 mails of a category in a day, the last mail says so, and other categories continue", async () => {
  const { account } = await accountWithAddress();
  const letters: Letter[] = [];
  const work = noticeWork(new Date(), { mail: mailTo(letters) });
  const invoice = (number: number) =>
    eventFor(account, "billing.invoice.created", {
      data: {
        number: String(number),
        period_start: "2026-10-01",
        period_end: "2026-10-31",
        amount: "3.00",
        currency: "USD",
        status: "paid",
      },
    });
  const events = Array.from({ length: 32 }, (_, index) => invoice(index));
  for (const event of events) await sendNotice(event, work);
  for (const event of events) await sendNotice(event, work);
  expect(letters.map(({ subject }) => subject)).toEqual(events.slice(0, 30).map((_, n) => `Invoice ${n}: 3.00 USD`));
  const last = "this is the last one";
  expect(letters.filter(({ text }) => text.includes(last))).toEqual([letters[29]]);
  await sendNotice(pastDue(account), work);
  expect(letters).toHaveLength(31);
});

test("two events with the same `matter` make one mail", async () => {
  const { account, address } = await accountWithAddress();
  const low = () =>
    eventFor(account, "billing.wallet.low_balance", { data: { balance: "9.00", available: "9.00", currency: "USD" } });
  await sendNotice(low(), noticeWork());
  await sendNotice(low(), noticeWork());
  expect(await countTo(address)).toBe(1);
});

test("an owner of two accounts gets the mails of both, with different Message-IDs", async () => {
  const { account, address } = await accountWithAddress();
  const { account: other } = await accountWithAddress("Globex", address);
  for (const one of [account, other]) {
    const data = { balance: "9.00", available: "9.00", currency: "USD" };
    await sendNotice(eventFor(one, "billing.wallet.low_balance", { data }), noticeWork());
  }
  const mails = await noticesTo(address);
  expect(new Set(mails.map(({ message_id }) => message_id)).size).toBe(2);
});

test("nothing is sent about an old event, for an unknown account, or about an event that is no news", async () => {
  const { account, address } = await accountWithAddress();
  await sendNotice(pastDue(account), noticeWork(new Date(Date.now() + 3 * dayMs + 1_000)));
  await sendNotice(
    eventFor(account, "account.updated", { data: { status: "active" }, previous_data: { status: "active" } }),
    noticeWork(),
  );
  await sendNotice(eventFor(account, "workspace.created"), noticeWork());
  await sendNotice(pastDue({ id: crypto.randomUUID() }), noticeWork());
  expect(await countTo(address)).toBe(0);
});

test("nothing is sent to an owner whose address is unknown or not valid", async () => {
  const account = await newAccount();
  await sendNotice(pastDue(account), noticeWork());
  await knowEmail(account, account.owner, "ada@example.com, eve@example.com");
  const letters: Letter[] = [];
  await sendNotice(pastDue(account), noticeWork(new Date(), { mail: mailTo(letters) }));
  expect(letters).toEqual([]);
});

test("an owner whose ownership has ended gets no mails", async () => {
  const { account, address } = await accountWithAddress();
  const former = stranger("former");
  const { id } = await ownerAt(account, former);
  const owner_expires_at = new Date(Date.now() - 1_000).toISOString();
  await write({ update: accessKey(account.id, { type: "user", id }), set: { owner_expires_at } });
  await sendNotice(pastDue(account), noticeWork());
  expect([await countTo(address), await countTo(former)]).toEqual([1, 0]);
});

test("a muted category is not sent, and a chosen user with access gets the mails of the chosen categories", async () => {
  const { account, address } = await accountWithAddress();
  const books = stranger("books");
  const reader = await newMember(account, { role: "viewer" });
  await knowEmail(account, reader, books);
  await write({
    put: {
      ...noticeSettingsKey(account.id),
      muted: ["wallet"],
      readers: [
        { user_id: reader.id, categories: ["account"] },
        { user_id: crypto.randomUUID(), categories: ["account"] },
      ],
      version: 1,
    },
  });
  const data = { balance: "9.00", available: "9.00", currency: "USD" };
  await sendNotice(eventFor(account, "billing.wallet.low_balance", { data }), noticeWork());
  expect([await countTo(address), await countTo(books)]).toEqual([0, 0]);
  await sendNotice(pastDue(account), noticeWork());
  expect([await countTo(address), await countTo(books)]).toEqual([1, 1]);
});

test("the domains of a closed account cause no mails of any category", async () => {
  const { account, address } = await accountWithAddress();
  const data = {
    id: account.id,
    workspace_id: account.id,
    name: "example.org",
    unicode_name: "example.org",
    status_reason: null,
    deletes_at: null,
    registration: null,
    renewal: null,
    transfer: null,
    auto_renew: false,
  };
  const types = ["domain.taken_over", "domain.transferred_out", "domain.auth_code_created", "domain.degraded"];
  const send = async () => {
    for (const type of types) await sendNotice(eventFor(account, type, { data }), noticeWork());
  };
  await send();
  expect(await countTo(address)).toBe(types.length);
  await write({ update: accountKey(account.id), set: { status: "closed" } });
  await send();
  expect(await countTo(address)).toBe(types.length);
});
