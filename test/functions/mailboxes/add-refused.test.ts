import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { addMailbox, home, listed, person } from "../../support/mailboxes.ts";
import { newAccount } from "../../support/world.ts";

const dots = "A local part cannot have two dots in a row";
const ends = "A local part must begin and end with a letter or a digit";
const letters = "A local part can have no letters other than a to z";
const charset = "Only letters, digits, dots, hyphens and underscores are allowed";

const refusedLocals: [local: string, message: string][] = [
  ["", "The local part is empty"],
  ["  ", "The local part is empty"],
  ["a".repeat(65), "The local part is longer than 64 characters"],
  ["ada@example.com", "Write only the part before the @. The domain is given separately"],
  ["@", "Write only the part before the @. The domain is given separately"],
  ['"ada lovelace"', "A local part cannot be in quotes"],
  ["ada+lists", "A local part cannot contain a +. Mail to name+anything is delivered to name"],
  ["büro", letters],
  ["аda", letters],
  ["ada\u0000", letters],
  ["a\nb", letters],
  ["ada\u200b", letters],
  ["\ud800", letters],
  ["a..b", dots],
  ["..", dots],
  [".ada", ends],
  ["ada.", ends],
  ["-ada", ends],
  ["ada-", ends],
  ["_ada", ends],
  ["_", ends],
  ["*", ends],
  ["ada lovelace", charset],
  ["ada/lovelace", charset],
  ["ada*", ends],
  ["a'b", charset],
  ["a%b", charset],
  ["a#b", charset],
];

test("refuses an invalid local part with the reason at its place, and stores nothing", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const before = await storedOf(account);
  for (const [local_part, msg] of refusedLocals) {
    const answer = await addMailbox(account, { ...person("ada"), domain, local_part });
    expect([answer.status, answer.body.detail], local_part).toEqual([
      422,
      [{ loc: ["body", "local_part"], msg, type: "value_error" }],
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

const hiddenFault = (code: string) => `This text has an invisible character (${code}). Remove it`;

const refusedNames: [value: unknown, message: string][] = [
  ["", "Write at least 1 character"],
  ["   ", "Write at least 1 character"],
  ["a".repeat(101), "Write at most 100 characters"],
  ["Ada\nLovelace", hiddenFault("U+000A")],
  ["A\rda", hiddenFault("U+000D")],
  ["Ada\u0000", hiddenFault("U+0000")],
  ["\u200b", hiddenFault("U+200B")],
  ["Ada\ud800", hiddenFault("U+D800")],
  ["\u2800", "This text has no visible character"],
  [7, "Write a string, not a number"],
  [null, "Write a string, not null"],
];

test("refuses an invalid name with the reason at its place", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  for (const member of ["first_name", "last_name"]) {
    for (const [value, msg] of refusedNames) {
      const answer = await addMailbox(account, { domain, ...person("ada"), [member]: value });
      expect([answer.status, answer.body.detail], JSON.stringify(value)).toEqual([
        422,
        [expect.objectContaining({ loc: ["body", member], msg })],
      ]);
    }
    const without: Record<string, unknown> = { domain, ...person("ada") };
    delete without[member];
    expect((await addMailbox(account, without)).body.detail).toMatchObject([
      { loc: ["body", member], type: "missing" },
    ]);
  }
  expect((await listed(account)).total).toBe(0);
});

test("refuses a password and other unknown members", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  for (const member of ["password", "aliases", "quota", "status"]) {
    const answer = await addMailbox(account, { domain, ...person("ada"), [member]: "correct horse" });
    expect(answer.body.detail).toMatchObject([{ loc: ["body", member], type: "extra_forbidden" }]);
  }
});
