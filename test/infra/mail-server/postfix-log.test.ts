import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { openJournal } from "../../../infra/mail-server/adapter/journal.ts";
import { openPostfixLog } from "../../../infra/mail-server/adapter/postfix-log.ts";
import { dayMs } from "../../../shared/core/time.ts";
import { newFolder } from "../../support/folder.ts";

/** The time of a line as Postfix writes it: local, without a year. */
const stamp = (at: Date): string => {
  const [, month = "", day = "", , time = ""] = at.toString().split(" ");
  return `${month} ${day.replace(/^0/, " ")} ${time}`;
};

/**
 * A log of Postfix. `restarted` opens the log as a new process of the adapter does, and returns the function that reads
 * new lines. `events` returns the reports.
 */
function scene() {
  const folder = newFolder();
  const [log, position] = [join(folder, "postfix-out.log"), join(folder, "postfix-log")];
  const api = openApi({ api: "http://127.0.0.1:1", mail_key: "" });
  const journal = openJournal(folder, api, () => undefined);
  const write = (at: Date, ...texts: string[]): void =>
    appendFileSync(log, texts.map((text) => `${stamp(at)} mx ${text}\n`).join(""));
  const events = (): Record<string, string>[] => {
    const file = join(folder, "events.jsonl");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line).entry);
  };
  return { position, write, events, journal, restarted: () => openPostfixLog(log, position, journal) };
}

const from = (queue: string, sender: string): string =>
  `postfix/qmgr[7]: ${queue}: from=<${sender}>, size=300, nrcpt=1 (queue active)`;
const to = (queue: string, recipient: string, outcome = "dsn=5.1.1, status=bounced (unknown user)"): string =>
  `postfix/smtp[9]: ${queue}: to=<${recipient}>, relay=far.example[192.0.2.1]:25, delay=1, ${outcome}`;
const removed = (queue: string): string => `postfix/qmgr[7]: ${queue}: removed`;

test("a delivery whose sender was read before a restart of the adapter is reported", () => {
  const { position, write, events, restarted } = scene();
  const now = new Date();
  write(now, from("A1", "ada@shop.test"), from("B2", "bob@shop.test"), from("C3", ""), removed("B2"));
  restarted()();
  write(now, to("A1", "eve@far.example"), to("B2", "eve@far.example"), to("C3", "eve@far.example"));
  restarted()();
  expect(events()).toMatchObject([{ type: "bounced", sender: "ada@shop.test", recipient: "eve@far.example" }]);
  // The position as earlier versions stored it.
  const { inode, offset } = JSON.parse(readFileSync(position, "utf8"));
  writeFileSync(position, JSON.stringify({ inode, offset }));
  write(now, from("D4", "ada@shop.test"), to("D4", "dan@far.example"));
  restarted()();
  expect(events().map(({ recipient }) => recipient)).toEqual(["eve@far.example", "dan@far.example"]);
});

test("a receiving server whose answer looks like a line of the log changes neither the sender nor the result", () => {
  const { write, events, restarted } = scene();
  const forged = `${from("A1", "eve@victim.test")}, ${removed("A1")}, dsn=5.1.1, status=bounced (no`;
  const answers = [forged, `${stamp(new Date())} mx ${from("A1", "")}`, `x postfix/qmgr[7]: A1: removed`];
  write(new Date(), from("A1", "ada@shop.test"));
  for (const answer of answers)
    write(new Date(), to("A1", "eve@far.example", `dsn=2.0.0, status=sent (250 ${answer})`));
  write(new Date(), to("A1", "dan@far.example"));
  restarted()();
  const sent = { sender: "ada@shop.test", recipient: "eve@far.example", status: "2.0.0", type: "delivered" };
  expect(events()).toMatchObject([sent, sent, sent, { sender: "ada@shop.test", type: "bounced" }]);
});

test("a delivery has the time of its line, not the time at which the line is read", () => {
  const { write, events, restarted } = scene();
  const now = new Date("2026-11-27T12:00:00Z");
  vi.useFakeTimers({ toFake: ["Date"], now });
  onTestFinished(() => void vi.useRealTimers());
  const times = [-200, -40, -3, 0].map((days) => new Date(now.getTime() + days * dayMs));
  write(now, from("A1", "ada@shop.test"));
  for (const time of times) write(time, to("A1", "eve@far.example"));
  const late = new Date(now.getTime() + 300 * dayMs);
  write(late, to("A1", "eve@far.example"));
  restarted()();
  const read = events().map(({ at }) => at);
  expect(read.slice(0, 4)).toEqual(times.map((time) => time.toISOString()));
  const lastYear = read[4] ?? "";
  expect(new Date(lastYear).getTime()).toBeLessThan(now.getTime());
  expect(stamp(new Date(lastYear))).toBe(stamp(late));
});

test("a delivery that cannot be stored is reported by a later call", () => {
  const { write, events, journal, restarted } = scene();
  const read = restarted();
  write(new Date(), from("A1", "ada@shop.test"));
  read();
  write(new Date(), to("A1", "eve@far.example"), removed("A1"));
  vi.spyOn(journal, "add").mockImplementationOnce(() => {
    throw new Error("The disk is full.");
  });
  expect(read).toThrow("The disk is full.");
  read();
  expect(events()).toMatchObject([{ sender: "ada@shop.test", recipient: "eve@far.example" }]);
});

test("a letter that waited too long bounces for each recipient to whom the last try did not deliver", () => {
  const { write, events, restarted } = scene();
  const deferred = "dsn=4.4.1, status=deferred (connect timed out)";
  write(new Date(), from("A1", "ada@shop.test"), to("A1", "eve@far.example", deferred));
  write(new Date(), to("A1", "dan@far.example", "dsn=2.0.0, status=sent (ok)"));
  restarted()();
  write(new Date(), "postfix/qmgr[7]: A1: from=<ada@shop.test>, status=expired, returned to sender", removed("A1"));
  restarted()();
  expect(events().map(({ type, recipient, status }) => [type, recipient, status])).toEqual([
    ["deferred", "eve@far.example", "4.4.1"],
    ["delivered", "dan@far.example", "2.0.0"],
    ["bounced", "eve@far.example", undefined],
  ]);
});

test("only the latest 20,000 letters are remembered", () => {
  const { position, write, restarted } = scene();
  write(new Date(), ...Array.from({ length: 20_010 }, (_, index) => from(`A${index}`, "ada@shop.test")));
  restarted()();
  const { letters } = JSON.parse(readFileSync(position, "utf8"));
  expect([letters.length, letters[0][0]]).toEqual([20_000, "A10"]);
});

test("a refusal without an enhanced code has no status, although Postfix writes 5.0.0", () => {
  const { write, events, restarted } = scene();
  const said = (text: string, dsn = "5.0.0") =>
    to("A1", "eve@far.example", `dsn=${dsn}, status=bounced (host far.example[192.0.2.1] said: ${text})`);
  write(
    new Date(),
    from("A1", "ada@shop.test"),
    said("550 SPF check failed (in reply to end of DATA command)"),
    said("553 sender refused, not 550 5.0.0 (in reply to MAIL FROM command)"),
    said("550-5.0.0 Failed 550 5.0.0 for good (in reply to RCPT TO command)"),
    said("550 5.1.1 No such user (in reply to RCPT TO command)", "5.1.1"),
  );
  restarted()();
  expect(events().map(({ type, status }) => [type, status])).toEqual([
    ["bounced", undefined],
    ["bounced", undefined],
    ["bounced", "5.0.0"],
    ["bounced", "5.1.1"],
  ]);
});
