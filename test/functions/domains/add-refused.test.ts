import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { connect, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount } from "../../support/world.ts";

const long = (...lengths: number[]): string => lengths.map((length) => "a".repeat(length)).join(".");

const refused: [name: string, message: string][] = [
  ["com", "Write the name with its top-level domain"],
  ["localhost", "Write the name with its top-level domain"],
  ["ｅｘａｍｐｌｅ", "Write the name with its top-level domain"],
  ["co.uk", "co.uk is a public suffix"],
  ["Co.Uk.", "co.uk is a public suffix"],
  ["github.io", "github.io is a public suffix"],
  ["foo.kawasaki.jp", "foo.kawasaki.jp is a public suffix"],
  ["anything.ck", "anything.ck is a public suffix"],
  ["shop.test", "Names under .test are reserved"],
  ["shop.example", "Names under .example are reserved"],
  ["shop.invalid", "Names under .invalid are reserved"],
  ["shop.localhost", "Names under .localhost are reserved"],
  ["printer.local", "Names under .local are reserved"],
  ["hidden.onion", "Names under .onion are reserved"],
  ["wiki.internal", "Names under .internal are reserved"],
  ["1.0.0.10.in-addr.arpa", "Names under .arpa are reserved"],
  ["shop.no-such-tld", ".no-such-tld is not a top-level domain"],
  ["日本.日本", ".xn--wgv71a is not a top-level domain"],
  [`${long(64)}.com`, "is longer than 63 bytes"],
  [`${"ü".repeat(60)}.com`, "is longer than 63 bytes in its xn-- form"],
  [`${long(63, 63, 63, 58)}.com`, "The name is longer than 253 bytes"],
  ["", "The name is empty"],
  [" \t ", "The name is empty"],
  [".shop.com", "empty label"],
  ["shop..com", "empty label"],
  ["shop.com..", "empty label"],
  ["☕.com", '"☕" (U+2615) is not allowed in names'],
  ["💩.ws", "(U+1F4A9) is not allowed in names"],
  ["i❤shop.com", "(U+2764) is not allowed in names"],
  ["_dmarc.shop.com", "A host name cannot have an underscore"],
  ["my_shop.com", "A host name cannot have an underscore"],
  ["-shop.com", "no hyphen at its ends"],
  ["shop-.com", "no hyphen at its ends"],
  ["sh--op.com", "hyphens in its third and fourth place"],
  ["xn--a.com", "is not a valid internationalised label"],
  ["xn--.com", "is not a valid internationalised label"],
  ["192.0.2.1", "The last part is a number, as in an IP address. Write a domain name"],
  ["192.0.2.1.", "The last part is a number, as in an IP address. Write a domain name"],
  ["0x7f.1", "The last part is a number, as in an IP address. Write a domain name"],
  ["2001:db8::1", "Write the name alone"],
  ["[2001:db8::1]", "Write the name alone"],
  ["https://shop.com", "Write the name alone"],
  ["shop.com/about", "Write the name alone"],
  ["shop.com:443", "Write the name alone"],
  ["shop.com?a=b", "Write the name alone"],
  ["shop.com#top", "Write the name alone"],
  ["me@shop.com", "Write the name alone"],
  ["shop.com\\x", "Write the name alone"],
  ["*.shop.com", '"*" is not allowed in names'],
  ["sh%6fp.com", '"%" is not allowed in names'],
  ["my shop.com", "A name cannot have spaces"],
  ["sh\u00adop.com", "an invisible character (U+00AD)"],
  ["sh\u200bop.com", "an invisible character (U+200B)"],
  ["sh\u0000op.com", "an invisible character (U+0000)"],
  ["sh\ud800op.com", "an invisible character"],
];

test("refuses an invalid or reserved name with the reason, and changes nothing", async () => {
  const account = await newRoomyAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const before = await storedOf(account);
  for (const [name, message] of refused) {
    const { status, body } = await connect(account, name, workspaceId);
    const detail = [{ loc: ["body", "name"], type: "value_error", msg: expect.stringContaining(message) }];
    expect([status, body.detail], JSON.stringify(name)).toEqual([422, detail]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("refuses a workspace that is not in the account", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const workspaceId of [account.id, await newWorkspace(other, "Theirs")]) {
    const { status, body } = await connect(account, uniqueName(), workspaceId);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "workspace_id"], type: "not_found" }]);
  }
});
