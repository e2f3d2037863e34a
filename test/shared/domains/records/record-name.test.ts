import fc from "fast-check";
import { expect, test } from "vitest";

import { absoluteName, readRecordName } from "../../../../shared/domains/records/names.ts";
import { zone } from "./records.ts";

const long = "a".repeat(60);

test.each([
  ["@", "@"],
  ["＠", "@"],
  ["example.com", "@"],
  ["Example.COM.", "@"],
  ["www", "www"],
  [" www\n", "www"],
  ["WWW", "www"],
  ["www.example.com", "www"],
  ["www.example.com.", "www"],
  ["www．example。com｡", "www"],
  ["ｗｗｗ", "www"],
  ["a.b.c", "a.b.c"],
  ["*", "*"],
  ["*.sub", "*.sub"],
  ["＊.sub", "*.sub"],
  ["*.example.com", "*"],
  ["_dmarc", "_dmarc"],
  ["20230601._domainkey", "20230601._domainkey"],
  ["_sip._tcp", "_sip._tcp"],
  ["my_host", "my_host"],
  ["1", "1"],
  ["10.1", "10.1"],
  ["0x7f", "0x7f"],
  ["r3---sn", "r3---sn"],
  ["bücher", "xn--bcher-kva"],
  ["BÜCHER", "xn--bcher-kva"],
  ["bu\u0308cher", "xn--bcher-kva"],
  ["XN--Bcher-KVA", "xn--bcher-kva"],
  ["straße", "xn--strae-oqa"],
  ["עברית", "xn--5dbqzzl"],
  ["_dmarc.עברית", "_dmarc.xn--5dbqzzl"],
  ["1.עברית", "1.xn--5dbqzzl"],
  ["ﾊﾝｶｸ", "xn--lcki8g8f"],
  ["l·l", "xn--ll-0ea"],
  ["ア・ア", "xn--ccka0y"],
  ["क्‍ष", "xn--11b2ezcw70k"],
  ["ᏣᎳᎩ", "xn--f9dt7l"],
  ["①", "1"],
])("reads %j as the name %s", (spelling, name) => expect(readRecordName(spelling, zone)).toEqual({ value: name }));

const notAllowed = "Use letters, digits and hyphens only (IDNA2008, RFC 5892)";
const notInNames = "Use letters, digits, hyphens and dots only";
const invalid = "is not a valid internationalised label (RFC 5891)";
const wildcard = "* must be the whole first label, such as * or *.sub";
const empty = "The name has an empty label: two dots in a row, or a dot at its start";
const hyphens = "must have letters, digits and hyphens only, and no hyphen at its ends";

test.each([
  ["", "The name is empty. Write @ for example.com itself"],
  [" ", "The name is empty. Write @ for example.com itself"],
  ["www.example.org.", '"www.example.org." is not a name in example.com. A final dot makes a name absolute'],
  ["www.", '"www." is not a name in example.com. A final dot makes a name absolute'],
  ["notexample.com.", '"notexample.com." is not a name in example.com. A final dot makes a name absolute'],
  ["www.example.com.example.com", 'The name ends in example.com twice. Write "www"'],
  ["example.com.example.com.", 'The name ends in example.com twice. Write "@"'],
  ["@.example.com", "@ can only stand alone, for example.com itself. Write the name without @"],
  ["www＠", "@ can only stand alone, for example.com itself. Write the name without @"],
  ["a.*", wildcard],
  ["*a", wildcard],
  ["a*.b", wildcard],
  ["*.*", wildcard],
  ["a..b", empty],
  ["a。.b", empty],
  [".a", empty],
  [".", empty],
  ["..", empty],
  ["-a", `The label "-a" ${hyphens}`],
  ["a-.b", `The label "a-" ${hyphens}`],
  ["é-", "A label cannot begin or end with a hyphen"],
  ["-é", "A label cannot begin or end with a hyphen"],
  ["a b", "A name cannot have spaces"],
  ["a\u00a0b", "A name cannot have spaces"],
  ["a/b", `"/" is not allowed in names. ${notInNames}`],
  ["a\\b", `"\\" is not allowed in names. ${notInNames}`],
  ["a%41", `"%" is not allowed in names. ${notInNames}`],
  ["a?b", `"?" is not allowed in names. ${notInNames}`],
  ["a#b", `"#" is not allowed in names. ${notInNames}`],
  ["http://a", `":" is not allowed in names. ${notInNames}`],
  ["a+b", `"+" is not allowed in names. ${notInNames}`],
  ["é`", `"\`" is not allowed in names. ${notInNames}`],
  ["a／b", `The label "a／b" ${invalid}`],
  ["a\uff05b", `The label "a\uff05b" ${invalid}`],
  ["a․b", `The label "a․b" ${invalid}`],
  ["a\u200bb", "The name has an invisible character (U+200B). Remove it"],
  ["a\u00adb", "The name has an invisible character (U+00AD). Remove it"],
  ["a\0b", "The name has an invisible character (U+0000). Remove it"],
  ["a\tb", "The name has an invisible character (U+0009). Remove it"],
  ["❤\ufe0f", "The name has an invisible character (U+FE0F). Remove it"],
  ["a\u200db", `The label "a\u200db" ${invalid}`],
  ["\ud800", "The name has an invisible character (U+D800). Remove it"],
  ["☃", `"☃" (U+2603) is not allowed in names. ${notAllowed}`],
  ["i💩", `"💩" (U+1F4A9) is not allowed in names. ${notAllowed}`],
  ["xn--ls8h", `"💩" (U+1F4A9) is not allowed in names. ${notAllowed}`],
  ["™", `"™" (U+2122) is not allowed in names. ${notAllowed}`],
  ["ⓐ", `"ⓐ" (U+24D0) is not allowed in names. ${notAllowed}`],
  ["½", `"⁄" (U+2044) is not allowed in names. ${notAllowed}`],
  ["a–b", `"–" (U+2013) is not allowed in names. ${notAllowed}`],
  ["ـ", `"ـ" (U+0640) is not allowed in names. ${notAllowed}`],
  ["a·b", '"·" (U+00B7) is only allowed between two l'],
  ["・", '"・" (U+30FB) is only allowed with Japanese letters'],
  ["a׳", `The label "a׳" ${invalid}`],
  ["٠۰", `The label "٠۰" ${invalid}`],
  ["aא", `The label "aא" ${invalid}`],
  ["\u0301a", `The label "\u0301a" ${invalid}`],
  ["xn--a", `The label "xn--a" ${invalid}`],
  ["xn--", `The label "xn--" ${invalid}`],
  ["xn--abc-", `The label "xn--abc-" ${invalid}`],
  ["_bücher", "A label with an underscore cannot have letters other than a to z"],
  ["bü--x", "A label with letters other than a to z cannot have hyphens in positions 3 and 4"],
])("refuses %j: %s", (spelling, fault) => expect(readRecordName(spelling, zone)).toEqual({ fault }));

test.each([
  ["a label of 64 bytes", "a".repeat(64), `The label "${"a".repeat(40)}…" is longer than 63 bytes`],
  ["a long U-label", "ü".repeat(60), `The label "${"ü".repeat(40)}…" is longer than 63 bytes in its xn-- form`],
  ["a long name", [long, long, long, long].join("."), "Together with .example.com, the name is longer than 253 bytes"],
  ["a longer name", [long, long, long, long, long].join("."), "The name is longer than 253 bytes"],
  ["a name of 100,000 bytes", "a".repeat(100_000), "The name is longer than 253 bytes"],
])("refuses %s, and says why", (_, spelling, fault) => expect(readRecordName(spelling, zone)).toEqual({ fault }));

test("a name can have 253 bytes together with its zone, and not 254", () => {
  const ofLength = (length: number) => `${long}.${long}.${long}.`.padEnd(length - zone.length - 1, "a");
  expect(readRecordName("a".repeat(63), zone)).toEqual({ value: "a".repeat(63) });
  expect(readRecordName(ofLength(253), zone)).toEqual({ value: ofLength(253) });
  expect(readRecordName(ofLength(254), zone)).toHaveProperty("fault");
  expect(readRecordName(`${ofLength(254)}.${zone}.`, zone)).toHaveProperty("fault");
  expect(readRecordName(`*.${ofLength(251)}`, zone)).toEqual({ value: `*.${ofLength(251)}` });
  expect(readRecordName(`*.${ofLength(252)}`, zone)).toHaveProperty("fault");
});

test("a record name can end in either spelling of an internationalised zone", () => {
  for (const spelling of ["www", "www.bücher.example", "WWW.BÜCHER.example.", "www.xn--bcher-kva.example"]) {
    expect(readRecordName(spelling, "xn--bcher-kva.example")).toEqual({ value: "www" });
  }
});

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(...Array.from("aZ09-_.*@。．üßאआ्\u200dー☃\u00ad\ud800xn")), maxLength: 300 }),
  fc.string({ maxLength: 12 }).map((text) => `xn--${text}`),
);

test("the normal form of any accepted text fits into DNS, is in lower case, and is read unchanged", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const read = readRecordName(text, zone);
      if ("fault" in read) return;
      const labels = absoluteName(read.value, zone).split(".");
      expect(labels.join(".").length).toBeLessThanOrEqual(253);
      expect(labels.slice(1)).not.toContain("*");
      expect(labels.filter((label) => !/^(?:\*|[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)$/.test(label))).toEqual([]);
      expect(readRecordName(read.value, zone)).toEqual(read);
      expect(readRecordName(`${absoluteName(read.value, zone)}.`, zone)).toEqual(read);
    }),
    { numRuns: 1_000 },
  );
});

/** The text with its ASCII characters in full width, as East Asian keyboards write them. */
const fullWidth = (text: string): string =>
  text.replace(/[!-~]/g, (one) => String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0));

test("upper-case, full-width, decomposed, absolute and Unicode spellings of a name are one name", () => {
  const letters = fc.constantFrom("a", "z", "0", "9", "é", "ü", "ж", "λ", "漢", "ñ", "å");
  const label = fc.string({ unit: letters, minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), (labels) => {
      const name = labels.join(".");
      const read = readRecordName(name, zone);
      const spellings = [
        name.toUpperCase(),
        fullWidth(name),
        name.normalize("NFD"),
        `${name}.example.com`,
        fullWidth(`${name}.EXAMPLE.com.`),
        ` ${name}\n`,
        "value" in read ? read.value.toUpperCase() : name,
      ];
      expect(read).toHaveProperty("value");
      expect(spellings.map((spelling) => readRecordName(spelling, zone))).toEqual(spellings.map(() => read));
    }),
  );
});
