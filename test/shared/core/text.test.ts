import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";

import { routes } from "../../../functions/routes.ts";
import { foldedName, line, lines, textFault } from "../../../shared/core/text.ts";
import { request } from "../../support/request.ts";
import { newAccount } from "../../support/world.ts";

const points = (pattern: RegExp): string[] =>
  Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code)).filter((one) => pattern.test(one));

test("a text with a control, format or ignorable character, a line separator or half of a surrogate pair is refused", () => {
  const hidden = points(/^[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]$/u);
  expect(hidden.length).toBeGreaterThan(4_000);
  for (const one of hidden) {
    expect([textFault(`a${one}b`), textFault(one)], one.codePointAt(0)?.toString(16)).toEqual([
      expect.stringContaining("invisible character"),
      expect.stringContaining("invisible character"),
    ]);
  }
});

test.each([
  "\u2800",
  " \u2800\u00a0",
  "\u0301",
  "\u{1d159}",
  "\u3000",
  // A character of private use, and an unassigned one. It is unknown whether they show anything.
  "\ue000",
  "\u0378",
])("a text without a visible character is refused: %j", (text) => {
  expect(textFault(text)).toBe("This text has no visible character");
});

test.each([
  ["", "an empty text, which only a minimum length refuses"],
  ["Zoë O’Neil-Łukasiewicz", "letters of Europe"],
  ["e\u0301", "a letter with a combining mark"],
  ["علی‌رضا", "Persian, with a non-joiner"],
  ["ශ්‍රී ලංකා", "Sinhala, with a joiner"],
  ["രാജന്‍", "Malayalam, with a joiner at the end"],
  ["क्‍ष", "Devanagari, with a joiner"],
  ["❤️", "an emoji with its presentation"],
  ["👨‍👩‍👧 Family", "an emoji of three"],
  ["🏳️‍🌈🏴󠁧󠁢󠁥󠁮󠁧󠁿🇫🇷", "flags"],
  ["Team 1️⃣", "a keycap"],
  ["👩🏽‍🚀", "an emoji with a skin tone"],
  ["木\u{e000}", "a letter beside a character of private use"],
  ["#1", "signs and digits"],
])("%s is accepted: %s", (text) => {
  expect(textFault(text)).toBeUndefined();
});

test.each([
  ["a\u200db", "a joiner between letters that do not join"],
  ["Ada\ufe0f", "an emoji presentation of a letter"],
  ["1\ufe0f", "an emoji presentation of a digit without a keycap"],
  ["👨\u200d", "a joiner that joins nothing"],
  ["ع\u200c\u200c", "two non-joiners"],
  ["🏴\u{e0067}\u{e0062}", "an unfinished flag"],
  ["❤️\u200b", "a zero-width space beside an emoji"],
])("%j is refused: %s", (text) => {
  expect(textFault(text)).toContain("invisible character");
});

test("texts that differ only in invisible characters, case or composition have the same folded name", () => {
  const anyText = fc.string({
    unit: fc.oneof(fc.constantFrom("ع", "ක", "්", "❤️", "👨‍👩‍👧", "\u200c", "\u200d", "\ufe0f", "a")),
  });
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = text.replaceAll(/\u200c|\u200d|\ufe0f/g, "");
      expect(foldedName(text)).toBe(foldedName(shown));
      expect(foldedName(text.toUpperCase().normalize("NFD"))).toBe(foldedName(shown));
    }),
  );
});

test.each([
  ["workspaces", "workspace_name_taken"],
  ["tags", "tag_name_taken"],
  ["auth/groups", "group_name_taken"],
])("two names that look the same cannot both be among the %s of an account", async (path, code) => {
  const account = await newAccount();
  const add = (name: string) =>
    request("POST", `/v1/public/accounts/${account.id}/${path}`, {
      token: account.owner.token,
      body: { name },
    });
  for (const [taken, alike] of [
    ["\u03aa\u0301", "\u0390"],
    ["\u01f0x", "J\u030cX"],
  ] as const) {
    expect((await add(taken)).status).toBe(201);
    expect((await add(alike)).body).toMatchObject({ code });
  }
  expect((await add("علی‌رضا ❤️")).status).toBe(201);
  expect((await add("علیرضا ❤")).body).toMatchObject({ code });
});

test("a text of several lines keeps its tabs, and each of its line ends becomes a line feed", () => {
  const text = lines({ most: 20, description: "Text." });
  expect(text.parse(" a\r\nb\rc\td\n")).toBe("a\nb\nc\td");
  expect(text.safeParse("a\u2028b").success).toBe(false);
  expect(text.safeParse("\n\t").success).toBe(false);
  expect(line({ most: 20, description: "Text." }).safeParse("a\nb").success).toBe(false);
});

/** The names of the members of a request body that are texts for people. */
const forPeople = /(?:^|_)(?:name|description|title|label|organization|city|state|zip|address_1)$/;
/** The routes whose member `name` is a domain name. Domain names have rules of their own. */
const ofTheNet = /^(?:dns_records|domains)\./;

const membersOf = (of: string, { shape }: z.ZodObject): [string, z.ZodType][] =>
  Object.entries(shape as Record<string, z.ZodType>).flatMap(([name, schema]): [string, z.ZodType][] => {
    if (schema instanceof z.ZodObject) return membersOf(`${of} ${name}`, schema);
    const isText = forPeople.test(name) && !(name === "name" && ofTheNet.test(of));
    return isText ? [[`${of} ${name}`, schema]] : [];
  });
const members = routes.flatMap(({ name, body }) => membersOf(name, body));

describe("each name and description in a request body", () => {
  test("is found by this test", () => {
    expect(members.length).toBeGreaterThan(12);
  });

  test.each(members)("%s refuses invisible characters", (_, schema) => {
    for (const text of ["a\u00adb", "a\u2028b", "a\u202eb", "\u3164", "\u2800", "a\u{e0041}", "a\ufe0fb"]) {
      expect(schema.safeParse(text).success, JSON.stringify(text)).toBe(false);
    }
    expect(schema.safeParse("علی‌رضا").success).toBe(true);
  });
});
