import fc from "fast-check";
import { expect, test } from "vitest";

import { csvHeader, csvLines } from "../../../../shared/mail/mailboxes/bulk.ts";
import { personName, type Mailbox } from "../../../../shared/mail/mailboxes/mailbox.ts";
import { readCsv } from "../../../support/csv.ts";

const mailbox: Mailbox = {
  id: "00000000-0000-8000-8000-000000000000",
  domain_id: "00000000-0000-8000-8000-000000000001",
  domain_name: "example.com",
  workspace_id: "00000000-0000-8000-8000-000000000002",
  workspace_name: "Sales",
  local_part: "ada",
  primary_email: "ada@example.com",
  first_name: "Ada",
  last_name: "Lovelace",
  quota: { allowed: 10, used: 1 },
  last_login_at: null,
  aliases: [],
  status: "active",
  created_at: "2026-01-02T03:04:05.678Z",
  updated_at: "2026-01-02T03:04:05.678Z",
};

const Name = personName("A name.");

const anyName = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }),
    fc
      .array(fc.constantFrom('"', ",", ";", "=", "+", "-", "@", "'", "\t", "\r\n", "a", " ", "＝"), { maxLength: 8 })
      .map((all) => all.join("")),
  )
  .filter((name) => Name.safeParse(name).success)
  .map((name) => Name.parse(name));

const formula = /^[=+\-@\t\r＝＋－＠]/;

test("every name in the file can be read back unchanged, except that a formula gets an apostrophe before it", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyName, anyName, anyName), { minLength: 1, maxLength: 5 }), (people) => {
      const mailboxes = people.map(([first_name, last_name, workspace_name]) => ({
        ...mailbox,
        first_name,
        last_name,
        workspace_name,
      }));
      const [header = [], ...rows] = readCsv(csvHeader() + csvLines(mailboxes));
      const at = (name: string): number => header.indexOf(name);
      const shown = (name: string): string => (formula.test(name) ? `'${name}` : name);
      expect(rows.map((row) => [row[at("first_name")], row[at("last_name")], row[at("workspace")]])).toEqual(
        people.map((names) => names.map(shown)),
      );
      for (const row of rows) expect(row.filter((cell) => formula.test(cell))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("a file without mailboxes has only its header", () => {
  expect(csvLines([])).toBe("");
  expect(readCsv(csvHeader())).toHaveLength(1);
});
