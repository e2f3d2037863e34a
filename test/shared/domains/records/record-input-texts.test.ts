import { expect, test } from "vitest";

import type { RecordInput } from "../../../../shared/domains/records/record.ts";
import { faultsOf, parsed, www } from "./records.ts";

const issuer = 'is not the domain of a certification authority. Write one, such as letsencrypt.org, or ";" for nobody';
test.each([
  ["issue", "", "value: The value is empty"],
  ["iodef", '""', "value: The value is empty"],
  ["issue", "https://ca.example", `value: "https://ca.example" ${issuer}`],
  ["issuewild", "a b", `value: "a b" ${issuer}`],
  ["issuemail", "-a.example", `value: "-a.example" ${issuer}`],
  ["issue", "ca.example; account", 'value: "account" is not a parameter. Write name=value after the semicolon'],
  ["issue", "ca.example;; a=b", 'value: "" is not a parameter. Write name=value after the semicolon'],
  ["issue", '0 issue "ca.example"', "value: Write only the value here. flags and tag are separate members"],
  ["issue", 'ca.example; a="b"', "value: The value has a quotation mark. Remove it"],
  ["issue", "bücher.example", "value: The value of a CAA record must be ASCII, in one line"],
  ["issue", "ca.example\na.example", "value: The value of a CAA record must be ASCII, in one line"],
  ["iodef", "security@example.com", "value: Write mailto: before the address: mailto:security@example.com"],
  [
    "iodef",
    "ftp://example.com",
    "value: The value of iodef must be a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  [
    "iodef",
    "https://a b",
    "value: The value of iodef must be a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  [
    "iodef",
    "mailto:security",
    "value: The value of iodef must be a mailto:, https: or http: URL, such as mailto:security@example.com",
  ],
  [
    "contactemail",
    "security",
    "value: The value of contactemail must be one email address, such as security@example.com",
  ],
  [
    "contactphone",
    "555-0100",
    "value: The value of contactphone must be one phone number with its country, such as +1-555-0100",
  ],
  [
    "issuer",
    "ca.example",
    "tag: tag must be one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
  [
    "",
    "ca.example",
    "tag: tag must be one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
  [
    undefined,
    "ca.example",
    "tag: tag is required for CAA records: one of issue, issuewild, issuemail, issuevmc, iodef, contactemail, contactphone",
  ],
])("refuses a CAA record with %s %j: %s", (tag, value, fault) =>
  expect(faultsOf({ name: "@", type: "CAA", tag, value })).toEqual([fault]),
);

test.each([1, 127, 129, 255, -128])("refuses the flags %d of a CAA record", (flags) =>
  expect(faultsOf({ name: "@", type: "CAA", tag: "issue", value: ";", flags })).toEqual([
    "flags: flags must be 0, or 128 for critical",
  ]),
);

test.each([
  ["", "The text is empty"],
  [" ", "The text is empty"],
  ['""', "The text is empty"],
  ["a\nb", "The text has a control character, U+000A. Remove it"],
  ["a\tb", "The text has a control character, U+0009. Remove it"],
  ['"a\\010b"', "The text has a control character, U+000A. Remove it"],
  ["\ud800", "The text has half of a surrogate pair, which is not a character"],
  ['"\\195"', "The text has escapes that are not UTF-8. Write the text without quotes"],
  ['"\\256"', "The text has escapes that are not UTF-8. Write the text without quotes"],
  ['"\\"a\\""', "The text is in quotes twice. Write it without quotes"],
  ['"v=spf1 -all', "Remove the characters before v=. Receivers do not find a record behind them"],
  ["“v=DMARC1; p=none”", "Remove the characters before v=. Receivers do not find a record behind them"],
])("refuses a TXT record with %j: %s", (value, message) =>
  expect(faultsOf(www("TXT")({ value }))).toEqual([`value: ${message}`]),
);

test.each<[string, RecordInput, string]>([
  [
    "a text of 2049 bytes",
    www("TXT")({ value: "a".repeat(2_049) }),
    "The text is 2049 bytes long. The maximum is 2048",
  ],
  ["a text of 1025 é", www("TXT")({ value: "é".repeat(1_025) }), "The text is 2050 bytes long. The maximum is 2048"],
  ["a text of 100,000 bytes", www("TXT")({ value: "a".repeat(100_000) }), "The text is longer than 2048 bytes"],
  [
    "a long CAA value",
    { name: "@", type: "CAA", tag: "issue", value: `a.b; c=${"d".repeat(250)}` },
    "The value is longer than 255 bytes",
  ],
  [
    "a text that is far too long for a CAA value",
    { name: "@", type: "CAA", tag: "issue", value: "a".repeat(100_000) },
    "The value is longer than 255 bytes",
  ],
])("refuses %s", (_, input, message) => expect(faultsOf(input)).toEqual([`value: ${message}`]));

test.each([
  ["in one string", (bytes: string[]) => `"${bytes.join("")}"`],
  ["in two strings, with white space", (bytes: string[]) => ` "${bytes[0]}"  "${bytes.slice(1).join("")}" `],
])("accepts a CAA value of 255 bytes that are all escaped, %s", (_, written) => {
  const bytes = Array.from(
    `mailto:a@${"b".repeat(241)}c.com`,
    (one) => `\\${String(one.charCodeAt(0)).padStart(3, "0")}`,
  );
  expect(bytes).toHaveLength(255);
  const caa = (value: string): RecordInput => ({ name: "@", type: "CAA", tag: "iodef", value });
  expect(parsed(caa(written(bytes))).value).toBe(`mailto:a@${"b".repeat(241)}c.com`);
  expect(faultsOf(caa(written([...bytes, "\\097"])))).toEqual(["value: The value is longer than 255 bytes"]);
});

test.each(["a".repeat(2_048), "é".repeat(487), "\\".repeat(974)])(
  "accepts a long text, and keeps it unchanged",
  (value) => {
    expect(parsed(www("TXT")({ value })).value).toBe(value);
  },
);

test.each(['a"', "\\", "é", "字", "😀", "a", " b", ";"])(
  "accepts a text of 2048 bytes that repeats %j, and refuses one more byte",
  (unit) => {
    const value = unit.repeat(Math.floor(2_048 / Buffer.byteLength(unit)));
    const whole = value + "a".repeat(2_048 - Buffer.byteLength(value));
    expect(faultsOf(www("TXT")({ value: whole }))).toEqual([]);
    expect(faultsOf(www("TXT")({ value: `${whole}a` }))).toEqual([
      "value: The text is 2049 bytes long. The maximum is 2048",
    ]);
  },
);
