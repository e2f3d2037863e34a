import fc from "fast-check";
import { expect, test } from "vitest";

import { escapeHtml } from "../../../../shared/core/text.ts";
import {
  verificationLetter,
  type VerificationLetter,
  type LetterScope,
} from "../../../../shared/mail/forwarding/letter.ts";

const asked: VerificationLetter = {
  accountName: "Initech",
  scope: { isAll: false, names: ["initech.example"], hasOthers: false },
  link: "https://api.example.com/verify#Zm9vYmFyYmF6cXV4MTIzNA",
  code: "048213",
  linkHours: 48,
  codeMinutes: 15,
};
const letterOf = (more: Partial<VerificationLetter> = {}) => verificationLetter({ ...asked, ...more });

/** The text that a reader sees in the HTML part. */
const shownOf = (html: string): string =>
  html
    .replaceAll(/<style[\s\S]*?<\/style>|<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

test.each(["text", "html"] as const)(
  "the %s part names the account, the copied mail, the link, the code, and when both end",
  (part) => {
    const shown = part === "html" ? shownOf(letterOf().html) : letterOf().text;
    expect(shown).toContain("“Initech”, a customer of Hosted Mail");
    expect(shown).toContain("copies of the mail that comes to initech.example");
    expect(shown).toContain(asked.link);
    expect(shown).toContain("within 48 hours");
    expect(shown).toContain(asked.code);
    expect(shown).toContain("within 15 minutes");
    expect(shown).toContain("you can safely ignore this mail");
  },
);

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `d${index}`);

test.each<[LetterScope, string]>([
  [{ isAll: true, names: ["d0"], hasOthers: true }, "copies of all mail that comes to its mailboxes"],
  [{ isAll: false, names: [], hasOthers: true }, "comes to some of its domains to you"],
  [{ isAll: false, names: names(2), hasOthers: false }, "comes to d0 and d1 to you"],
  [{ isAll: false, names: names(1), hasOthers: true }, "comes to d0 and some more of its domains to you"],
  [
    { isAll: false, names: names(9), hasOthers: false },
    "comes to d0, d1, d2, d3, d4, and 4 more of its domains or addresses to",
  ],
])("for the scope %j the letter says %s", (scope, words) => {
  const { text, html } = letterOf({ scope });
  expect(text).toContain(words);
  expect(shownOf(html)).toContain(words);
});

test("the HTML loads nothing, runs nothing, and links only to the page for the verification", () => {
  const { html } = letterOf();
  expect(html).not.toMatch(/<(?:img|script|link|iframe|form|table|style)|url\(|@import|\son\w+=/i);
  expect(new Set([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href))).toEqual(new Set([asked.link]));
  expect(html).toContain("max-width:560px");
});

test("no customer's text becomes markup or a link, reaches the subject, or fills the letter", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), fc.string(), (accountName, name) => {
      const { html, subject } = letterOf({ accountName, scope: { ...asked.scope, names: [name] } });
      const plain = letterOf().html;
      const tags = (text: string): string[] => text.match(/<(?!\/?span>)[^>]*>/g) ?? [];
      expect(tags(html)).toEqual(tags(plain));
      expect(subject).toBe(letterOf().subject);
      const { text } = letterOf({ accountName });
      expect(text.length).toBeLessThan(letterOf().text.length + 210);
      expect(text.split("\n")).toHaveLength(letterOf().text.split("\n").length);
    }),
  );
  const { html } = letterOf({ accountName: 'see https://evil.example/"><img src=x> or www.evil.example' });
  expect(html).not.toContain("https://evil");
  expect(html).not.toContain("evil.example");
  expect(html).not.toContain("<img");
  expect(shownOf(html)).toContain('see https://evil.example/"><img src=x> or www.evil.example');
});

test("a name is cut after 100 characters", () => {
  expect(letterOf({ accountName: "n".repeat(100) }).text).toContain(`“${"n".repeat(100)}”`);
  expect(letterOf({ accountName: "n".repeat(101) }).text).toContain(`“${"n".repeat(100)}…”`);
  expect(letterOf({ accountName: "one\u2028two\n\nthree" }).text).toContain("“one two three”");
});

test("escaped text shows the original, in an element and in an attribute", () => {
  expect(escapeHtml(`<a href="x" title='y'>&amp;`)).toBe("&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;");
});
