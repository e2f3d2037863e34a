import fc from "fast-check";
import { expect, test } from "vitest";

import { RedirectUrl } from "../../../../shared/domains/setup/redirect.ts";

/** The stored form of an address, or the messages of its faults. */
const reading = (given: string): string => {
  const { data, error } = RedirectUrl.safeParse(given);
  return data ?? error?.issues.map(({ message }) => message).join("; ") ?? "";
};

test.each([
  ["https://www.example.com", "https://www.example.com/"],
  ["HTTP://Example.COM:80/A?b=C#d", "http://example.com/A?b=C#d"],
  ["https://example.com:8443/", "https://example.com:8443/"],
  ["https://münchen.de/straße", "https://xn--mnchen-3ya.de/stra%C3%9Fe"],
  ["https://example.com/a/../b", "https://example.com/b"],
  ["https://example.com/%00%0A?q=%22", "https://example.com/%00%0A?q=%22"],
  ["https://example.com/@me?to=a@b.com", "https://example.com/@me?to=a@b.com"],
])("%s is stored as browsers write it", (given, href) => {
  expect(reading(given)).toBe(href);
  expect(reading(href)).toBe(href);
});

const example = "Write a full address such as https://www.example.com/";
const credentials = "Leave the user name and password out of the address";

test.each([
  ["https://a.com\\@evil.com/", "An address cannot have \\"],
  ["https:\\\\a.com", "An address cannot have \\"],
  ["https://a.com/<script>", "An address cannot have <"],
  ['https://a.com/"', 'An address cannot have "'],
  ["https://a.com/a b", "An address cannot have spaces"],
  [" https://a.com/", "An address cannot have spaces"],
  ["https://a.com/\u0000", "This text has an invisible character (U+0000). Remove it"],
  ["https://a.com/\t", "This text has an invisible character (U+0009). Remove it"],
  ["java\nscript:alert(1)", "This text has an invisible character (U+000A). Remove it"],
  ["https://a\u200b.com/", "This text has an invisible character (U+200B). Remove it"],
  ["https:a.com", example],
  ["https:/a.com", example],
  ["https:///a.com", example],
  ["//a.com", example],
  ["www.example.com", example],
  ["ftp://example.com/", example],
  ["javascript:alert(1)", example],
  ["https://example.com:99999/", example],
  ["https://me:secret@example.com/", credentials],
  ["https://@example.com/", credentials],
  ["https://localhost/", "Write the name with its top-level domain, such as example.com"],
  ["https://app.localhost/", "app.localhost is not on the public internet"],
  ["https://mail.internal/", "mail.internal is not on the public internet"],
  ["https://127.0.0.1/", "The last part is a number, as in an IP address. Write a domain name"],
  ["https://8.8.8.8/", "The last part is a number, as in an IP address. Write a domain name"],
  ["https://0x7f.1/", "The last part is a number, as in an IP address. Write a domain name"],
  ["https://[::1]/", "Write a name as the host, not an IP address"],
])("%j is refused: %s", (given, message) => {
  expect(reading(given)).toBe(message);
});

test("percent signs and symbols in a host are refused, because clients read such hosts in different ways", () => {
  for (const host of ["ex%61mple.com", "a%2ecom", "a..com", "-a.com", "a_b.com", "☃.com"]) {
    expect(RedirectUrl.safeParse(`https://${host}/`).success, host).toBe(false);
  }
});

test("an address that is too long is refused, even if only its encoded form is too long", () => {
  expect(RedirectUrl.safeParse(`https://example.com/${"a".repeat(2_028)}`).success).toBe(true);
  expect(RedirectUrl.safeParse(`https://example.com/${"a".repeat(2_029)}`).success).toBe(false);
  expect(reading(`https://example.com/${"ß".repeat(500)}`)).toBe("The encoded address is longer than 2048 characters");
});

test("an accepted URL is normal by the URL Standard, has http or https, the host as written, and no credentials", () => {
  const part = fc.constantFrom(
    "https://",
    "http:",
    "/",
    "\\",
    "@",
    "a.com",
    "b.org",
    ":",
    "#",
    "?",
    "%40",
    "。",
    "\t",
    "é",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const given = parts.join("");
      const { data } = RedirectUrl.safeParse(given);
      if (data === undefined) return;
      const url = new URL(data);
      expect(url.href).toBe(data);
      expect([url.protocol === "https:" || url.protocol === "http:", url.username, url.password]).toEqual([
        true,
        "",
        "",
      ]);
      const written = /^https?:\/\/([^/?#:]*)/.exec(given)?.[1]?.replaceAll("。", ".") ?? "";
      expect(url.hostname).toBe(new URL(`https://${written}`).hostname);
    }),
    { numRuns: 5_000 },
  );
});
