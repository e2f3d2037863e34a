import fc from "fast-check";
import { expect, test } from "vitest";

import {
  letterOf,
  joinTexts,
  sentence,
  shortened,
  type Block,
  type LetterContent,
} from "../../../shared/letters/letter.ts";

const content = (more: Partial<LetterContent> = {}): LetterContent => ({
  subject: sentence`Your invoice`,
  blocks: [{ paragraph: sentence`We made an invoice.` }],
  foot: sentence`Nobody reads replies.`,
  ...more,
});
const withBlocks = (...blocks: Block[]) => letterOf(content({ blocks }));

test("both parts have every block, in the same order", () => {
  const { text, html } = withBlocks(
    { paragraph: sentence`First for ${"Initech"}.` },
    {
      facts: [
        ["Amount", "12.00 USD"],
        ["Due on", "2026-11-23"],
      ],
    },
    { button: "Open", link: "https://api.example.com/x#y", remark: sentence`It works for ${2} days.` },
    { command: "POST /v1/public/accounts" },
    { box: [{ code: "123456" }, { paragraph: sentence`Last.`, small: true }] },
  );
  expect(text).toBe(`Hello,

First for Initech.

Amount: 12.00 USD
Due on: 2026-11-23

https://api.example.com/x#y

It works for 2 days.

    POST /v1/public/accounts

    123456

Last.

-- 
Nobody reads replies.
`);
  const shown = html.replaceAll(/<title>.*<\/title>|<[^>]*>/g, "");
  const places = ["First for", "Amount", "Due on", "Open", "It works", "https", "POST", "123456", "Last", "Nobody"].map(
    (words) => shown.indexOf(words),
  );
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});

test("inserted text is never markup, a link or another line", () => {
  const plain = (name: string) =>
    letterOf(
      content({
        subject: sentence`About ${name}`,
        blocks: [
          { paragraph: sentence`About ${joinTexts([sentence`${name}`, sentence`x`])}` },
          { facts: [["Name", name]] },
        ],
        foot: sentence`For ${name}`,
      }),
    );
  const tags = (html: string) => html.match(/<(?!\/?span>)[^>]*>/g);
  const lineCount = plain("x").text.split("\n").length;
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 600 }), (name) => {
      const { subject, text, html } = plain(name);
      expect(tags(html)).toEqual(tags(plain("x").html));
      expect(text.split("\n")).toHaveLength(lineCount);
      expect(subject).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,255}$/u);
      expect(text.length).toBeLessThan(3 * 900);
    }),
  );
  const { html } = plain("see https://evil.example or www.evil.example, a@evil.example");
  expect(html.replace(/<title>.*<\/title>/, "")).not.toMatch(/evil\.example|https:\/\/evil|a@evil/);
  expect(html).not.toContain("href");
});

test("a subject has no characters that hide or turn text, and ends after 150 characters", () => {
  expect(letterOf(content({ subject: sentence`For ${"ab\u202Ec\u200Bd\r\nBcc: x"}` })).subject).toBe("For abcd Bcc: x");
  expect(letterOf(content({ subject: sentence`${"n".repeat(300)}` })).subject).toBe(`${"n".repeat(150)}…`);
});

test("a name is cut to 100 characters, without half of a character", () => {
  expect(shortened("n".repeat(100))).toBe("n".repeat(100));
  expect(shortened("🙂".repeat(101))).toBe(`${"🙂".repeat(100)}…`);
});
