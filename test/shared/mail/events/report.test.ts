import { randomBytes } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { isHardBounce } from "../../../../shared/mail/events/events.ts";
import { readFieldGroups, readReport } from "../../../../shared/mail/events/report.ts";
import { base64, bounce, complaint } from "../../../support/mail-reports-raw.ts";

const bob = "bob@far.example";
const read = (text: string | Uint8Array, recipient = bob) => readReport(base64(text), recipient);

test("`readReport` reads the result for the given recipient in a delivery status", async () => {
  const report = bounce([
    { diagnostic: "550 5.1.1 <bob@far.example>:\r\n user unknown" },
    { recipient: "carl@far.example", original: "sales@near.example", action: "Delayed", status: "4.4.1 (no answer)" },
    { recipient: "dora@far.example", action: "relayed", status: "2.0.0" },
  ]);
  const bounced = { type: "bounced", status: "5.1.1", diagnostic: "550 5.1.1 <bob@far.example>: user unknown" };
  expect(await read(report)).toEqual(bounced);
  expect(await read(report, '<"Bob"@FAR.example>')).toEqual(bounced);
  const deferred = { type: "deferred", status: "4.4.1", diagnostic: undefined };
  expect(await read(report, "sales@near.example")).toEqual(deferred);
  expect(await read(report, "carl@far.example")).toEqual(deferred);
  expect(await read(report, "dora@far.example")).toMatchObject({ type: "delivered" });
  expect(await read(bounce([{ recipient: "jose\u0301@far.example" }]), "josé@far.example")).toMatchObject({
    type: "bounced",
  });
});

test("`readReport` reads a complaint of the given recipient, even if the complaint hides the recipient", async () => {
  const event = { type: "complained", status: undefined, diagnostic: undefined };
  const named = complaint(["Feedback-Type: abuse", "Original-Rcpt-To: <carl@far.example>", "Source-IP: 192.0.2.1"]);
  expect(await read(named, "carl@far.example")).toEqual(event);
  expect(await read(complaint(["Feedback-Type: abuse"], { to: "hidden@far.example" }))).toEqual(event);
  expect(await read(complaint(["Feedback-Type: abuse", "Original-Rcpt-To: hidden"]))).toEqual(event);
});

test.each([
  ["a report that the mail is no spam", complaint(["Feedback-Type: not-spam"]), "not_a_complaint"],
  ["a report without a type", complaint(["Source-IP: 192.0.2.1"]), "not_a_complaint"],
  ["a status of no recipient", bounce([]), "no_recipient"],
  ["a status without addresses", bounce([{ recipient: "nobody" }]), "no_recipient"],
  ["an ordinary mail", "From: a@b.example\r\nTo: c@d.example\r\n\r\nHello", "not_a_report"],
  [
    "a mail with only the header of a report",
    "Content-Type: multipart/report; report-type=delivery-status\r\n\r\nNo",
    "not_a_report",
  ],
  [
    "a report of another type",
    bounce([{}]).replace("report-type=delivery-status", "report-type=disposition"),
    "not_a_report",
  ],
  ["an empty text", "", "not_a_report"],
  ["a status of another recipient", bounce([{ recipient: "carl@far.example" }]), "other_recipient"],
  [
    "a complaint of another recipient",
    complaint(["Feedback-Type: abuse", "Original-Rcpt-To: <carl@far.example>"]),
    "other_recipient",
  ],
] as const)("%s has no events", async (_, text, reason) => {
  expect(await read(text)).toBe(reason);
});

const nested = (levels: number): string => {
  const boundaries = Array.from({ length: levels }, (_, index) => `b${index}`);
  const open = boundaries.map((boundary) => `Content-Type: multipart/mixed; boundary=${boundary}\r\n\r\n--${boundary}`);
  return `Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n--x\r\n${open.join("\r\n")}\r\n\r\nend`;
};

const hostile: [string, string | Uint8Array][] = [
  ["100 levels of parts", nested(100)],
  ["10,000 levels of parts", nested(10_000)],
  ["500 KB of zeros", new Uint8Array(500_000)],
  ["500 KB of random bytes", randomBytes(500_000)],
  ["500 KB of line ends", "\n".repeat(500_000)],
  ["500 KB of headers", "A: b\r\n".repeat(80_000)],
  [
    "500 KB of boundaries",
    `Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n${"--x\r\n".repeat(80_000)}`,
  ],
  ["one folded field of 500 KB", bounce([{ diagnostic: "x\r\n y".repeat(90_000) }])],
  ["100,000 groups", bounce([]).replace("Arrival-Date", `${"a: b\r\n\r\n".repeat(50_000)}Arrival-Date`)],
  ["an unknown charset", bounce([{}]).replaceAll("utf-8", "x-\u0000unknown")],
  ["more than 512 KB", "x".repeat(600_000)],
];

test.each(hostile)("%s is read or ignored, and causes no error", { timeout: 30_000 }, async (_, text) => {
  const result = await read(text);
  expect(typeof result === "string" || result.type === "bounced").toBe(true);
});

test("a text that is not base64 is ignored, even after many line ends", { timeout: 30_000 }, async () => {
  expect(await readReport(`${"\r\n".repeat(400_000)}!`, bob)).toBe("not_base64");
  expect(await readReport("\r\n".repeat(600_000), bob)).toBe("too_large");
  for (const text of ["é", "a b", "=====", "%%%", bounce([{}])]) expect(await readReport(text, bob)).toBe("not_base64");
});

test("random bytes, a part of a report, and a report with a changed byte give an event or a reason", async () => {
  const whole = Buffer.from(bounce([{ diagnostic: "550 no" }, { recipient: "carl@far.example" }]));
  const cut = fc.nat(whole.length).map((end) => whole.subarray(0, end));
  const changed = fc.tuple(fc.nat(whole.length - 1), fc.nat(255)).map(([at, byte]) => {
    const copy = Buffer.from(whole);
    copy[at] = byte;
    return copy;
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 300 }), cut, changed), async (bytes) => {
      const result = await read(bytes);
      if (typeof result === "string") return;
      expect(["delivered", "bounced", "deferred", "complained"]).toContain(result.type);
    }),
    { numRuns: 300 },
  );
});

const name = fc.stringMatching(/^[!-9;-~]{1,20}$/);
const value = fc.stringMatching(/^[!-~]{1,10}( [!-~]{1,10}){0,3}$/);
const group = fc.array(fc.tuple(name, value, fc.boolean()), { minLength: 1, maxLength: 5 });

test("the fields of groups are read as they were written, folded or not, with any line end", () => {
  fc.assert(
    fc.property(fc.array(group, { maxLength: 4 }), fc.constantFrom("\r\n", "\n", "\r"), (groups, end) => {
      const text = groups
        .map((fields) =>
          fields.map(([key, words, folds]) => `${key}: ${folds ? words.replaceAll(" ", `${end} `) : words}`).join(end),
        )
        .join(end + end);
      const expected = groups.map((fields) => Map.groupBy(fields, ([key]) => key.toLowerCase()));
      expect(readFieldGroups(text).map((fields) => [...fields])).toEqual(
        expected.map((fields) => [...fields].map(([key, same]) => [key, same.map(([, words]) => words)])),
      );
    }),
  );
});

test("no text gives a group with an empty name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      for (const fields of readFieldGroups(text)) expect([...fields.keys()].every((key) => key !== "")).toBe(true);
    }),
  );
});

test("only a bounce that blames the recipient's address is hard", () => {
  const hard = ["5.1.1", "5.1.0", "5.1.2", "5.1.10", "5.2.1", "5.4.4", "5.0.0"];
  const soft = ["4.1.1", "5.1.7", "5.1.8", "5.2.2", "5.3.4", "5.7.1", "5.2.10", "4.2.2", "2.0.0"];
  expect(hard.filter((status) => !isHardBounce(status))).toEqual([]);
  expect(soft.filter((status) => isHardBounce(status))).toEqual([]);
  expect(isHardBounce(undefined)).toBe(false);
});
